#include "layout/pack/room.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(pack_room);

enum {
    MOST = 70
};

/** Sections of a part that begins somewhere, with loads up to `limit` - 1. */
typedef struct fixture {
    cebus_pack_memory memory;
    cebus_pack_problem problem;
    cebus_pack_part part;
    cebus_pack_room room;
    uint64_t load[2 * MOST];
    int64_t plain[2 * MOST]; /**< room, by section */
    uint64_t limit;
} fixture;

static void set_up(fixture *f, uint64_t *seed)
{
    *f = (fixture){.limit = 1 + random_below(seed, 200)};
    f->part.section_begin = (uint32_t)random_below(seed, MOST);
    f->part.section_end = f->part.section_begin + 1 + (uint32_t)random_below(seed, MOST);
    for (uint32_t s = f->part.section_begin; s < f->part.section_end; s++) {
        f->load[s] = random_below(seed, f->limit);
        f->plain[s] = (int64_t)(f->limit - 1 - f->load[s]);
    }
    f->problem.load = f->load;
    cebus_pack_memory_init(&f->memory, NULL);
    cr_assert(cebus_pack_room_init(&f->room, MOST, &f->memory));
}

static bool waste_plainly(fixture *f, uint32_t begin, uint32_t end, uint64_t units)
{
    bool good = true;
    for (uint32_t s = begin; s < end; s++) {
        f->plain[s] -= (int64_t)units;
        good &= f->plain[s] >= 0;
    }
    return good;
}

Test(pack_room, says_what_an_array_says)
{
    int ended_late = 0;
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        fixture f;
        uint64_t draw = seed;
        bool good = true;
        set_up(&f, &draw);
        cr_assert(cebus_pack_room_fill(&f.room, &f.problem, &f.part, f.limit));
        uint32_t n = f.part.section_end - f.part.section_begin;
        for (int steps = 0; good; steps++) {
            uint32_t begin = f.part.section_begin + (uint32_t)random_below(&draw, n);
            uint32_t end = begin + 1;
            end += (uint32_t)random_below(&draw, f.part.section_end - begin);
            uint64_t units = random_below(&draw, 3);
            good = waste_plainly(&f, begin, end, units);
            cr_assert_eq(cebus_pack_room_waste(&f.room, begin, end, units), good);
            ended_late += !good && steps > 10;
        }
        cebus_pack_memory_release(&f.memory, NULL);
    }
    cr_expect_gt(ended_late, 500, "many programs take many steps");
}

Test(pack_room, says_at_once_that_the_load_is_too_much)
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        fixture f;
        uint64_t draw = seed;
        set_up(&f, &draw);
        uint32_t n = f.part.section_end - f.part.section_begin;
        f.load[f.part.section_begin + random_below(&draw, n)] = f.limit - 1;
        cr_expect(cebus_pack_room_fill(&f.room, &f.problem, &f.part, f.limit));
        f.load[f.part.section_begin + random_below(&draw, n)] = f.limit;
        cr_expect_not(cebus_pack_room_fill(&f.room, &f.problem, &f.part, f.limit));
        cebus_pack_memory_release(&f.memory, NULL);
    }
}
