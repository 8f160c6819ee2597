/**
 * fuzz_calls.c: six bytes a call, on two runtimes in lockstep: one has memory, the other hardly
 * any.
 *
 * The first byte names the call, the others its arguments, most of them nonsense: tensors that are
 * not there, dimensions out of range, shapes that do not fit. Both runtimes must give the same
 * answer. A call that the small one refuses for want of memory is not made on the large one: it
 * changed nothing, or the values would differ at the end.
 */
#include <cebus/cebus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 8
#define STEP_BYTES 6
#define MAX_STEPS 64
#define SMALL_BUDGET (UINT64_C(48) << 10)
#define LARGE_BUDGET (UINT64_C(64) << 20)

typedef struct machine {
    cebus_runtime *rt;
    cebus_tensor *slots[SLOTS];
} machine;

/* What a step's bytes say, seen by one machine. */
typedef struct step {
    cebus_runtime *rt;
    cebus_tensor *a, *b;
    int x, y; /* -128 to 127 */
} step;

typedef cebus_status (*unary_call)(cebus_runtime *, cebus_tensor *, cebus_tensor **);
typedef cebus_status (*binary_call)(cebus_runtime *, cebus_tensor *, cebus_tensor *,
                                    cebus_tensor **);
typedef cebus_status (*reduce_call)(cebus_runtime *, cebus_tensor *, int, const int *, bool,
                                    cebus_tensor **);

static void stop(const char *what, cebus_status status)
{
    const cebus_error *error = cebus_last_error();
    fprintf(stderr, "%s: %s (last error: %s: %s)\n", what, cebus_status_name(status), error->op,
            error->message);
    abort();
}

/* Number `y` says how many dimensions, `x` how long each is: two bits a dimension. */
static int shape_of(const step *s, int64_t *shape)
{
    static const int64_t lengths[] = {1, 16, 5, 0};
    int ndim = s->y & 3;
    for (int i = 0; i < ndim; i++)
        shape[i] = lengths[(s->x >> (2 * i)) & 3];
    return ndim;
}

static cebus_status make(const step *s, cebus_tensor **out)
{
    static const cebus_dtype dtypes[] = {CEBUS_F32, CEBUS_F32, CEBUS_F64, CEBUS_I64,
                                         CEBUS_F16, CEBUS_U8,  CEBUS_BOOL};
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = shape_of(s, shape);
    unsigned kind = (unsigned)s->y >> 2;
    cebus_dtype dtype = dtypes[(kind >> 1) % (sizeof dtypes / sizeof *dtypes)];
    if (kind & 1)
        return cebus_full(s->rt, s->x, dtype, ndim, shape, out);
    return cebus_randn(s->rt, dtype, ndim, shape, out);
}

static cebus_status upload(const step *s, cebus_tensor **out)
{
    float values[16 * 16 * 16];
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = shape_of(s, shape);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)((int)i % 13 - s->x) / 8;
    return cebus_tensor_from_host(s->rt, values, CEBUS_F32, ndim, shape, out);
}

static cebus_status unary(const step *s, cebus_tensor **out)
{
    static const unary_call calls[] = {cebus_neg,  cebus_exp,     cebus_log,  cebus_tanh,
                                       cebus_relu, cebus_sigmoid, cebus_gelu, cebus_detach};
    return calls[(unsigned)s->x % (sizeof calls / sizeof *calls)](s->rt, s->a, out);
}

static cebus_status binary(const step *s, cebus_tensor **out)
{
    static const binary_call calls[] = {cebus_add, cebus_sub,     cebus_mul, cebus_div,
                                        cebus_pow, cebus_maximum, cebus_lt,  cebus_matmul};
    return calls[(unsigned)s->x % (sizeof calls / sizeof *calls)](s->rt, s->a, s->b, out);
}

static cebus_status reduce(const step *s, cebus_tensor **out)
{
    static const reduce_call calls[] = {cebus_sum, cebus_mean, cebus_max, cebus_argmax,
                                        cebus_logsumexp};
    int dims[] = {s->y >> 2};
    return calls[(unsigned)s->x % (sizeof calls / sizeof *calls)](s->rt, s->a, s->y & 1, dims,
                                                                  s->y & 2, out);
}

