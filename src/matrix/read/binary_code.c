/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "matrix/read/binary.h"

static const bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static uint64_t load(const unsigned char *bytes, int width, bool big_endian)
{
    uint32_t narrow;
    uint64_t wide;

    if (width == (int)sizeof narrow) {
        memcpy(&narrow, bytes, sizeof narrow);
        return big_endian == host_is_big ? narrow : __builtin_bswap32(narrow);
    }
    memcpy(&wide, bytes, sizeof wide);
    return big_endian == host_is_big ? wide : __builtin_bswap64(wide);
}

static void store(uint64_t wide, int width, bool big_endian, unsigned char *bytes)
{
    uint32_t narrow = (uint32_t)wide;

    if (width == (int)sizeof narrow) {
        narrow = big_endian == host_is_big ? narrow : __builtin_bswap32(narrow);
        memcpy(bytes, &narrow, sizeof narrow);
    } else {
        wide = big_endian == host_is_big ? wide : __builtin_bswap64(wide);
        memcpy(bytes, &wide, sizeof wide);
    }
}

int64_t spmmi_binary_decode(const unsigned char *bytes, int width, bool big_endian)
{
    const uint64_t x = load(bytes, width, big_endian);

    return width == (int)sizeof(int32_t) ? (int64_t)(int32_t)(uint32_t)x : (int64_t)x;
}

void spmmi_binary_encode(int64_t value, int width, bool big_endian, unsigned char *bytes)
{
    store((uint64_t)value, width, big_endian, bytes);
}

double spmmi_binary_decode_real(const unsigned char *bytes, int width, bool big_endian)
{
    const uint64_t x = load(bytes, width, big_endian);
    const uint32_t y = (uint32_t)x;
    double         wide;
    float          narrow;

    if (width == (int)sizeof narrow) {
        memcpy(&narrow, &y, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, &x, sizeof wide);
    return wide;
}

void spmmi_binary_encode_real(double value, int width, bool big_endian, unsigned char *bytes)
{
    const float narrow = (float)value;
    uint32_t    y;
    uint64_t    x;

    if (width == (int)sizeof narrow) {
        memcpy(&y, &narrow, sizeof y);
        x = y;
    } else {
        memcpy(&x, &value, sizeof x);
    }
    store(x, width, big_endian, bytes);
}

/* The end of @p count numbers from @p at on. */
static bool behind(int64_t at, int64_t count, int width, int64_t *end)
{
    return !__builtin_mul_overflow(count, width, end) && !__builtin_add_overflow(*end, at, end);
}

bool spmmi_binary_place(spmm_binary_t *b, int row_width, int col_width, int part_width)
{
    int64_t n_rows, n_parts;

    b->row.width  = row_width;
    b->col.width  = col_width;
    b->part.width = part_width;
    return !__builtin_add_overflow(b->rows, b->lengths ? 0 : 1, &n_rows) &&
           !__builtin_mul_overflow(b->nnz, b->parts, &n_parts) &&
           behind(b->row.at, n_rows, row_width, &b->col.at) &&
           behind(b->col.at, b->nnz, col_width, &b->part.at) &&
           behind(b->part.at, n_parts, part_width, &b->end);
}
