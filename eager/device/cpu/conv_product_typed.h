/**
 * conv_product_typed.h: patches of an image gathered and scattered, for one element type.
 * conv_product.c includes it with REAL and NAME(x) defined.
 */

/** The patch under pixel `p` of the output: patch[channel][tap], zeros outside the image. */
static void NAME(gather)(const product *d, int64_t p, void *out_patch)
{
    int64_t channels = d->s->image_channels;
    for (int64_t tap = 0; tap < d->taps; tap++) {
        int64_t from = pixel_under(d->s, p, tap);
        const REAL *restrict pixel =
            from < 0 ? NULL : (const REAL *)d->job->image.data + from * channels;
        REAL *restrict patch = (REAL *)out_patch + tap;
        for (int64_t c = 0; c < channels; c++)
            patch[c * d->taps] = pixel ? pixel[c] : 0;
    }
}

/** Adds a patch to the image. */
static void NAME(scatter)(const product *d, int64_t p, const void *in_patch)
{
    int64_t channels = d->s->image_channels;
    for (int64_t tap = 0; tap < d->taps; tap++) {
        int64_t to = pixel_under(d->s, p, tap);
        if (to < 0)
            continue;
        REAL *restrict pixel = (REAL *)d->job->image.data + to * channels;
        const REAL *restrict patch = (const REAL *)in_patch + tap;
        for (int64_t c = 0; c < channels; c++)
            pixel[c] += patch[c * d->taps];
    }
}

/** Sets `pixels` pixels of `channels` channels to the bias, or zeros. */
static void NAME(fill)(const product *d, void *out_pixels, int64_t pixels, int64_t channels)
{
    const REAL *restrict bias = d->job->bias.view ? d->job->bias.data : NULL;
    for (int64_t p = 0; p < pixels; p++) {
        REAL *restrict pixel = (REAL *)out_pixels + p * channels;
        for (int64_t c = 0; c < channels; c++)
            pixel[c] = bias ? bias[c] : 0;
    }
}

#undef REAL
#undef NAME
