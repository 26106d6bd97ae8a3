/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/bag.h"

#include <string.h>

#include "base/alloc.h"

void spmmi_entries_free(spmm_entries_t *list)
{
    spmmi_free(list->entry);
    *list = (spmm_entries_t){0};
}

enum { FIRST_PIECES = 16 };

bool spmmi_bag_must_be_wide(int64_t rows, int64_t cols, int parts)
{
    const int64_t most = (int64_t)UINT32_MAX + 1;

    return rows > most || cols > most / parts;
}

void spmmi_piece_free(spmm_piece_t *piece)
{
    spmmi_free(piece->block);
    *piece = (spmm_piece_t){0};
}

void spmmi_bag_free(spmm_bag_t *bag)
{
    for (int64_t p = 0; p < bag->n; p++) {
        spmmi_piece_free(&bag->piece[p]);
    }
    spmmi_free(bag->piece);
    *bag = (spmm_bag_t){.wide = bag->wide, .complex = bag->complex};
}

spmm_status_t spmmi_bag_add(spmm_error_t *err, spmm_bag_t *bag, spmm_piece_t piece)
{
    if (bag->n == bag->room) {
        const int64_t room  = bag->room < FIRST_PIECES ? FIRST_PIECES : 2 * bag->room;
        spmm_piece_t *grown = spmmi_realloc(bag->piece, room, sizeof *grown);

        if (grown == NULL) {
            return spmmi_fail_memory(err, room, sizeof *grown, "pieces of matrix entries");
        }
        bag->piece = grown;
        bag->room  = room;
    }
    bag->piece[bag->n++] = piece;
    bag->count += piece.count;
    return SPMM_OK;
}

spmm_status_t spmmi_bag_take(spmm_error_t *err, spmm_bag_t *bag, spmm_bag_t *from)
{
    for (int64_t p = 0; p < from->n; p++) {
        SPMM_TRY(spmmi_bag_add(err, bag, from->piece[p]));
        from->piece[p] = (spmm_piece_t){0};
    }
    spmmi_bag_free(from);
    return SPMM_OK;
}

static spmm_status_t begin_piece(spmm_error_t *err, spmm_bag_t *bag, int64_t count,
                                 int64_t capacity)
{
    const size_t  size  = spmmi_bag_entry_size(bag);
    spmm_piece_t  piece = {.count = count, .capacity = capacity};
    spmm_status_t status;

    piece.data = piece.block = spmmi_alloc(capacity, size);
    if (piece.block == NULL) {
        return spmmi_fail_memory(err, capacity, size, "matrix entries");
    }
    status = spmmi_bag_add(err, bag, piece);
    if (status != SPMM_OK) {
        spmmi_free(piece.block);
    }
    return status;
}

spmm_status_t spmmi_bag_grow(spmm_error_t *err, spmm_bag_t *bag, int64_t count)
{
    return begin_piece(err, bag, count, count);
}

void spmmi_bag_pack(const spmm_bag_t *bag, spmm_entry_t *entry, int64_t count)
{
    for (int64_t k = 0; k < count && !bag->wide; k++) {
        const spmm_packed_t packed = {
            .row = (uint32_t)entry[k].row, .col = (uint32_t)entry[k].col, .value = entry[k].value};

        memcpy((char *)entry + (size_t)k * sizeof packed, &packed, sizeof packed);
    }
}

spmm_status_t spmmi_bag_put(spmm_error_t *err, spmm_bag_t *bag, const void *entries, int64_t count,
                            int64_t capacity)
{
    const size_t size = spmmi_bag_entry_size(bag);
    const char  *from = entries;

    while (count > 0) {
        spmm_piece_t *piece = bag->n == 0 ? NULL : &bag->piece[bag->n - 1];
        int64_t       part;

        if (piece == NULL || piece->count == piece->capacity) {
            SPMM_TRY(begin_piece(err, bag, 0, capacity));
            piece = &bag->piece[bag->n - 1];
        }
        part = piece->capacity - piece->count;
        part = part < count ? part : count;
        memcpy((char *)piece->data + (size_t)piece->count * size, from, (size_t)part * size);
        piece->count += part;
        bag->count += part;
        from += (size_t)part * size;
        count -= part;
    }
    return SPMM_OK;
}
