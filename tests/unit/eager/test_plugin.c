/**
 * Device plug-ins: found, refused with the reason, used. The plug-ins are those of
 * tests/support/plugins; CEBUS_TEST_PLUGINS names their folder.
 */
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eager/device/plugin.h"
#include "program.h"

static void use_test_plugins(void)
{
    const char *path = getenv("CEBUS_TEST_PLUGINS");
    cr_assert_not_null(path, "the build sets CEBUS_TEST_PLUGINS");
    setenv("CEBUS_PLUGIN_PATH", path, 1);
}

TestSuite(plugin, .init = use_test_plugins);

/** Opening `device` fails with a message that has all of `texts`. */
static void refused(const char *device, const char *const *texts)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    cr_assert_eq(cebus_runtime_create(&options, &rt), CEBUS_UNSUPPORTED, "%s", device);
    cr_assert_null(rt);
    const char *message = cebus_last_error()->message;
    for (; *texts != NULL; texts++)
        cr_expect_not_null(strstr(message, *texts), "\"%s\" lacks \"%s\"", message, *texts);
}

#define REFUSED(device, ...) refused(device, (const char *const[]){__VA_ARGS__, NULL})

static cebus_runtime *open_named(const char *device)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = 1 << 16;
    options.threads = 1;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

Test(plugin, a_good_one_offers_its_device)
{
    cebus_runtime *rt = open_named("good");
    cebus_tensor *x = leaf(rt, 8, 1.5F), *y;
    OK(cebus_add(rt, x, x, &y));
    cr_expect_eq(at(y, 2), 3.0F);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}

Test(plugin, what_was_loaded_once_needs_no_file)
{
    cebus_runtime_destroy(open_named("good"));
    cebus_runtime_destroy(open_named("second"));
    setenv("CEBUS_PLUGIN_PATH", "/nonexistent", 1);
    cebus_runtime_destroy(open_named("good:7"));
    cebus_runtime_destroy(open_named("second"));
}

Test(plugin, its_own_errors_arrive)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "good:broken";
    cr_assert_eq(cebus_runtime_create(&options, &rt), CEBUS_DEVICE_ERROR);
    cr_expect_str_eq(cebus_last_error()->message, "it is broken");
}

Test(plugin, none_there_says_where_it_was_looked_for)
{
    setenv("CEBUS_PLUGIN_PATH", "/nonexistent:/also/not", 1);
    REFUSED("missing:3", "missing:3", "libcebus_missing.so", "/nonexistent, /also/not, ",
            "CEBUS_PLUGIN_PATH");
    unsetenv("CEBUS_PLUGIN_PATH");
    REFUSED("missing", "libcebus_missing.so", "tests");
}

Test(plugin, each_defect_is_named)
{
    char theirs[32], ours[32];
    snprintf(theirs, sizeof theirs, "interface number %d", CEBUS_PLUGIN_ABI + 1);
    snprintf(ours, sizeof ours, "this library %d", CEBUS_PLUGIN_ABI);
    REFUSED("oldabi", "libcebus_oldabi.so", theirs, ours);
    REFUSED("other", "belongs to cebus 9.8.7", cebus_version());
    REFUSED("noentry", "libcebus_noentry.so", "is none of cebus", CEBUS_PLUGIN_ENTRY_NAME);
    REFUSED("refuses", "there is no driver");
    REFUSED("silent", "libcebus_silent.so", "did not say why");
    REFUSED("misnamed", "libcebus_misnamed.so", "somethingelse");
    REFUSED("unlinked", "libcebus_unlinked.so", "cannot be loaded", "cebus_nowhere");
}

Test(plugin, a_file_that_is_no_library_is_refused)
{
    char folder[] = "/tmp/cebus-plugin-XXXXXX", path[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcebus_text.so", folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("not a library\n", file);
    fclose(file);
    setenv("CEBUS_PLUGIN_PATH", folder, 1);
    REFUSED("text", path, "cannot be loaded");
    unlink(path);
    rmdir(folder);
}

Test(plugin, names_cannot_leave_the_folder)
{
    REFUSED("../../etc/passwd", "no name of a device");
    REFUSED("", "no name of a device");
    REFUSED("Cuda", "no name of a device");
    REFUSED(":1", "no name of a device");
}

Test(plugin, finding_one_leaves_the_last_error)
{
    const cebus_plugin *found;
    cr_assert_eq(cebus_plugin_find("silent", &found), CEBUS_UNSUPPORTED);
    const cebus_error before = *cebus_last_error();
    OK(cebus_plugin_find("good", &found));
    cr_expect_str_eq(cebus_last_error()->message, before.message);
    char runs_on[16];
    OK(found->probe(runs_on, sizeof runs_on));
    cr_expect_str_eq(runs_on, "fakes 1.0");
}

static void *find_good(void *context)
{
    const cebus_plugin **out = context;
    (void)cebus_plugin_find("good", out);
    return NULL;
}

Test(plugin, threads_find_the_same_one)
{
    enum {
        THREADS = 8
    };
    pthread_t threads[THREADS];
    const cebus_plugin *found[THREADS] = {NULL};
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, find_good, &found[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        cr_expect_not_null(found[i]);
        cr_expect_eq(found[i], found[0]);
    }
}

Test(plugin, information_says_why_there_is_no_cuda)
{
    cebus_feature feature;
    setenv("CEBUS_PLUGIN_PATH", "/nonexistent", 1);
    for (size_t i = 0; cebus_feature_at(i, &feature); i++) {
        if (strcmp(feature.name, "CUDA") != 0)
            continue;
        cr_expect_not(feature.present);
        cr_expect_str_eq(feature.version, "");
        cr_expect_not_null(strstr(feature.what, "libcebus_cuda.so; looked in /nonexistent, "), "%s",
                           feature.what);
        return;
    }
    cr_assert_fail("CUDA is not listed");
}
