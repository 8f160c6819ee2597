#include "tests/support/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/half.h"

/* --- running ----------------------------------------------------------------------------- */

/** The default, unless that would be much memory to set aside for every case. */
static uint64_t budget_of(const char *device)
{
    return strncmp(device, "cuda", 4) == 0 ? UINT64_C(1) << 30 : 0;
}

int cebus_test_most_threads(const cebus_test *t)
{
    return t->device != NULL && strncmp(t->device, "cuda", 4) == 0 ? 1 : 3;
}

static bool is_simulated(const char *device)
{
    return strncmp(device, "sim:", 4) == 0;
}

static void run_case(const char *device, const cebus_case *c, cebus_test *t)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = budget_of(device);
    if (c->kind == CEBUS_READS_VALUES && is_simulated(device)) {
        *t = (cebus_test){.name = c->name, .message = "the host reads zeros", .lacking = true};
        return;
    }
    *t = (cebus_test){.name = c->name, .device = device};
    if (cebus_runtime_create(&options, &t->rt) != CEBUS_OK) {
        cebus_test_fail(t, __FILE__, __LINE__, "no runtime: %s", cebus_last_error()->message);
        return;
    }
    c->run(t);
    cebus_runtime_destroy(t->rt);
}

/** Prints that and why there is no such device. */
static bool is_skipped(const char *device)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = budget_of(device);
    if (strncmp(device, "cuda", 4) != 0)
        return false;
    cebus_status status = cebus_runtime_create(&options, &rt);
    if (status == CEBUS_OK)
        cebus_runtime_destroy(rt);
    if (status == CEBUS_UNSUPPORTED)
        printf("1..0 # SKIP %s\n", cebus_last_error()->message);
    return status == CEBUS_UNSUPPORTED;
}

static void print_result(const cebus_test *t, int number)
{
    if (t->lacking)
        printf("ok %d - %s # SKIP %s\n", number, t->name, t->message);
    else
        printf("%sok %d - %s\n", t->failures ? "not " : "", number, t->name);
    if (t->failures && !t->lacking)
        printf("# %d failed, first: %s\n", t->failures, t->message);
    fflush(stdout);
}

int cebus_harness_run(const char *device, const cebus_case *const *families, size_t n_families)
{
    int number = 0, failed = 0;
    if (is_skipped(device))
        return 0;
    for (size_t f = 0; f < n_families; f++) {
        for (const cebus_case *c = families[f]; c && c->run; c++) {
            cebus_test t;
            run_case(device, c, &t);
            failed += t.failures > 0 && !t.lacking;
            print_result(&t, ++number);
        }
    }
    printf("1..%d\n", number);
    return failed;
}

void cebus_test_with_threads(cebus_test *t, int threads, void (*run)(cebus_test *t))
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_runtime *single = t->rt;
    options.device = t->device;
    options.threads = threads;
    options.memory_budget = budget_of(t->device);
    if (cebus_runtime_create(&options, &t->rt) == CEBUS_OK) {
        run(t);
        cebus_runtime_destroy(t->rt);
    } else {
        cebus_test_fail(t, __FILE__, __LINE__, "no runtime: %s", cebus_last_error()->message);
    }
    t->rt = single;
}

void cebus_test_fail(cebus_test *t, const char *file, int line, const char *format, ...)
{
    if (t->failures++ > 0)
        return;
    int used = snprintf(t->message, sizeof t->message, "%s:%d: ", file, line);
    if (used < 0 || (size_t)used >= sizeof t->message)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->message + used, sizeof t->message - (size_t)used, format, args);
    va_end(args);
    for (char *c = t->message; *c; c++)
        if (*c == '\n')
            *c = ' '; /* one TAP comment line */
}

void cebus_test_not_ok(cebus_test *t, const char *file, int line, const char *expression)
{
    const cebus_error *error = cebus_last_error();
    bool built_in = strcmp(t->device, "cpu") == 0 || strcmp(t->device, "test") == 0;
    if (error->status == CEBUS_UNSUPPORTED && t->failures == 0 && !built_in)
        t->lacking = true;
    cebus_test_fail(t, file, line, "%s: %s: %s", expression, error->op, error->message);
}

void cebus_test_expect_failure(cebus_test *t, const char *file, int line, cebus_status want,
                               const char *text, cebus_status got)
{
    const cebus_error *error = cebus_last_error();
    if (got != want)
        cebus_test_fail(t, file, line, "expected %s, got %s", cebus_status_name(want),
                        cebus_status_name(got));
    else if (!strstr(error->message, text) && !strstr(error->op, text))
        cebus_test_fail(t, file, line, "expected \"%s\" in \"%s: %s\"", text, error->op,
                        error->message);
}

cebus_status cebus_test_late_status(cebus_test *t, cebus_status status, cebus_tensor **out)
{
    if (status != CEBUS_OK || strcmp(t->device, "cpu") == 0)
        return status;
    status = cebus_runtime_synchronize(t->rt);
    cebus_tensor_release(*out);
    *out = NULL;
    return status;
}

