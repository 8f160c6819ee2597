#include "shapes.h"

#include <math.h>
#include <stdbool.h>

#include "random.h"

/* A shape and where it lies; lengths are in pixels. */
struct shape {
    int32_t kind;
    double x, y, radius;
    double inside[3], outside[3]; /* colours */
};

/* Whether the shape covers (x, y), in radii from its centre. */
static bool covers(int32_t kind, double x, double y)
{
    double box = fmax(fabs(x), fabs(y));
    switch (kind) {
    case 0:
        return hypot(x, y) < 1;
    case 1:
        return fabs(hypot(x, y) - 0.75) < 0.25;
    case 2:
        return box < 0.9;
    case 3:
        return fabs(box - 0.7) < 0.2;
    case 4:
        return box < 1 && fmin(fabs(x), fabs(y)) < 0.3;
    case 5:
        return fabs(y) < 0.9 && fabs(x) < 0.5 * (y + 0.9);
    case 6:
        return box < 1 && fmod(y + 1, 0.8) < 0.4;
    default:
        return box < 1 && fmod(x + 1, 0.8) < 0.4;
    }
}

static struct shape choose_shape(struct random *random, int64_t side)
{
    struct shape shape;
    shape.kind = (int32_t)(SHAPE_KINDS * random_next(random));
    shape.radius = (0.2 + 0.2 * random_next(random)) * (double)side;
    shape.x = shape.radius + ((double)side - 2 * shape.radius) * random_next(random);
    shape.y = shape.radius + ((double)side - 2 * shape.radius) * random_next(random);
    for (int c = 0; c < 3; c++) {
        shape.inside[c] = random_next(random) - 0.5;
        shape.outside[c] = random_next(random) - 0.5;
    }
    return shape;
}

int32_t shape_draw(uint64_t seed, uint64_t index, int64_t side, float *out)
{
    struct random random = random_stream(seed, index);
    struct shape shape = choose_shape(&random, side);
    for (int64_t i = 0; i < side * side; i++) {
        int64_t column = i % side, row = i / side;
        double x = ((double)column + 0.5 - shape.x) / shape.radius;
        double y = ((double)row + 0.5 - shape.y) / shape.radius;
        const double *colour = covers(shape.kind, x, y) ? shape.inside : shape.outside;
        for (int c = 0; c < 3; c++)
            out[c * side * side + i] = (float)(colour[c] + 0.4 * (random_next(&random) - 0.5));
    }
    return shape.kind;
}
