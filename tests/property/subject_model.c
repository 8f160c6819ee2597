#include <string.h>

#include "tests/property/subject.h"
#include "tests/support/models.h"

/** "NAME+drawn" is the model of that name, drawn on the device. */
static void *create(cebus_runtime *rt, const char *name, uint64_t seed)
{
    char model[32] = "";
    size_t length = strcspn(name, "+");
    if (length < sizeof model)
        memcpy(model, name, length);
    const cebus_model_config config = {.seed = seed, .drawn = strcmp(name + length, "+drawn") == 0};
    return cebus_model_create(rt, model, &config);
}

static cebus_status step(void *self, size_t i, cebus_record *record)
{
    float loss = 0;
    (void)i;
    cebus_status status = cebus_model_step(self, &loss);
    if (status == CEBUS_OK)
        cebus_record_bytes(record, &loss, sizeof loss);
    cebus_status marked =
        cebus_iteration_mark(cebus_tensor_runtime(cebus_model_parameter(self, 0)));
    return status == CEBUS_OK ? marked : status;
}

static cebus_status finish(void *self, cebus_record *record)
{
    uint64_t hash = 0;
    cebus_status status = cebus_model_hash(self, &hash);
    if (status == CEBUS_OK)
        cebus_record_number(record, hash);
    return status;
}

static cebus_tensor *leaf(void *self, size_t i)
{
    return cebus_model_parameter(self, i);
}

static void destroy(void *self)
{
    cebus_model_destroy(self);
}

const cebus_subject cebus_subject_model = {
    .create = create,
    .step = step,
    .finish = finish,
    .leaf = leaf,
    .destroy = destroy,
};
