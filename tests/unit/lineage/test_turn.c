/** Where a program turned back. */
#include <criterion/criterion.h>

#include "lineage/turn.h"

static cebus_turn turn;
static uint64_t made;

/** Each of so many calls holds bytes more, and lets go of others afterwards. */
static void run(int calls, uint64_t more, uint64_t less)
{
    for (int i = 0; i < calls; i++) {
        if (more > 0)
            cebus_turn_hold(&turn, more, made);
        made++;
        if (less > 0)
            cebus_turn_let_go(&turn, less, made);
    }
}

static void rise(void)
{
    run(100, 8, 0);
}

TestSuite(turn, .init = rise);

Test(turn, is_where_most_was_held)
{
    cr_expect_eq(turn.serial, 100);
    run(90, 0, 8);
    cr_expect_eq(turn.serial, 100);
}

/** Gradients that come may be as large as what goes for them. */
Test(turn, stays_while_as_much_comes_as_goes)
{
    run(20, 0, 2);
    run(50, 2, 0);
    cr_expect_gt(turn.held, turn.most);
    cr_expect_eq(turn.serial, 100);
}

Test(turn, moves_where_the_rise_goes_on_after_a_pause)
{
    run(10, 0, 8);
    run(20, 80, 0);
    cr_expect_eq(turn.serial, 130);
}

Test(turn, moves_where_much_more_is_held)
{
    run(50, 0, 0);
    cr_expect_eq(turn.serial, 100);
    run(20, 8, 0);
    cr_expect_eq(turn.serial, 170);
}

Test(turn, comes_anew_once_half_was_let_go)
{
    run(100, 0, 8);
    run(40, 8, 0);
    cr_expect_eq(turn.serial, 240);
}

/** Each of so many calls makes bytes that somebody holds. */
static void make(int calls, uint64_t bytes)
{
    for (int i = 0; i < calls; i++) {
        cebus_turn_hold(&turn, bytes, made);
        cebus_turn_make(&turn, bytes, ++made);
    }
}

/** Nobody holds them any more. */
static void let_go(int calls, uint64_t bytes, uint64_t first)
{
    for (int i = 0; i < calls; i++) {
        cebus_turn_unmake(&turn, bytes, first + (uint64_t)i);
        cebus_turn_let_go(&turn, bytes, made);
    }
}

static void begin_with_leaves(uint64_t bytes)
{
    turn = (cebus_turn){0};
    made = 0;
    cebus_turn_hold(&turn, bytes, made);
}

Test(turn, counts_what_waits)
{
    begin_with_leaves(30);
    make(100, 8);
    let_go(50, 8, 1);
    cr_expect_eq(turn.waited, 30);
    make(20, 5);
    cr_expect_eq(turn.serial, 100);
    cr_expect_eq(turn.late, 100);
    let_go(10, 5, 101);
    cr_expect_eq(turn.late, 50);
    cr_expect_eq(turn.waited, 130);
}

Test(turn, begins_anew_to_count_what_waits)
{
    begin_with_leaves(30);
    make(100, 8);
    let_go(50, 8, 1);
    make(20, 5);
    let_go(50, 8, 51);
    let_go(20, 5, 101);
    cr_expect_eq(turn.waited, 130);
    make(100, 8);
    cr_expect_eq(turn.serial, 220);
    cr_expect_eq(turn.late, 0);
    cr_expect_eq(turn.waited, 30);
}
