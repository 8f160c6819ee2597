#include "evict/policies/family.h"

#include <ctype.h>
#include <string.h>

/** The first that occurs decides: what is longer or more special stands before what it contains. */
static const struct {
    const char *pattern;
    cebus_family family;
} patterns[] = {
    {"optim", CEBUS_FAMILY_OPTIMIZER},
    {"adam", CEBUS_FAMILY_OPTIMIZER},
    {"sgd", CEBUS_FAMILY_OPTIMIZER},
    {"addcdiv", CEBUS_FAMILY_OPTIMIZER},
    {"addcmul", CEBUS_FAMILY_OPTIMIZER},
    {"attention", CEBUS_FAMILY_ATTENTION},
    {"cross_entropy", CEBUS_FAMILY_LOSS},
    {"nll", CEBUS_FAMILY_LOSS},
    {"loss", CEBUS_FAMILY_LOSS},
    {"conv", CEBUS_FAMILY_CONV},
    {"gates", CEBUS_FAMILY_ACTIVATION},
    {"lstm", CEBUS_FAMILY_RECURRENT},
    {"gru", CEBUS_FAMILY_RECURRENT},
    {"rnn", CEBUS_FAMILY_RECURRENT},
    {"softmax", CEBUS_FAMILY_SOFTMAX},
    {"logsumexp", CEBUS_FAMILY_REDUCTION},
    {"batch_norm", CEBUS_FAMILY_NORM},
    {"batchnorm", CEBUS_FAMILY_NORM},
    {"layer_norm", CEBUS_FAMILY_NORM},
    {"layernorm", CEBUS_FAMILY_NORM},
    {"group_norm", CEBUS_FAMILY_NORM},
    {"instance_norm", CEBUS_FAMILY_NORM},
    {"rms_norm", CEBUS_FAMILY_NORM},
    {"response_norm", CEBUS_FAMILY_NORM},
    {"lrn", CEBUS_FAMILY_NORM},
    {"pool", CEBUS_FAMILY_POOL},
    {"interpolate", CEBUS_FAMILY_POOL},
    {"upsample", CEBUS_FAMILY_POOL},
    {"matmul", CEBUS_FAMILY_MATMUL},
    {"addmm", CEBUS_FAMILY_MATMUL},
    {"baddbmm", CEBUS_FAMILY_MATMUL},
    {"bmm", CEBUS_FAMILY_MATMUL},
    {"linear", CEBUS_FAMILY_MATMUL},
    {"gemm", CEBUS_FAMILY_MATMUL},
    {"embedding", CEBUS_FAMILY_INDEX},
    {"gather", CEBUS_FAMILY_INDEX},
    {"scatter", CEBUS_FAMILY_INDEX},
    {"index", CEBUS_FAMILY_INDEX},
    {"dropout", CEBUS_FAMILY_ACTIVATION},
    {"bernoulli", CEBUS_FAMILY_ACTIVATION},
    {"mask", CEBUS_FAMILY_ACTIVATION},
    {"relu", CEBUS_FAMILY_ACTIVATION},
    {"gelu", CEBUS_FAMILY_ACTIVATION},
    {"elu", CEBUS_FAMILY_ACTIVATION},
    {"silu", CEBUS_FAMILY_ACTIVATION},
    {"swish", CEBUS_FAMILY_ACTIVATION},
    {"mish", CEBUS_FAMILY_ACTIVATION},
    {"softplus", CEBUS_FAMILY_ACTIVATION},
    {"sigmoid", CEBUS_FAMILY_ACTIVATION},
    {"tanh", CEBUS_FAMILY_ACTIVATION},
    {"threshold", CEBUS_FAMILY_ACTIVATION},
    {"clamp", CEBUS_FAMILY_ACTIVATION},
};

/** Short names, that would occur in many others: the whole name, without a trailing "_", "_scalar"
 * or "_backward". */