/* Shapes that have more elements than can be counted, or none, and more than one length of -1. */
static cebus_status view_beyond(const step *s, cebus_tensor **out)
{
    static const int64_t lengths[] = {-1, INT64_MAX, 1, 0};
    int64_t shape[CEBUS_MAX_DIMS];
    for (int i = 0; i < 4; i++)
        shape[i] = lengths[(s->x >> (2 * i)) & 3];
    if (s->y & 1)
        return cebus_expand(s->rt, s->a, 4, shape, out);
    return cebus_reshape(s->rt, s->a, 4, shape, out);
}

static cebus_status view(const step *s, cebus_tensor **out)
{
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim = shape_of(s, shape);
    switch ((unsigned)s->y >> 2 & 7) {
    case 0:
        return cebus_transpose(s->rt, s->a, s->x % 4, s->y % 4, out);
    case 1:
        return cebus_slice(s->rt, s->a, s->y & 3, s->x / 8, s->x, 1 + (s->y & 1), out);
    case 2:
        return cebus_select(s->rt, s->a, s->y & 3, s->x % 20, out);
    case 3:
        return cebus_expand(s->rt, s->a, ndim, shape, out);
    case 4:
        return cebus_unsqueeze(s->rt, s->a, s->x % 6, out);
    case 5:
        return cebus_squeeze(s->rt, s->a, s->x % 6, out);
    case 6:
        return view_beyond(s, out);
    default:
        return cebus_reshape(s->rt, s->a, ndim, shape, out);
    }
}

static cebus_status write_in_place(const step *s, cebus_tensor **out)
{
    (void)out;
    switch ((unsigned)s->x & 7) {
    case 0:
        return cebus_add_(s->rt, s->a, s->b, s->y);
    case 1:
        return cebus_mul_(s->rt, s->a, s->b);
    case 2:
        return cebus_copy_(s->rt, s->a, s->b);
    case 3:
        return cebus_zero_(s->rt, s->a);
    case 4:
        return cebus_fill_(s->rt, s->a, s->y);
    default:
        return cebus_mul_scalar_(s->rt, s->a, s->y / 64.0);
    }
}

static cebus_status normalize(const step *s, cebus_tensor **out)
{
    if (s->x & 1)
        return cebus_dropout(s->rt, s->a, s->y / 100.0, true, out);
    return cebus_softmax(s->rt, s->a, s->y % 4, out);
}

static cebus_status differentiate(const step *s, cebus_tensor **out)
{
    switch ((unsigned)s->x & 7) {
    case 0:
        return cebus_tensor_set_requires_grad(s->a, s->y & 1);
    case 1:
        return cebus_tensor_grad(s->a, out);
    case 2:
        return cebus_tensor_set_grad(s->a, s->b);
    case 3:
        cebus_grad_enable(s->y & 3);
        return CEBUS_OK;
    case 4:
        return s->y & 1 ? cebus_tensor_set_data(s->a, s->b) : cebus_tensor_straighten(s->a);
    default:
        return cebus_backward(s->rt, s->a, s->y & 1 ? s->b : NULL, s->y & 2);
    }
}

static cebus_status administer(const step *s, cebus_tensor **out)
{
    switch ((unsigned)s->x & 7) {
    case 0:
        return cebus_tensor_set_persistent(s->a);
    case 1:
        return cebus_runtime_trim(s->rt);
    case 2:
        return cebus_runtime_set_policy(s->rt, cebus_policy_name(1 + (unsigned)s->y % 5));
    case 3:
        cebus_manual_seed(s->rt, (uint64_t)s->y);
        return CEBUS_OK;
    default:
        *out = cebus_tensor_retain(s->b);
        return CEBUS_OK;
    }
}

/* Maps and looks, writes through nothing. */
static cebus_status look(const step *s, cebus_tensor **out)
{
    const void *bytes;
    double item;
    (void)out;
    if (s->x & 1)
        return cebus_tensor_item(s->a, &item);
    cebus_status status = cebus_tensor_map(s->a, &bytes);
    if (status == CEBUS_OK)
        cebus_tensor_unmap(s->a);
    return status;
}

static cebus_status forget(const step *s, cebus_tensor **out)
{
    (void)s;
    *out = NULL;
    return CEBUS_OK;
}

typedef struct kind {
    cebus_status (*run)(const step *s, cebus_tensor **out);
    bool fills; /* a slot takes what it gives, or nothing */
} kind;