/* --- tensors from and to doubles --------------------------------------------------------- */

double cebus_test_noise(uint64_t seed, uint64_t index)
{
    uint64_t z = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) + index * UINT64_C(0xD1B54A32D192ED03);
    for (int round = 0; round < 3; round++) {
        z ^= z >> 29;
        z *= UINT64_C(0xBF58476D1CE4E5B9);
        z ^= z >> 32;
    }
    return (double)(int64_t)z * 0x1p-63;
}

static void store_double(cebus_dtype dtype, void *data, int64_t i, double value)
{
    switch (dtype) {
    case CEBUS_F32:
        ((float *)data)[i] = (float)value;
        break;
    case CEBUS_F64:
        ((double *)data)[i] = value;
        break;
    case CEBUS_F16:
        ((uint16_t *)data)[i] = cebus_f16_from_f32((float)value);
        break;
    case CEBUS_BF16:
        ((uint16_t *)data)[i] = cebus_bf16_from_f32((float)value);
        break;
    case CEBUS_I64:
        ((int64_t *)data)[i] = llround(value);
        break;
    case CEBUS_I32:
        ((int32_t *)data)[i] = (int32_t)llround(value);
        break;
    case CEBUS_U8:
        ((uint8_t *)data)[i] = (uint8_t)llround(value);
        break;
    case CEBUS_BOOL:
        ((uint8_t *)data)[i] = llround(value) != 0;
        break;
    }
}

static double load_double(cebus_dtype dtype, const void *data, int64_t i)
{
    switch (dtype) {
    case CEBUS_F32:
        return ((const float *)data)[i];
    case CEBUS_F64:
        return ((const double *)data)[i];
    case CEBUS_F16:
        return cebus_f16_to_f32(((const uint16_t *)data)[i]);
    case CEBUS_BF16:
        return cebus_bf16_to_f32(((const uint16_t *)data)[i]);
    case CEBUS_I64:
        return (double)((const int64_t *)data)[i];
    case CEBUS_I32:
        return ((const int32_t *)data)[i];
    case CEBUS_U8:
    case CEBUS_BOOL:
        return ((const uint8_t *)data)[i];
    }
    return NAN;
}

static int64_t count_elements(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < ndim; i++)
        n *= shape[i];
    return n;
}

cebus_tensor *cebus_test_from_doubles(cebus_test *t, cebus_dtype dtype, const double *values,
                                      int ndim, const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    void *data = malloc((size_t)n * cebus_dtype_size(dtype) + 1);
    cebus_tensor *out = NULL;
    if (data) {
        for (int64_t i = 0; i < n; i++)
            store_double(dtype, data, i, values[i]);
        if (cebus_tensor_from_host(t->rt, data, dtype, ndim, shape, &out) != CEBUS_OK)
            cebus_test_fail(t, __FILE__, __LINE__, "from_host: %s", cebus_last_error()->message);
    }
    free(data);
    return out;
}

cebus_tensor *cebus_test_tensor(cebus_test *t, cebus_dtype dtype, uint64_t seed, double scale,
                                double shift, int ndim, const int64_t *shape)
{
    int64_t n = count_elements(ndim, shape);
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    if (!values)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        values[i] = cebus_test_noise(seed, (uint64_t)i) * scale + shift;
    cebus_tensor *out = cebus_test_from_doubles(t, dtype, values, ndim, shape);
    free(values);
    return out;
}

double *cebus_test_doubles(cebus_test *t, cebus_tensor *x)
{
    int64_t n = cebus_tensor_numel(x);
    cebus_dtype dtype = cebus_tensor_dtype(x);
    size_t bytes = (size_t)n * cebus_dtype_size(dtype);
    void *data = malloc(bytes + 1);
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    if (!data || !values || cebus_tensor_to_host(x, data, bytes) != CEBUS_OK) {
        cebus_test_fail(t, __FILE__, __LINE__, "to_host: %s", cebus_last_error()->message);
        free(values);
        values = NULL;
    }
    for (int64_t i = 0; values && i < n; i++)
        values[i] = load_double(dtype, data, i);
    free(data);
    return values;
}

void cebus_test_near(cebus_test *t, const char *what, const double *got, const double *want,
                     int64_t n, double rtol, double atol)
{
    if (is_simulated(t->device))
        return;
    int64_t worst = -1;
    double worst_excess = 0;
    for (int64_t i = 0; i < n; i++) {
        if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])))
            continue;
        double excess = fabs(got[i] - want[i]) - (atol + rtol * fabs(want[i]));
        if (isnan(excess))
            excess = INFINITY;
        if (excess > worst_excess) {
            worst_excess = excess;
            worst = i;
        }
    }
    if (worst >= 0)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: element %lld is %.17g, expected %.17g", what,
                        (long long)worst, got[worst], want[worst]);
}

/* --- numerical gradients ----------------------------------------------------------------- */

enum {
    GRADIENT_SAMPLES = 64,
    GRADIENT_INPUTS = 16,
    WEIGHT_SEED = 77
};

