#include <criterion/criterion.h>

#include "eager/tensor.h"
#include "program.h"
#include "tests/support/test_device.h"

#define N 64

static cebus_runtime *rt;

static void setup(void)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cr_assert(cebus_test_device_register());
    options.device = "test";
    options.memory_budget = 1 << 20;
    options.policy = "coop";
    options.debug = CEBUS_DEBUG_HASH | CEBUS_DEBUG_WALK;
    OK(cebus_runtime_create(&options, &rt));
}

static void teardown(void)
{
    cebus_test_faults = (cebus_test_device_faults){0};
    cebus_runtime_destroy(rt);
}

TestSuite(debug, .init = setup, .fini = teardown);

/** The hash that could not be taken before the write must not be taken after it. */
Test(debug, no_hash_is_taken_of_what_was_written_over)
{
    cebus_tensor *x = leaf(rt, N, 2), *y, *z;
    OK(cebus_mul(rt, x, x, &y));
    OK(cebus_add_scalar(rt, y, 1, &z));
    cebus_test_faults.copy_at = 1;
    OK(cebus_add_(rt, y, x, 1));
    cr_assert(cebus_test_faults.fired);
    OK(cebus_runtime_trim(rt));
    cr_expect_eq(at(z, 0), 5);
    cr_expect_eq(at(y, 0), 6);
    cebus_tensor_release(z);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** What a replay leaves that failed is nobody's contents. */
Test(debug, no_hash_is_taken_of_what_a_replay_failed_to_make)
{
    cebus_tensor *x = leaf(rt, N, 2), *y;
    OK(cebus_mul(rt, x, x, &y));
    cebus_test_faults.copy_at = 1;
    OK(cebus_runtime_trim(rt));
    cr_assert(cebus_test_faults.fired);
    cr_assert_not(cebus_tensor_is_resident(y));
    float seen[N];
    cebus_test_faults.launch_at = 1;
    cr_expect_neq(cebus_tensor_to_host(y, seen, sizeof seen), CEBUS_OK);
    cr_expect_eq(at(y, 0), 4);
    cebus_tensor_release(y);
    cebus_tensor_release(x);
}

/** Between two calls nothing is in use; what is would stay for good. */
Test(debug, a_pin_of_no_call_is_found)
{
    cebus_tensor *x = leaf(rt, N, 2);
    OK(cebus_runtime_check(rt));
    x->storage->now->value.pins++;
    FAILS(CEBUS_INTERNAL, "pinned by no call", cebus_runtime_check(rt));
    OK(cebus_runtime_lock(rt, "test"));
    OK(cebus_runtime_check(rt)); /* as in the middle of a call */
    cebus_runtime_unlock(rt);
    x->storage->now->value.pins--;
    cebus_tensor_release(x);
}
