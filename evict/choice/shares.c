#include "evict/choice/shares.h"

#include "layout/clones.h"

CEBUS_CLONES
static uint64_t sum_gained(const cebus_board *board, double dearest)
{
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    const uint64_t *restrict offsets = board->offsets;
    const uint32_t count = board->count;
    uint64_t gained = 0;
    for (uint32_t row = 0; row < count; row++)
        gained += rates[row] <= dearest * widths[row] ? offsets[row + 1] - offsets[row] : 0;
    return gained;
}

uint64_t cebus_shares_gained(const cebus_board *board, double dearest)
{
    return sum_gained(board, dearest);
}

/** What rows cost that go, or move. */
CEBUS_CLONES
static void lay_prices(const cebus_board *board, double dearest, double move_byte, double move_row)
{
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    double *restrict paid = board->scratch.paid, *restrict moved = board->scratch.moved;
    uint8_t *restrict yields = board->scratch.yields;
    const uint32_t count = board->count;
    for (uint32_t row = 0; row < count; row++) {
        bool goes = rates[row] <= dearest * widths[row];
        double rate = goes ? rates[row] : 0, move = move_byte * widths[row] + move_row;
        paid[row] = rate > 0 ? rate : 0; /* what is free has less */
        moved[row] = goes ? 0 : move;
        yields[row] = goes;
    }
}

void cebus_shares_lay(cebus_board *board, double dearest, double move_byte, double move_row,
                      cebus_shares *out)
{
    const cebus_board_scratch lay = board->scratch;
    const uint64_t *offsets = board->offsets;
    const uint32_t count = board->count;
    uint64_t gained = 0, evicted = 0;
    lay_prices(board, dearest, move_byte, move_row);
    lay.gained[0] = lay.evicted[0] = 0;
    for (uint32_t row = 0; row < count; row++) {
        uint64_t bytes = (offsets[row + 1] - offsets[row]) & -(uint64_t)lay.yields[row];
        gained += bytes;
        evicted += bytes & -(uint64_t)(board->states[row] != CEBUS_BLOCK_FREE);
        lay.gained[row + 1] = gained;
        lay.evicted[row + 1] = evicted;
    }
    *out = (cebus_shares){.dearest = dearest,
                          .gained_in_all = gained,
                          .yields = lay.yields,
                          .paid = lay.paid,
                          .moved = lay.moved,
                          .gained = lay.gained,
                          .evicted = lay.evicted};
}