static const struct {
    const char *name;
    cebus_family family;
} names[] = {
    {"mm", CEBUS_FAMILY_MATMUL},          {"mv", CEBUS_FAMILY_MATMUL},
    {"add", CEBUS_FAMILY_JOIN},           {"sub", CEBUS_FAMILY_ACTIVATION},
    {"rsub", CEBUS_FAMILY_ACTIVATION},    {"mul", CEBUS_FAMILY_ACTIVATION},
    {"div", CEBUS_FAMILY_ACTIVATION},     {"pow", CEBUS_FAMILY_ACTIVATION},
    {"neg", CEBUS_FAMILY_ACTIVATION},     {"abs", CEBUS_FAMILY_ACTIVATION},
    {"exp", CEBUS_FAMILY_ACTIVATION},     {"log", CEBUS_FAMILY_ACTIVATION},
    {"sqrt", CEBUS_FAMILY_ACTIVATION},    {"rsqrt", CEBUS_FAMILY_ACTIVATION},
    {"sin", CEBUS_FAMILY_ACTIVATION},     {"cos", CEBUS_FAMILY_ACTIVATION},
    {"erf", CEBUS_FAMILY_ACTIVATION},     {"square", CEBUS_FAMILY_ACTIVATION},
    {"sign", CEBUS_FAMILY_ACTIVATION},    {"reciprocal", CEBUS_FAMILY_ACTIVATION},
    {"maximum", CEBUS_FAMILY_ACTIVATION}, {"minimum", CEBUS_FAMILY_ACTIVATION},
    {"where", CEBUS_FAMILY_ACTIVATION},   {"lerp", CEBUS_FAMILY_ACTIVATION},
    {"cast", CEBUS_FAMILY_ACTIVATION},    {"to", CEBUS_FAMILY_ACTIVATION},
    {"cat", CEBUS_FAMILY_JOIN},           {"stack", CEBUS_FAMILY_JOIN},
    {"concat", CEBUS_FAMILY_JOIN},        {"cat_array", CEBUS_FAMILY_JOIN},
    {"pad", CEBUS_FAMILY_SHAPE},          {"roll", CEBUS_FAMILY_SHAPE},
    {"copy", CEBUS_FAMILY_SHAPE},         {"clone", CEBUS_FAMILY_SHAPE},
    {"contiguous", CEBUS_FAMILY_SHAPE},   {"permute", CEBUS_FAMILY_SHAPE},
    {"transpose", CEBUS_FAMILY_SHAPE},    {"slice", CEBUS_FAMILY_SHAPE},
    {"select", CEBUS_FAMILY_SHAPE},       {"split", CEBUS_FAMILY_SHAPE},
    {"chunk", CEBUS_FAMILY_SHAPE},        {"repeat", CEBUS_FAMILY_SHAPE},
    {"reshape", CEBUS_FAMILY_SHAPE},      {"expand", CEBUS_FAMILY_SHAPE},
    {"sum", CEBUS_FAMILY_REDUCTION},      {"mean", CEBUS_FAMILY_REDUCTION},
    {"var", CEBUS_FAMILY_REDUCTION},      {"std", CEBUS_FAMILY_REDUCTION},
    {"max", CEBUS_FAMILY_REDUCTION},      {"min", CEBUS_FAMILY_REDUCTION},
    {"argmax", CEBUS_FAMILY_REDUCTION},   {"argmin", CEBUS_FAMILY_REDUCTION},
    {"norm", CEBUS_FAMILY_REDUCTION},     {"prod", CEBUS_FAMILY_REDUCTION},
};

enum {
    NAME_BYTES = 64
};

static void cut_suffix(char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    if (length > tail && strcmp(name + length - tail, suffix) == 0)
        name[length - tail] = '\0';
}

/** Lower case, without "aten::" or the like, without what only says which variant it is. */
static void normalize(const char *op, char *name)
{
    const char *colon = strrchr(op, ':');
    const char *from = colon != NULL ? colon + 1 : op;
    size_t n = 0;
    for (; from[n] != '\0' && n + 1 < NAME_BYTES; n++)
        name[n] = (char)tolower((unsigned char)from[n]);
    name[n] = '\0';
    cut_suffix(name, "_backward");
    cut_suffix(name, "_scalar");
    cut_suffix(name, "_");
    cut_suffix(name, "_scalar");
}

cebus_family cebus_family_of(const char *op)
{
    char name[NAME_BYTES];
    normalize(op, name);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (strstr(name, patterns[i].pattern) != NULL)
            return patterns[i].family;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].name) == 0)
            return names[i].family;
    }
    return CEBUS_FAMILY_OTHER;
}

bool cebus_family_is_heavy(cebus_family family)
{
    return family == CEBUS_FAMILY_CONV || family == CEBUS_FAMILY_MATMUL ||
           family == CEBUS_FAMILY_ATTENTION || family == CEBUS_FAMILY_RECURRENT;
}

bool cebus_family_is_cheap(cebus_family family)
{
    return family == CEBUS_FAMILY_NORM || family == CEBUS_FAMILY_POOL ||
           family == CEBUS_FAMILY_SOFTMAX || family == CEBUS_FAMILY_ACTIVATION ||
           family == CEBUS_FAMILY_JOIN || family == CEBUS_FAMILY_SHAPE ||
           family == CEBUS_FAMILY_INDEX;
}
