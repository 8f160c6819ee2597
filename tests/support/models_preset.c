#include <string.h>

#include "tests/support/models.h"

/**
 * Sizes that papers measured.
 *
 *   capuchin  Peng et al., ASPLOS 2020, P100 16 GB: the largest batches of unmodified TensorFlow,
 *             DenseNet's in eager mode. The length of BERT's sequences is ours
 *   coop      Zhang et al., NeurIPS 2023, A100 80 GB: the settings of the published scripts
 *   dtr       Kirisame et al., ICLR 2021, Titan V 12 GB: the settings of the published prototype.
 *             Its LSTM has 256 steps of 512 samples; its TreeLSTM's depth of 9 is 10 levels here,
 *             1023 nodes for each of 640 trees
 *   swap      SwapAdvisor: Huang, Jin and Li, ASPLOS 2020, V100 16 GB: batches, units and layers as
 *             in its table 1. How much wider its Inception and its NASNet (of 25 cells, as the
 *             7 @ 1920) are and how far its networks are unrolled is not told: so much, and so far,
 *             that memory and ops come close to the table (tests/bench/plans.md)
 *   nasnet    Zoph et al., CVPR 2018, table 2, the largest; the batch is ours
 *   gpt2      Radford et al. 2019, table 2, the smallest
 *   speed     what is measured against other programs on a GPU (tests/gpu)
 */
enum {
    ALL = 1000 /* as many blocks as published */
};

#define IMAGES(side, samples, first)                                                               \
    .length = (side), .batch = (samples), .width = (first), .depth = ALL, .classes = 1000

#define NASNET(samples) .length = 299, .batch = (samples), .width = 640, .depth = 7, .classes = 1000

