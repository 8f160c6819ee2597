// Training steps of char-GPT and ResNet-18 by PyTorch, written as tests/support/models_*.c are.
#include "tests/bench/peer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>
#include <torch/version.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

using at::Tensor;

namespace
{

/** The batches of tests/support/models_layer.c: splitmix64, started anew for each step. */
class Batches
{
  public:
    explicit Batches(uint64_t seed) : seed(seed)
    {
    }

    void begin_step()
    {
        state = seed * UINT64_C(0x2545F4914F6CDD1D) + ++step;
    }

    Tensor noise(at::IntArrayRef shape)
    {
        Tensor out = at::empty(shape);
        float *data = out.data_ptr<float>();
        for (int64_t i = 0; i < out.numel(); i++)
            data[i] = static_cast<float>(static_cast<double>(next() >> 40) * 0x1p-23 - 1.0);
        return out;
    }

    Tensor labels(int64_t classes, at::IntArrayRef shape)
    {
        Tensor out = at::empty(shape, at::kLong);
        int64_t *data = out.data_ptr<int64_t>();
        for (int64_t i = 0; i < out.numel(); i++)
            data[i] = static_cast<int64_t>(next() % static_cast<uint64_t>(classes));
        return out;
    }

  private:
    uint64_t next()
    {
        uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        return z ^ (z >> 31);
    }

    uint64_t seed, step = 0, state = 0;
};

/** The parameters of the twin, copied. */
std::vector<Tensor> copy_parameters(cebus_model *model)
{
    std::vector<Tensor> out;
    for (size_t i = 0; i < cebus_model_parameter_count(model); i++) {
        cebus_tensor *from = cebus_model_parameter(model, i);
        const cebus_view *view = cebus_tensor_view(from);
        Tensor to = at::empty(at::IntArrayRef(view->shape, static_cast<size_t>(view->ndim)));
        if (cebus_tensor_to_host(from, to.data_ptr<float>(), to.nbytes()) != CEBUS_OK)
            throw std::runtime_error(cebus_last_error()->message);
        out.push_back(to.requires_grad_());
    }
    return out;
}

} // namespace

/** A network reads its parameters in the order its twin does. */
struct bench_peer {
    explicit bench_peer(cebus_model *model)
        : config(*cebus_model_config_of(model)), batches(config.seed),
          parameters(copy_parameters(model))
    {
    }
    virtual ~bench_peer() = default;

    virtual Tensor loss() = 0;

    float step()
    {
        next = 0;
        batches.begin_step();
        optimizer->zero_grad();
        Tensor value = loss();
        value.backward();
        optimizer->step();
        return value.item<float>();
    }

    Tensor &parameter()
    {
        return parameters.at(next++);
    }

    Tensor linear(const Tensor &x)
    {
        Tensor &weight = parameter();
        return at::linear(x, weight, parameter());
    }

    cebus_model_config config;
    Batches batches;
    std::vector<Tensor> parameters;
    size_t next = 0;
    std::unique_ptr<torch::optim::Optimizer> optimizer;
};

namespace
{

struct Gpt : bench_peer {
    explicit Gpt(cebus_model *model) : bench_peer(model)
    {
        optimizer = std::make_unique<torch::optim::Adam>(parameters,
                                                         torch::optim::AdamOptions(2e-3));
        mask = at::full({config.length, config.length}, -INFINITY).triu(1);
    }

    Tensor layer_norm(const Tensor &x)
    {
        Tensor &weight = parameter();
        return at::layer_norm(x, {config.width}, weight, parameter());
    }

    Tensor attend(const Tensor &qkv)
    {
        int64_t size = config.width / config.heads;
        std::vector<Tensor> part = qkv.split(config.width, 2);
        for (Tensor &t : part)
            t = t.view({config.batch, config.length, config.heads, size}).transpose(1, 2);
        Tensor scores = at::matmul(part[0] * (1 / std::sqrt(static_cast<double>(size))),
                                   part[1].transpose(-2, -1));
        Tensor heads = at::matmul(at::softmax(scores + mask, -1), part[2]);
        return heads.transpose(1, 2).reshape({config.batch, config.length, config.width});
    }

