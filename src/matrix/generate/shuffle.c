/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/generate/shuffle.h"

void spmmi_shuffle_init(spmm_shuffle_t *shuffle, int64_t n, uint64_t seed, uint64_t stream)
{
    int bits = 0;

    while (bits < 63 && (int64_t)((uint64_t)1 << bits) < n) {
        bits++;
    }
    shuffle->n         = n;
    shuffle->low_bits  = bits - bits / 2;
    shuffle->low_mask  = ((uint64_t)1 << shuffle->low_bits) - 1;
    shuffle->high_mask = ((uint64_t)1 << (bits / 2)) - 1;
    for (int round = 0; round < SPMM_SHUFFLE_ROUNDS; round++) {
        shuffle->key[round] = spmmi_hash2(seed, (int64_t)stream, round);
    }
}
