#include "eager/device/cuda/conv_point.h"

#include "eager/device/cuda/blas.h"
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/parts.h"
#include "eager/view.h"
#include "layout/number.h"

/* A weight is a sum over all pixels, and often a small matrix: with fewer tiles than these the sum
 * is cut into slices, of so many pixels at least, that are added in order. */
#define TILE 128
#define TILES 264
#ifdef CEBUS_CUDA_HOST /* tests see slices of small images */
#define SLICE_PIXELS 3
#else
#define SLICE_PIXELS 512
#endif

bool cebus_cuda_conv_is_point(const cebus_cuda_conv_key *key)
{
    const cebus_conv_shape *s = &key->shape;
    bool is_point = s->groups == 1;
    for (int i = 0; i < 2; i++)
        is_point = is_point && s->kernel[i] == 1 && s->padding[i] == 0;
    return is_point;
}

/* ---- plan -------------------------------------------------------------------------------- */

static int64_t tiles(int64_t length)
{
    return cebus_ceil_div(length, TILE);
}

/* As many as are worth it, and divide the pixels evenly. */
static int64_t slices_of(const cebus_conv_shape *s, int64_t pixels)
{
    int64_t most = TILES / (tiles(s->image_channels) * tiles(s->output_channels));
    most = most < pixels / SLICE_PIXELS ? most : pixels / SLICE_PIXELS;
    while (most > 1 && pixels % most != 0)
        most--;
    return most > 1 ? most : 1;
}

static cebus_cuda_operand matrix(int64_t rows, int64_t cols)
{
    return (cebus_cuda_operand){.rows = rows,
                                .cols = cols,
                                .row_stride = cols,
                                .col_stride = 1,
                                .batch_stride = {rows * cols},
                                .align = CEBUS_CUDA_USEFUL_ALIGNMENT};
}

static void plan_product(const cebus_cuda_conv_key *key, cebus_cuda_conv_point *p)
{
    const cebus_conv_shape *s = &key->shape;
    const int64_t rows = p->pixels / p->slices;
    const cebus_cuda_operand image = matrix(rows, s->image_channels);
    const cebus_cuda_operand output = matrix(rows, s->output_channels);
    const cebus_cuda_operand weight = matrix(s->output_channels, s->image_channels);
    const cebus_cuda_operand weight_turned = cebus_cuda_operand_transpose(&weight);
    const cebus_cuda_operand output_turned = cebus_cuda_operand_transpose(&output);
    cebus_cuda_factors f = {.dtype = (cebus_dtype)key->dtype, .ndim = 1, .shape = {p->slices}};
    if (key->way == CEBUS_CUDA_CONV_OUTPUT) {
        f.c = output;
        cebus_cuda_product_init(&p->product, &f, &image, &weight_turned);
    } else if (key->way == CEBUS_CUDA_CONV_IMAGE) {
        f.c = image;
        cebus_cuda_product_init(&p->product, &f, &output, &weight);
    } else {
        f.c = weight;
        if (p->slices > 1)
            f.result = cebus_cuda_parts_dtype(f.dtype);
        cebus_cuda_product_init(&p->product, &f, &output_turned, &image);
    }
    p->product.gemm.tf32 = key->tf32;
}

cebus_status cebus_cuda_conv_point_plan(const cebus_launch *launch, const char *op,
                                        const cebus_cuda_conv_key *key, cebus_cuda_scratch *scratch,
                                        cebus_cuda_conv_point *p)
{
    const cebus_conv_shape *s = &key->shape;
    const uint64_t size = cebus_dtype_size((cebus_dtype)key->dtype);
    const bool is_weight = key->way == CEBUS_CUDA_CONV_WEIGHT;
    cebus_cuda_blas_info info;
    *p = (cebus_cuda_conv_point){.pixels = s->batch * s->output[0] * s->output[1], .slices = 1};
    p->packs = s->image[0] != s->output[0] || s->image[1] != s->output[1];
    if (is_weight)
        p->slices = slices_of(s, p->pixels);
    plan_product(key, p);
    if (p->packs)
        p->packed =
            cebus_cuda_scratch_take(scratch, (uint64_t)(p->pixels * s->image_channels) * size);
    if (p->slices > 1)
        p->parts = cebus_cuda_scratch_take(
            scratch, (uint64_t)(p->slices * s->output_channels * s->image_channels) *
                         cebus_dtype_size(cebus_cuda_parts_dtype((cebus_dtype)key->dtype)));
    cebus_status status = cebus_cuda_blas_query(cebus_cuda_of(launch), op, &p->product.gemm, &info);
    p->workspace = cebus_cuda_scratch_take(scratch, status == CEBUS_OK ? info.workspace : 0);
    return status;
}