typedef struct gradient_check {
    cebus_test *t;
    const char *what;
    cebus_test_function function;
    void *context;
    cebus_tensor *in[GRADIENT_INPUTS];
    size_t n_in;
} gradient_check;

static void gradient_error(const gradient_check *c, const char *where)
{
    cebus_test_fail(c->t, __FILE__, __LINE__, "%s: %s: %s: %s", c->what, where,
                    cebus_last_error()->op, cebus_last_error()->message);
}

/* sum of noise x function(in), or NaN on failure. */
static double weighted_value(const gradient_check *c)
{
    cebus_tensor *out = NULL;
    bool enabled = cebus_grad_enable(false);
    cebus_status status = c->function(c->t->rt, c->in, c->context, &out);
    cebus_grad_enable(enabled);
    if (status != CEBUS_OK) {
        gradient_error(c, "perturbed call");
        return NAN;
    }
    double sum = NAN;
    double *values = cebus_test_doubles(c->t, out);
    if (values) {
        int64_t n = cebus_tensor_numel(out);
        sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += cebus_test_noise(WEIGHT_SEED, (uint64_t)i) * values[i];
    }
    free(values);
    cebus_tensor_release(out);
    return sum;
}

/* The weighted value with element `at` of input `k` set to `value`. */
static double value_with(gradient_check *c, size_t k, double *values, int64_t at, double value)
{
    cebus_tensor *original = c->in[k];
    const cebus_view *view = cebus_tensor_view(original);
    double kept = values[at];
    values[at] = value;
    c->in[k] = cebus_test_from_doubles(c->t, CEBUS_F64, values, view->ndim, view->shape);
    double result = c->in[k] ? weighted_value(c) : NAN;
    cebus_tensor_release(c->in[k]);
    c->in[k] = original;
    values[at] = kept;
    return result;
}

/* Compares the gradient of input `k` with central differences at spread elements. */
static void check_input(gradient_check *c, size_t k)
{
    cebus_tensor *x = c->in[k], *grad = NULL;
    int64_t n = cebus_tensor_numel(x);
    if (cebus_tensor_grad(x, &grad) != CEBUS_OK || (!grad && n > 0)) {
        cebus_test_fail(c->t, __FILE__, __LINE__, "%s: input %zu got no gradient", c->what, k);
        return;
    }
    double *values = cebus_test_doubles(c->t, x);
    double *got = grad ? cebus_test_doubles(c->t, grad) : NULL;
    int64_t samples = n < GRADIENT_SAMPLES ? n : GRADIENT_SAMPLES;
    for (int64_t s = 0; values && got && s < samples; s++) {
        int64_t at = n / samples * s + (s < n % samples ? s : n % samples);
        double h = 1e-5 * fmax(1.0, fabs(values[at]));
        double up = value_with(c, k, values, at, values[at] + h);
        double down = value_with(c, k, values, at, values[at] - h);
        double want = (up - down) / (2 * h);
        if (!(fabs(got[at] - want) <= 1e-6 + 1e-5 * fabs(want)))
            cebus_test_fail(c->t, __FILE__, __LINE__,
                            "%s: gradient of input %zu at %lld is %.12g, differences say %.12g",
                            c->what, k, (long long)at, got[at], want);
    }
    free(values);
    free(got);
    cebus_tensor_release(grad);
}

/* Runs the function with gradients on and backward from the noise weights. */
static bool run_backward(const gradient_check *c)
{
    cebus_tensor *out = NULL, *weights = NULL;
    bool ok = c->function(c->t->rt, c->in, c->context, &out) == CEBUS_OK;
    if (ok) {
        const cebus_view *view = cebus_tensor_view(out);
        weights = cebus_test_tensor(c->t, CEBUS_F64, WEIGHT_SEED, 1, 0, view->ndim, view->shape);
        ok = weights && cebus_backward(c->t->rt, out, weights, false) == CEBUS_OK;
    }
    if (!ok)
        gradient_error(c, "backward");
    cebus_tensor_release(weights);
    cebus_tensor_release(out);
    return ok;
}

void cebus_test_gradient(cebus_test *t, const char *what, cebus_test_function function,
                         void *context, cebus_tensor *const *in, size_t n_in)
{
    gradient_check c = {.t = t, .what = what, .function = function, .context = context};
    if (n_in > GRADIENT_INPUTS) {
        cebus_test_fail(t, __FILE__, __LINE__, "%s: more than %d inputs", what, GRADIENT_INPUTS);
        return;
    }
    c.n_in = n_in;
    bool usable = true;
    for (size_t k = 0; k < n_in; k++) {
        c.in[k] = in[k];
        /* Gradients accumulate: an earlier check of the same tensors must not count. */
        usable = usable && (!in[k] || cebus_tensor_set_grad(in[k], NULL) == CEBUS_OK);
    }
    if (!usable || !run_backward(&c))
        return;
    for (size_t k = 0; k < n_in; k++)
        if (c.in[k] && cebus_tensor_requires_grad(c.in[k]))
            check_input(&c, k);
}
