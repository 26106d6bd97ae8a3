/* SPDX-License-Identifier: Apache-2.0 */
/** @file shuffle.h
 *  A random permutation of 0 .. n - 1 that is computed, not stored: a Feistel network on the
 *  smallest power of two >= n, applied again while it leads out of the range (cycle walking,
 *  Black and Rogaway 2002).  Less than two walks on average; a bijection for any key.
 */
#ifndef SPMM_MATRIX_GENERATE_SHUFFLE_H
#define SPMM_MATRIX_GENERATE_SHUFFLE_H

#include "base/hash.h"

enum { SPMM_SHUFFLE_ROUNDS = 6 };

typedef struct {
    int64_t  n;
    uint64_t key[SPMM_SHUFFLE_ROUNDS];
    int      low_bits;
    uint64_t low_mask, high_mask; /**< of the two halves, which may differ by one bit */
} spmm_shuffle_t;

/** @param[in] stream  tells permutations of one seed apart */
void spmmi_shuffle_init(spmm_shuffle_t *shuffle, int64_t n, uint64_t seed, uint64_t stream);

/** Image of @p i, 0 <= i < n. */
static inline int64_t spmmi_shuffle(const spmm_shuffle_t *shuffle, int64_t i)
{
    uint64_t low  = (uint64_t)i & shuffle->low_mask;
    uint64_t high = (uint64_t)i >> shuffle->low_bits;
    int64_t  image;

    do {
        for (int round = 0; round < SPMM_SHUFFLE_ROUNDS; round += 2) {
            low ^= spmmi_mix64(shuffle->key[round] ^ high) & shuffle->low_mask;
            high ^= spmmi_mix64(shuffle->key[round + 1] ^ low) & shuffle->high_mask;
        }
        image = (int64_t)(high << shuffle->low_bits | low);
    } while (image >= shuffle->n);
    return image;
}

#endif /* SPMM_MATRIX_GENERATE_SHUFFLE_H */