static const kind kinds[] = {
    {make, true},        {upload, true},         {unary, true},
    {binary, true},      {reduce, true},         {view, true},
    {normalize, true},   {differentiate, false}, {write_in_place, false},
    {administer, false}, {look, false},          {forget, true},
    {binary, true},      {unary, true},          {make, true},
    {view, true},
};

static cebus_status take_step(machine *m, const uint8_t *bytes)
{
    const kind *k = &kinds[bytes[0] % (sizeof kinds / sizeof *kinds)];
    step s = {.rt = m->rt,
              .a = m->slots[bytes[1] % SLOTS],
              .b = m->slots[bytes[2] % SLOTS],
              .x = (int8_t)bytes[4],
              .y = (int8_t)bytes[5]};
    cebus_tensor *out = NULL;
    cebus_status status = k->run(&s, &out);
    if (status != CEBUS_OK && out != NULL)
        stop("a failed call gave a tensor", status);
    if (status == CEBUS_OK && (k->fills || out != NULL)) {
        cebus_tensor **slot = &m->slots[bytes[3] % SLOTS];
        cebus_tensor_release(*slot);
        *slot = out;
    }
    cebus_status sound = cebus_runtime_check(m->rt);
    if (sound != CEBUS_OK)
        stop("the runtime is not sound", sound);
    return status;
}

static void open_machine(machine *m, uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.memory_budget = budget;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    *m = (machine){.rt = NULL};
    cebus_status status = cebus_runtime_create(&options, &m->rt);
    if (status != CEBUS_OK)
        stop("no runtime", status);
}

static void close_machine(machine *m)
{
    for (int i = 0; i < SLOTS; i++)
        cebus_tensor_release(m->slots[i]);
    cebus_runtime_destroy(m->rt);
}

static void *download(cebus_tensor *tensor, size_t bytes)
{
    void *data = malloc(bytes + 1);
    if (data == NULL)
        abort();
    cebus_status status = cebus_tensor_to_host(tensor, data, bytes);
    if (status != CEBUS_OK)
        stop("a value is lost", status);
    return data;
}

static void compare_tensors(cebus_tensor *small, cebus_tensor *large)
{
    if ((small == NULL) != (large == NULL))
        stop("a tensor is on one side only", CEBUS_INTERNAL);
    if (small == NULL)
        return;
    size_t bytes = (size_t)cebus_tensor_numel(large) * cebus_dtype_size(cebus_tensor_dtype(large));
    if (cebus_tensor_dtype(small) != cebus_tensor_dtype(large) ||
        cebus_tensor_numel(small) != cebus_tensor_numel(large))
        stop("shapes differ", CEBUS_INTERNAL);
    void *left = download(small, bytes), *right = download(large, bytes);
    if (memcmp(left, right, bytes) != 0)
        stop("bits differ", CEBUS_INTERNAL);
    free(left);
    free(right);
}

/* The values, once the small machine has room to show them. */
static void compare_machines(machine *small, machine *large)
{
    if (cebus_max_memory_allocated(small->rt) > SMALL_BUDGET)
        stop("over budget", CEBUS_INTERNAL);
    cebus_status status = cebus_runtime_set_budget(small->rt, LARGE_BUDGET);
    if (status != CEBUS_OK)
        stop("the budget does not grow", status);
    for (int i = 0; i < SLOTS; i++)
        compare_tensors(small->slots[i], large->slots[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    machine small, large;
    open_machine(&small, SMALL_BUDGET);
    open_machine(&large, LARGE_BUDGET);
    cebus_grad_enable(true);
    for (size_t i = 0; i < MAX_STEPS && (i + 1) * STEP_BYTES <= size; i++) {
        const uint8_t *bytes = data + i * STEP_BYTES;
        cebus_status tight = take_step(&small, bytes);
        if (tight == CEBUS_OUT_OF_MEMORY)
            continue;
        cebus_status roomy = take_step(&large, bytes);
        if (tight != roomy) {
            fprintf(stderr, "step %zu: %s in little memory\n", i, cebus_status_name(tight));
            stop("the answers differ", roomy);
        }
    }
    compare_machines(&small, &large);
    close_machine(&small);
    close_machine(&large);
    return 0;
}