/* ---- run --------------------------------------------------------------------------------- */

/* The pixels of the image that windows see, where they are. */
static cebus_view seen(const cebus_cuda_conv_key *key)
{
    const cebus_conv_shape *s = &key->shape;
    const int64_t whole[] = {s->batch, s->image_channels, s->image[0], s->image[1]};
    cebus_view view;
    cebus_view_channels_last(&view, (cebus_dtype)key->dtype, whole);
    for (int i = 0; i < 2; i++) {
        view.shape[2 + i] = s->output[i];
        view.strides[2 + i] *= s->stride[i];
    }
    return view;
}

static void pack(const cebus_launch *launch, const cebus_cuda_conv_key *key,
                 const cebus_cuda_conv_point *p, void *image)
{
    const cebus_view view = seen(key);
    cebus_view dense;
    cebus_view_channels_last(&dense, view.dtype, view.shape);
    const cebus_array in_place = {.data = image, .view = &view};
    const cebus_array packed = {.data = p->packed, .view = &dense};
    if (key->way == CEBUS_CUDA_CONV_IMAGE)
        cebus_cuda_copy(launch, &in_place, &packed);
    else
        cebus_cuda_copy(launch, &packed, &in_place);
}

static void clear(const cebus_launch *launch, const cebus_cuda_conv_key *key, void *image)
{
    const cebus_conv_shape *s = &key->shape;
    const int64_t numel = s->batch * s->image_channels * s->image[0] * s->image[1];
    cebus_view view;
    cebus_view_contiguous(&view, (cebus_dtype)key->dtype, 1, &numel);
    const cebus_array all = {.data = image, .view = &view};
    cebus_cuda_fill(launch, &all, 0);
}

static cebus_status multiply(const cebus_launch *launch, const char *op,
                             const cebus_cuda_conv_key *key, const cebus_cuda_conv_point *p,
                             const cebus_cuda_conv_data *data)
{
    void *image = p->packs ? p->packed : data->image;
    cebus_cuda_blas_batch call = {.product = &p->product, .alpha = 1, .workspace = p->workspace};
    call.a = key->way == CEBUS_CUDA_CONV_OUTPUT ? image : data->output;
    call.b = key->way == CEBUS_CUDA_CONV_WEIGHT ? image : data->weight;
    call.c = key->way == CEBUS_CUDA_CONV_IMAGE ? image : data->output;
    if (key->way == CEBUS_CUDA_CONV_WEIGHT)
        call.c = p->slices > 1 ? p->parts : data->weight;
    return cebus_cuda_blas_run_all(cebus_cuda_of(launch), op, &call);
}

cebus_status cebus_cuda_conv_point_run(const cebus_launch *launch, const char *op,
                                       const cebus_cuda_conv_key *key,
                                       const cebus_cuda_conv_point *p,
                                       const cebus_cuda_conv_data *data)
{
    const cebus_conv_shape *s = &key->shape;
    const bool writes_image = key->way == CEBUS_CUDA_CONV_IMAGE;
    if (p->packs && !writes_image)
        pack(launch, key, p, data->image);
    cebus_status status = cebus_cuda_launched(op);
    if (status == CEBUS_OK)
        status = multiply(launch, op, key, p, data);
    if (status != CEBUS_OK)
        return status;
    if (p->packs && writes_image) {
        clear(launch, key, data->image);
        pack(launch, key, p, data->image);
    }
    if (p->slices > 1)
        cebus_cuda_add_parts(launch, p->parts, p->slices, data->weight, (cebus_dtype)key->dtype,
                             s->output_channels * s->image_channels);
    return cebus_cuda_launched(op);
}
