/**
 * The words of Criterion that the unit tests use, for builds where Criterion is not there or cannot
 * run: under the thread sanitizer it finds no addresses for what its processes share. Each test is
 * a process of its own, forked before anything has happened in it.
 *
 * A message after the last value is a format and its arguments, as in Criterion. An assertion that
 * fails ends its test, an expectation does not; a test fails that does either, exits with an error
 * (as a sanitizer makes it do), dies of a signal, or takes longer than its suite or it may.
 */
#ifndef CEBUS_TESTS_SUPPORT_UNIT_CRITERION_H
#define CEBUS_TESTS_SUPPORT_UNIT_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** A test, or a suite; `next` in the order of the file. */
typedef struct cebus_unit_test {
    const char *suite, *name; /**< name NULL: the suite itself */
    void (*run)(void);
    void (*init)(void);
    void (*fini)(void);
    unsigned timeout; /**< in seconds; 0: none */
    struct cebus_unit_test *next;
} cebus_unit_test;

void cebus_unit_register(cebus_unit_test *unit);

/** Says what is wrong; does not return when that is fatal. The last argument is not printed. */
void cebus_unit_check(bool good, bool fatal, const char *file, int line, const char *what,
                      const char *format, ...);
void cebus_unit_skip(const char *format, ...);

/* Clang heeds the attribute in front of the definition alone; the last line takes a semicolon. */
#define CEBUS_UNIT_REGISTER(id, ...)                                                               \
    __attribute__((constructor)) static void id##_register(void);                                  \
    static cebus_unit_test id##_unit = {__VA_ARGS__};                                              \
    static void id##_register(void)                                                                \
    {                                                                                              \
        cebus_unit_register(&id##_unit);                                                           \
    }                                                                                              \
    static void id##_register(void)

#define TestSuite(s, ...) CEBUS_UNIT_REGISTER(s##_suite, .suite = #s, __VA_ARGS__)
/* A trailing comma is no argument too few: there is always one, which says nothing new. */
#define Test(...) CEBUS_UNIT_TEST(__VA_ARGS__, .next = NULL)
#define CEBUS_UNIT_TEST(s, n, ...)                                                                 \
    static void s##_##n##_test(void);                                                              \
    CEBUS_UNIT_REGISTER(s##_##n, .suite = #s, .name = #n, .run = s##_##n##_test, __VA_ARGS__);     \
    static void s##_##n##_test(void)

#define CEBUS_UNIT_CHECK(fatal, good, what, ...)                                                   \
    cebus_unit_check((good), (fatal), __FILE__, __LINE__, (what), __VA_ARGS__)
#define CEBUS_UNIT_TRUE(fatal, a, ...) CEBUS_UNIT_CHECK(fatal, (a) ? true : false, #a, __VA_ARGS__)
#define CEBUS_UNIT_NOT(fatal, a, ...)                                                              \
    CEBUS_UNIT_CHECK(fatal, (a) ? false : true, "not " #a, __VA_ARGS__)
#define CEBUS_UNIT_COMPARE(fatal, op, a, b, ...)                                                   \
    CEBUS_UNIT_CHECK(fatal, (a)op(b), #a " " #op " " #b, __VA_ARGS__)
#define CEBUS_UNIT_STRINGS(fatal, op, a, b, ...)                                                   \
    CEBUS_UNIT_CHECK(fatal, strcmp((a), (b)) op 0, #a " " #op " " #b, __VA_ARGS__)
#define CEBUS_UNIT_BYTES(fatal, a, b, bytes, ...)                                                  \
    CEBUS_UNIT_CHECK(fatal, memcmp((a), (b), (bytes)) == 0, #a " has the bytes of " #b, __VA_ARGS__)
#define CEBUS_UNIT_NEAR(fatal, a, b, far, ...)                                                     \
    CEBUS_UNIT_CHECK(fatal, (a) - (b) <= (far) && (b) - (a) <= (far), #a " is near " #b,           \
                     __VA_ARGS__)

#define cr_assert(...) CEBUS_UNIT_TRUE(true, __VA_ARGS__, "")
#define cr_assert_not(...) CEBUS_UNIT_NOT(true, __VA_ARGS__, "")
#define cr_assert_eq(...) CEBUS_UNIT_COMPARE(true, ==, __VA_ARGS__, "")
#define cr_assert_neq(...) CEBUS_UNIT_COMPARE(true, !=, __VA_ARGS__, "")
#define cr_assert_lt(...) CEBUS_UNIT_COMPARE(true, <, __VA_ARGS__, "")
#define cr_assert_leq(...) CEBUS_UNIT_COMPARE(true, <=, __VA_ARGS__, "")
#define cr_assert_gt(...) CEBUS_UNIT_COMPARE(true, >, __VA_ARGS__, "")
#define cr_assert_geq(...) CEBUS_UNIT_COMPARE(true, >=, __VA_ARGS__, "")
#define cr_assert_null(...) CEBUS_UNIT_NOT(true, __VA_ARGS__, "")
#define cr_assert_not_null(...) CEBUS_UNIT_TRUE(true, __VA_ARGS__, "")
#define cr_assert_str_eq(...) CEBUS_UNIT_STRINGS(true, ==, __VA_ARGS__, "")
#define cr_assert_arr_eq(...) CEBUS_UNIT_BYTES(true, __VA_ARGS__, "")
#define cr_assert_float_eq(...) CEBUS_UNIT_NEAR(true, __VA_ARGS__, "")
#define cr_assert_fail(...) CEBUS_UNIT_CHECK(true, false, "failed", __VA_ARGS__, "")

#define cr_expect(...) CEBUS_UNIT_TRUE(false, __VA_ARGS__, "")
#define cr_expect_not(...) CEBUS_UNIT_NOT(false, __VA_ARGS__, "")
#define cr_expect_eq(...) CEBUS_UNIT_COMPARE(false, ==, __VA_ARGS__, "")
#define cr_expect_neq(...) CEBUS_UNIT_COMPARE(false, !=, __VA_ARGS__, "")
#define cr_expect_lt(...) CEBUS_UNIT_COMPARE(false, <, __VA_ARGS__, "")
#define cr_expect_leq(...) CEBUS_UNIT_COMPARE(false, <=, __VA_ARGS__, "")
#define cr_expect_gt(...) CEBUS_UNIT_COMPARE(false, >, __VA_ARGS__, "")
#define cr_expect_geq(...) CEBUS_UNIT_COMPARE(false, >=, __VA_ARGS__, "")
#define cr_expect_null(...) CEBUS_UNIT_NOT(false, __VA_ARGS__, "")
#define cr_expect_not_null(...) CEBUS_UNIT_TRUE(false, __VA_ARGS__, "")
#define cr_expect_str_eq(...) CEBUS_UNIT_STRINGS(false, ==, __VA_ARGS__, "")
#define cr_expect_str_neq(...) CEBUS_UNIT_STRINGS(false, !=, __VA_ARGS__, "")
#define cr_expect_arr_eq(...) CEBUS_UNIT_BYTES(false, __VA_ARGS__, "")
#define cr_expect_float_eq(...) CEBUS_UNIT_NEAR(false, __VA_ARGS__, "")

#define cr_skip_test(...) cebus_unit_skip(__VA_ARGS__, "")

#endif
