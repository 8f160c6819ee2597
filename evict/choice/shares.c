#include "evict/choice/shares.h"

#include "layout/clones.h"

/** What rows cost that go, or move. */
CEBUS_CLONES
static void lay_prices(const cebus_board *board, double move_byte, double move_row,
                       const cebus_shares *to)
{
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    double *restrict paid = board->scratch.paid, *restrict moved = board->scratch.moved;
    uint8_t *restrict yields = board->scratch.yields;
    const double dearest = to->dearest;
    const uint32_t end = to->to;
    for (uint32_t row = to->from; row < end; row++) {
        bool goes = rates[row] <= dearest * widths[row];
        double rate = goes ? rates[row] : 0, move = move_byte * widths[row] + move_row;
        paid[row] = rate > 0 ? rate : 0; /* what is free has less */
        moved[row] = goes ? 0 : move;
        yields[row] = goes;
    }
}

static void lay_bytes(const cebus_board *board, uint32_t from, uint32_t to)
{
    const cebus_board_scratch lay = board->scratch;
    const uint64_t *offsets = board->offsets;
    uint64_t gained = 0, evicted = 0;
    lay.gained[from] = lay.evicted[from] = 0;
    for (uint32_t row = from; row < to; row++) {
        uint64_t bytes = (offsets[row + 1] - offsets[row]) & -(uint64_t)lay.yields[row];
        gained += bytes;
        evicted += bytes & -(uint64_t)(board->states[row] != CEBUS_BLOCK_FREE);
        lay.gained[row + 1] = gained;
        lay.evicted[row + 1] = evicted;
    }
}

void cebus_shares_lay_part(cebus_board *board, double dearest, double move_byte, double move_row,
                           uint32_t from, uint32_t to, cebus_shares *out)
{
    const cebus_board_scratch lay = board->scratch;
    *out = (cebus_shares){.dearest = dearest,
                          .from = from,
                          .to = to,
                          .yields = lay.yields,
                          .paid = lay.paid,
                          .moved = lay.moved,
                          .gained = lay.gained,
                          .evicted = lay.evicted};
    lay_prices(board, move_byte, move_row, out);
    lay_bytes(board, from, to);
}

void cebus_shares_lay(cebus_board *board, double dearest, double move_byte, double move_row,
                      cebus_shares *out)
{
    cebus_shares_lay_part(board, dearest, move_byte, move_row, 0, board->count, out);
}
