#include <criterion/criterion.h>
#include <string.h>

#include "eager/trace/signature.h"
#include "eager/view.h"

TestSuite(signature);

typedef struct subject {
    cebus_view views[3];
    cebus_array in[2], out[1];
    double attrs[2];
    char bytes[64];
    cebus_launch launch;
} subject;

static void fill(subject *s)
{
    static const int64_t a[] = {4, 6}, b[] = {6, 5}, c[] = {4, 5};
    memset(s, 0, sizeof *s);
    cebus_view_contiguous(&s->views[0], CEBUS_F32, 2, a);
    cebus_view_contiguous(&s->views[1], CEBUS_F32, 2, b);
    cebus_view_contiguous(&s->views[2], CEBUS_F32, 2, c);
    for (int i = 0; i < 2; i++)
        s->in[i].view = &s->views[i];
    s->out[0].view = &s->views[2];
    s->attrs[0] = 0.5;
    s->launch = (cebus_launch){.attrs = s->attrs,
                               .attr_bytes = sizeof s->attrs,
                               .in = s->in,
                               .out = s->out,
                               .n_in = 2,
                               .n_out = 1};
}

static uint64_t changed(void (*change)(subject *s))
{
    subject s;
    fill(&s);
    if (change != NULL)
        change(&s);
    uint64_t signature = cebus_launch_signature(&s.launch);
    cr_expect_neq(signature, 0);
    return signature;
}

static void give_addresses(subject *s)
{
    s->in[0].data = s->bytes;
    s->out[0].data = s->bytes + 8;
    s->launch.workspace = s->bytes;
    s->launch.workspace_bytes = 9;
    s->launch.seed = 3;
    s->launch.rng_offset = 4;
    s->views[0].offset = 17;
    s->views[1].shape[5] = 9; /* beyond ndim */
}

static void other_attribute(subject *s)
{
    s->attrs[1] = 1;
}

static void fewer_attributes(subject *s)
{
    s->launch.attr_bytes = sizeof *s->attrs;
}

static void odd_attributes(subject *s)
{
    s->launch.attr_bytes = sizeof *s->attrs + 3;
}

static void no_attributes(subject *s)
{
    s->launch.attrs = NULL;
    s->launch.attr_bytes = 0;
}

static void other_type(subject *s)
{
    s->views[1].dtype = CEBUS_BF16;
}

static void other_shape(subject *s)
{
    s->views[2].shape[0] = 5;
}

static void other_strides(subject *s)
{
    s->views[0].strides[0] = 1;
    s->views[0].strides[1] = 4;
}

static void other_order(subject *s)
{
    s->in[0].view = &s->views[1];
    s->in[1].view = &s->views[0];
}

static void one_input_less(subject *s)
{
    s->launch.n_in = 1;
}

static void numbers(subject *s)
{
    s->launch.numbers = true;
}

static void other_number(subject *s)
{
    numbers(s);
    other_attribute(s);
}

static void numbers_of_another_shape(subject *s)
{
    numbers(s);
    other_shape(s);
}

Test(signature, passes_over_numbers_that_change_from_step_to_step)
{
    cr_expect_eq(changed(numbers), changed(other_number));
    cr_expect_neq(changed(numbers), changed(numbers_of_another_shape));
    cr_expect_neq(changed(numbers), changed(NULL));
}

Test(signature, tells_what_decides_cost_and_nothing_else)
{
    static void (*const changes[])(subject *) = {
        NULL,       other_attribute, fewer_attributes, odd_attributes, no_attributes,
        other_type, other_shape,     other_strides,    other_order,    one_input_less};
    enum {
        COUNT = sizeof changes / sizeof *changes
    };
    uint64_t signatures[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        signatures[i] = changed(changes[i]);
        for (size_t k = 0; k < i; k++)
            cr_expect_neq(signatures[i], signatures[k], "changes %zu and %zu look the same", i, k);
    }
    cr_expect_eq(changed(give_addresses), signatures[0]);
}