    Tensor block(Tensor x)
    {
        Tensor attended = attend(linear(layer_norm(x)));
        x = x + linear(attended);
        Tensor wide = linear(layer_norm(x));
        return x + linear(at::gelu(wide));
    }

    Tensor loss() override
    {
        Tensor tokens = batches.labels(config.classes, {config.batch, config.length});
        Tensor target = batches.labels(config.classes, {config.batch * config.length});
        Tensor &table = parameter();
        Tensor x = at::embedding(table, tokens) + parameter();
        for (int64_t i = 0; i < config.depth; i++)
            x = block(x);
        x = layer_norm(x).reshape({config.batch * config.length, config.width});
        return at::cross_entropy_loss(at::linear(x, parameter()), target);
    }

    Tensor mask;
};

struct Resnet : bench_peer {
    Resnet(cebus_model *model, bool channels_last)
        : bench_peer(model),
          layout(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous)
    {
        for (Tensor &p : parameters) {
            if (p.dim() == 4)
                p = p.detach().contiguous(layout).requires_grad_();
        }
        torch::optim::SGDOptions options(0.05);
        options.momentum(0.9).weight_decay(1e-4);
        optimizer = std::make_unique<torch::optim::SGD>(parameters, options);
    }

    /** The running statistics of the next batch norm: made in the first step. */
    std::pair<Tensor, Tensor> &statistics(int64_t channels)
    {
        if (next_statistics == running.size())
            running.emplace_back(at::zeros({channels}), at::ones({channels}));
        return running[next_statistics++];
    }

    Tensor conv_norm(const Tensor &x, int64_t stride)
    {
        Tensor &kernel = parameter();
        int64_t padding = kernel.size(2) / 2;
        Tensor y = at::conv2d(x, kernel, {}, {stride, stride}, {padding, padding});
        Tensor &weight = parameter(), &bias = parameter();
        std::pair<Tensor, Tensor> &run = statistics(weight.size(0));
        return at::batch_norm(y, weight, bias, run.first, run.second, true, 0.1, 1e-5, false);
    }

    Tensor block(const Tensor &x, bool down)
    {
        int64_t stride = down ? 2 : 1;
        Tensor skip = down ? conv_norm(x, stride) : x;
        Tensor y = at::relu(conv_norm(x, stride));
        return at::relu(conv_norm(y, 1) + skip);
    }

    Tensor loss() override
    {
        next_statistics = 0;
        Tensor x = batches.noise({config.batch, 3, config.length, config.length}).contiguous(layout);
        Tensor target = batches.labels(config.classes, {config.batch});
        x = at::relu(conv_norm(x, 2));
        x = at::max_pool2d(x, {3, 3}, {2, 2}, {1, 1});
        for (int stage = 0; stage < 4; stage++) {
            for (int64_t i = 0; i < config.depth; i++)
                x = block(x, stage > 0 && i == 0);
        }
        x = at::adaptive_avg_pool2d(x, {1, 1}).reshape({config.batch, -1});
        return at::cross_entropy_loss(linear(x), target);
    }

    at::MemoryFormat layout;
    std::vector<std::pair<Tensor, Tensor>> running;
    size_t next_statistics = 0;
};

} // namespace

const char *bench_peer_version(void)
{
    return TORCH_VERSION;
}

bench_peer *bench_peer_create(cebus_model *model, int threads, bool channels_last)
{
    at::set_num_threads(threads);
    if (cebus_model_config_of(model)->heads > 0)
        return new Gpt(model);
    return new Resnet(model, channels_last);
}

void bench_peer_destroy(bench_peer *peer)
{
    delete peer;
}

float bench_peer_step(bench_peer *peer)
{
    return peer->step();
}

int64_t bench_peer_parameters(const bench_peer *peer)
{
    int64_t count = 0;
    for (const Tensor &p : peer->parameters)
        count += p.numel();
    return count;
}
