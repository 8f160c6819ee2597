/** Whether rebuilds have room beside what waits. */
#include <criterion/criterion.h>

#include "eager/rebuild/headroom.h"
#include "eager/tensor.h"
#include "program.h"

TestSuite(headroom);

enum {
    N = 1 << 12,
    MAP = N * 4,
    LAYERS = 12,
    WAITING = 4
};

/** Forward through layers, the last of which reads the first map again; then some maps go, and
 * gradients wait. The first of them still counts as the turn's. */
typedef struct there {
    cebus_runtime *rt;
    cebus_tensor *x[LAYERS + 1], *loss, *g[WAITING];
} there;

static void forward(there *t)
{
    for (int i = 0; i < LAYERS - 1; i++)
        OK(cebus_tanh(t->rt, t->x[i], &t->x[i + 1]));
    OK(cebus_mul(t->rt, t->x[LAYERS - 1], t->x[1], &t->x[LAYERS]));
    OK(cebus_exp(t->rt, t->x[LAYERS], &t->loss));
}

static there begin(uint64_t maps)
{
    there t = {.rt = open_runtime(maps * MAP, "dtr", 0)};
    t.x[0] = leaf(t.rt, N, 0.75F);
    forward(&t);
    for (int i = LAYERS - WAITING; i <= LAYERS; i++)
        cebus_tensor_release(t.x[i]);
    for (int way = 0; way < WAITING; way++)
        OK(cebus_exp(t.rt, t.x[0], &t.g[way]));
    t.rt->stats.recompute_ns = t.rt->stats.compute_ns;
    return t;
}

static void end(there *t)
{
    for (int i = 0; i < LAYERS - WAITING; i++)
        cebus_tensor_release(t->x[i]);
    for (int way = 0; way < WAITING; way++)
        cebus_tensor_release(t->g[way]);
    cebus_tensor_release(t->loss);
    cebus_runtime_destroy(t->rt);
}

/** What a layer reads and makes, and the first map, which the last layer reads. */
Test(headroom, measures_the_widest_step)
{
    there t = begin(4 * LAYERS);
    cebus_headroom_measure(t.rt);
    cr_expect_eq(t.rt->headroom.turn, t.rt->lineage.turn.serial);
    cr_expect_eq(t.rt->headroom.step, 3 * MAP);
    cr_expect(cebus_headroom_suffices(t.rt));
    end(&t);
}

/** What reads the first map late makes nothing that anybody needs. */
Test(headroom, looks_at_what_is_still_needed)
{
    there t = begin(4 * LAYERS);
    cebus_tensor_release(t.loss);
    cebus_headroom_measure(t.rt);
    cr_expect_eq(t.rt->headroom.step, 2 * MAP);
    t.loss = vector(t.rt, N, 0);
    end(&t);
}

/** For a leaf, three gradients and three maps. */
Test(headroom, has_room_from_what_waits_and_the_step_on)
{
    for (uint64_t maps = 6; maps <= 7; maps++) {
        there t = begin(maps);
        cebus_headroom_measure(t.rt);
        cr_expect_eq(cebus_headroom_suffices(t.rt), maps == 7, "%d", (int)maps);
        end(&t);
    }
}

/** What waited on the way back before will wait again. */
Test(headroom, remembers_the_way_back_before)
{
    there t = begin(4 * LAYERS);
    cebus_headroom_measure(t.rt);
    uint64_t most = t.rt->headroom.most;
    cr_expect_geq(most, 7 * MAP);
    for (int way = 0; way < WAITING; way++)
        cebus_tensor_release(t.g[way]);
    for (int i = 1; i < LAYERS - WAITING; i++)
        cebus_tensor_release(t.x[i]);
    cebus_tensor_release(t.loss);
    forward(&t);
    cebus_tensor_release(t.x[LAYERS]);
    cebus_tensor_release(t.x[LAYERS - 1]);
    OK(cebus_exp(t.rt, t.x[0], &t.x[LAYERS - 1]));
    cebus_headroom_measure(t.rt);
    cr_expect_lt(t.rt->headroom.most, most);
    cr_expect_eq(t.rt->headroom.before, most);
    for (int way = 0; way < WAITING; way++)
        t.g[way] = t.x[LAYERS - WAITING + way];
    end(&t);
}

/** What stayed so far stays where a little is missing later. */
Test(headroom, does_not_waver)
{
    there t = begin(4 * LAYERS);
    cebus_headroom_measure(t.rt);
    t.rt->headroom.most = t.rt->arena.limit + t.rt->arena.limit / 10;
    cr_expect(cebus_headroom_suffices(t.rt));
    t.rt->headroom.has_room = false;
    cr_expect_not(cebus_headroom_suffices(t.rt));
    end(&t);
}

Test(headroom, is_not_measured_without_strain)
{
    there t = begin(4 * LAYERS);
    t.rt->stats.recompute_ns = t.rt->stats.compute_ns / 4;
    cebus_headroom_measure(t.rt);
    cr_expect_eq(t.rt->headroom.turn, 0);
    cr_expect_not(cebus_headroom_suffices(t.rt));
    end(&t);
}
