/*
 * Steps by which bytes get several names, or stay where somebody outside sees them: data that is
 * shared, bytes that are handed out, loaded and brought back.
 */
#include "tests/property/program.h"

/** What a parameter may show: its elements are written in place for good. */
static bool is_dense_like(const cebus_view *view, const cebus_view *like)
{
    int64_t stride = 1;
    for (int d = view->ndim - 1; d >= 0; d--) {
        if (view->strides[d] != stride)
            return false;
        stride *= view->shape[d];
    }
    return cebus_program_is_like(view, like);
}

/** A tensor, sometimes a parameter, shows what another shows. */
static cebus_status run_set_data(cebus_program *p)
{
    bool of_parameter = cebus_program_once_in(p, 3);
    cebus_tensor *x = of_parameter ? cebus_program_parameter(p) : cebus_program_float(p);
    cebus_tensor *y = cebus_program_find(p, of_parameter ? is_dense_like : cebus_program_is_like,
                                         cebus_tensor_view(x));
    if (y == NULL && !of_parameter)
        y = cebus_program_any(p);
    return y == NULL || cebus_program_is_mapped(p, x) ? CEBUS_OK : cebus_tensor_set_data(x, y);
}

static cebus_status run_straighten(cebus_program *p)
{
    return cebus_tensor_straighten(cebus_program_any(p));
}

/** Bytes handed out must stay where they are and follow writes until they are given back. */
static cebus_status run_map(cebus_program *p)
{
    cebus_tensor *x = cebus_program_any(p);
    cebus_program_map *map = &p->maps[cebus_program_draw(p, CEBUS_PROGRAM_MAPS)];
    if (cebus_program_far)
        return CEBUS_OK;
    if (map->tensor != NULL) {
        if (cebus_tensor_is_contiguous(map->tensor))
            cebus_record_bytes(p->record, map->bytes,
                               (size_t)cebus_tensor_numel(map->tensor) *
                                   cebus_dtype_size(cebus_tensor_dtype(map->tensor)));
        cebus_tensor_unmap(map->tensor);
        cebus_tensor_release(map->tensor);
        map->tensor = NULL;
        return CEBUS_OK;
    }
    cebus_status status = cebus_tensor_map(x, &map->bytes);
    if (status == CEBUS_OK)
        map->tensor = cebus_tensor_retain(x);
    return status;
}

/** New bytes from the host for what was computed, or for part of it. */
static cebus_status run_store(cebus_program *p)
{
    float data[8 * CEBUS_PROGRAM_SIDE * CEBUS_PROGRAM_SIDE];
    cebus_tensor *x = cebus_program_float(p);
    size_t n = (size_t)cebus_tensor_numel(x);
    if (cebus_tensor_dtype(x) != CEBUS_F32 || n * sizeof *data > sizeof data)
        return CEBUS_OK;
    for (size_t i = 0; i < n; i++)
        data[i] = (float)cebus_program_draw(p, 1000) / 1000;
    return cebus_tensor_set_from_host(x, data, n * sizeof *data);
}

/** A buffer that a program makes on its way. */
static cebus_status run_persist(cebus_program *p)
{
    return cebus_tensor_set_persistent(cebus_program_any(p));
}

static cebus_status run_restore(cebus_program *p)
{
    cebus_tensor *both[3] = {cebus_program_any(p), NULL, cebus_program_any(p)};
    return cebus_tensors_restore(both, 3);
}

const cebus_program_op cebus_program_share[] = {
    {"set_data", 4, run_set_data},
    {"straighten", 1, run_straighten},
    {"map", 4, run_map},
    {"store", 2, run_store},
    {"persist", 1, run_persist},
    {"restore", 1, run_restore},
    {NULL, 0, NULL},
};
