/* test_info: what a build says of itself. */
#include <cebus/info.h>
#include <cebus/runtime.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(info, version_has_three_numbers)
{
    int major, minor, patch;
    char rest;
    cr_assert_eq(sscanf(cebus_version(), "%d.%d.%d%c", &major, &minor, &patch, &rest), 3);
}

Test(info, features_have_names_and_say_what_they_are)
{
    cebus_feature feature;
    size_t n = 0;
    bool onednn = false, cuda = false;
    for (; cebus_feature_at(n, &feature); n++) {
        cr_assert_neq(feature.name[0], '\0');
        cr_assert_neq(feature.what[0], '\0');
        cr_assert_eq(feature.present, feature.version[0] != '\0', "%s", feature.name);
        onednn = onednn || strcmp(feature.name, "oneDNN") == 0;
        cuda = cuda || strcmp(feature.name, "CUDA") == 0;
    }
    cr_assert(onednn && cuda);
    cr_assert_not(cebus_feature_at(n, &feature));
    cr_assert_not(cebus_feature_at(SIZE_MAX, &feature));
    cr_assert_not(cebus_feature_at(0, NULL));
}

Test(info, every_device_opens_by_its_name)
{
    char name[64];
    size_t i = 0;
    for (; cebus_device_name(i) != NULL; i++) {
        cebus_runtime *rt;
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        bool sim = strcmp(cebus_device_name(i), "sim") == 0;
        snprintf(name, sizeof name, "%s%s%s", cebus_device_name(i), sim ? ":" : "",
                 sim ? cebus_machine_name(0) : "");
        options.device = name;
        options.memory_budget = 1 << 20;
        cr_assert_eq(cebus_runtime_create(&options, &rt), CEBUS_OK, "%s", name);
        cebus_runtime_destroy(rt);
    }
    cr_assert_geq(i, 2);
    cr_assert_null(cebus_device_name(i));
    cr_assert_null(cebus_device_name(SIZE_MAX));
}