static const cebus_model_preset presets[] = {
    {"capuchin-vgg16", "vgg16", "VGG16, batch 228", {IMAGES(224, 228, 64)}},
    {"capuchin-resnet50", "resnet50", "ResNet-50, batch 190", {IMAGES(224, 190, 64)}},
    {"capuchin-resnet152", "resnet152", "ResNet-152, batch 86", {IMAGES(224, 86, 64)}},
    {"capuchin-inceptionv3", "inceptionv3", "InceptionV3, batch 160", {IMAGES(299, 160, 32)}},
    {"capuchin-inceptionv4", "inceptionv4", "InceptionV4, batch 88", {IMAGES(299, 88, 32)}},
    {"capuchin-densenet121", "densenet121", "DenseNet-121, batch 70", {IMAGES(224, 70, 64)}},
    {"capuchin-bert-base",
     "bert",
     "BERT-base, batch 64, length 128",
     {.batch = 64,
      .width = 768,
      .depth = 12,
      .heads = 12,
      .length = 128,
      .positions = 512,
      .classes = 30522}},
    {"coop-resnet50", "resnet50", "ResNet-50, batch 115", {IMAGES(224, 115, 64)}},
    {"coop-resnet152", "resnet152", "ResNet-152, batch 55", {IMAGES(224, 55, 64)}},
    {"coop-inceptionv3", "inceptionv3", "InceptionV3, batch 96", {IMAGES(299, 96, 32)}},
    {"coop-densenet121", "densenet121", "DenseNet-121, batch 70", {IMAGES(224, 70, 64)}},
    {"coop-unet",
     "unet-bn",
     "U-Net, batch 5, 460 x 608",
     {.batch = 5, .width = 64, .depth = 4, .length = 460, .breadth = 608, .classes = 2}},
    {"coop-bert-large",
     "bert",
     "BERT-large, batch 4, length 512",
     {.batch = 4, .width = 1024, .depth = 24, .heads = 16, .length = 512, .classes = 30522}},
    {"coop-swin-t",
     "swin",
     "Swin-T, batch 40",
     {.batch = 40, .width = 96, .depth = ALL, .length = 224, .classes = 1000, .heads = 3}},
    {"coop-bilstm",
     "bilstm",
     "BiLSTM, batch 2048, 100 features, width 256, 128 steps",
     {.batch = 2048, .width = 256, .depth = 1, .length = 128, .input = 100, .classes = 10}},
    {"dtr-inceptionv4", "inceptionv4", "InceptionV4, batch 64", {IMAGES(299, 64, 32)}},
    {"dtr-densenet121", "densenet121", "DenseNet-121, batch 84", {IMAGES(224, 84, 64)}},
    {"dtr-resnet32",
     "resnet-cifar",
     "ResNet-32, batch 56, 224 x 224",
     {.batch = 56, .width = 16, .depth = 5, .length = 224, .classes = 10}},
    {"dtr-resnet1202",
     "resnet-cifar",
     "ResNet-1202, batch 64, 32 x 32",
     {.batch = 64, .width = 16, .depth = 200, .length = 32, .classes = 10}},
    {"dtr-unet",
     "unet-bn",
     "U-Net, batch 6, 608 x 416",
     {.batch = 6, .width = 64, .depth = 4, .length = 608, .breadth = 416, .classes = 2}},
    {"dtr-lstm",
     "lstm-cells",
     "LSTM, batch 512, 512 features, width 1700, 256 steps",
     {.batch = 512, .width = 1700, .depth = 1, .length = 256, .input = 512, .classes = 10}},
    {"dtr-treelstm",
     "treelstm",
     "TreeLSTM, batch 640, width 300, 10 levels",
     {.batch = 640, .width = 300, .depth = 10, .input = 100, .classes = 5}},
    {"dtr-gan",
     "gan",
     "unrolled GAN, batch 512, width 2048, 60 steps",
     {.batch = 512, .width = 2048, .depth = 60, .input = 4096}},
    {"swap-wresnet152", "wresnet152", "WResNet-152-10, batch 64", {IMAGES(224, 64, 640)}},
    {"swap-inception4",
     "inceptionv4",
     "Inception-4 (6 times wider), batch 64",
     {IMAGES(299, 64, 192)}},
    {"swap-inception4-16",
     "inceptionv4",
     "Inception-4 (6 times wider), batch 16",
     {IMAGES(299, 16, 192)}},
    {"swap-nasnet25", "nasnet", "NASNet-25 (8 times wider), batch 64", {NASNET(64)}},
    {"swap-nasnet25-16", "nasnet", "NASNet-25 (8 times wider), batch 16", {NASNET(16)}},
    {"swap-rnn8",
     "rnn",
     "RNN-8-8K, batch 256, 28 steps",
     {.batch = 256, .width = 8192, .depth = 8, .length = 28, .classes = 10}},
    {"swap-brnn4",
     "brnn",
     "BRNN-4-8K, batch 128, 28 steps",
     {.batch = 128, .width = 8192, .depth = 4, .length = 28, .classes = 10}},
    {"nasnet-large",
     "nasnet",
     "NASNet-A (6 @ 4032), batch 16",
     {.length = 331, .batch = 16, .width = 168, .depth = 6, .classes = 1000}},
    {"speed-resnet50", "resnet50", "ResNet-50, batch 128", {IMAGES(224, 128, 64)}},
    {"speed-resnet50-bf16",
     "resnet50",
     "ResNet-50, batch 128, bf16",
     {IMAGES(224, 128, 64), .precision = CEBUS_BF16}},
    {"speed-bert-base",
     "bert",
     "BERT-base, batch 32, length 512",
     {.batch = 32,
      .width = 768,
      .depth = 12,
      .heads = 12,
      .length = 512,
      .positions = 512,
      .classes = 30522}},
    {"speed-host",
     "gpt",
     "as many calls as GPT-2 small, each next to nothing for a GPU",
     {.batch = 1,
      .width = 64,
      .depth = 12,
      .heads = 2,
      .length = 32,
      .classes = 512,
      .drawn = true}},
    {"gpt2-small",
     "gpt",
     "GPT-2 small, batch 4, length 1024",
     {.batch = 4,
      .width = 768,
      .depth = 12,
      .heads = 12,
      .length = 1024,
      .classes = 50257,
      .drawn = true}},
    {"gpt2-small-bf16",
     "gpt",
     "GPT-2 small, batch 4, length 1024, bf16",
     {.batch = 4,
      .width = 768,
      .depth = 12,
      .heads = 12,
      .length = 1024,
      .classes = 50257,
      .drawn = true,
      .precision = CEBUS_BF16}},
};

enum {
    N_PRESETS = sizeof presets / sizeof *presets
};

const cebus_model_preset *cebus_model_preset_at(size_t i)
{
    return i < N_PRESETS ? &presets[i] : NULL;
}

const cebus_model_preset *cebus_model_preset_find(const char *name)
{
    for (size_t i = 0; i < N_PRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    }
    return NULL;
}
