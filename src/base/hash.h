/* SPDX-License-Identifier: Apache-2.0 */
/** @file hash.h
 *  Counter-based random numbers: the same key gives the same number on every rank, so generated
 *  data does not depend on the rank count.
 */
#ifndef SPMM_BASE_HASH_H
#define SPMM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection with full avalanche. */
static inline uint64_t spmmi_mix64(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** Key of an element (i, j) under @p seed. */
static inline uint64_t spmmi_hash2(uint64_t seed, int64_t i, int64_t j)
{
    return spmmi_mix64(spmmi_mix64(seed ^ spmmi_mix64((uint64_t)i)) ^ (uint64_t)j);
}

/** Key of a text after the key @p h. */
static inline uint64_t spmmi_hash_text(uint64_t h, const char *text)
{
    for (; *text != '\0'; text++) {
        h = spmmi_mix64(h ^ (unsigned char)*text);
    }
    return spmmi_mix64(h);
}

/** Key of @p size bytes after the key @p h. */
static inline uint64_t spmmi_hash_bytes(uint64_t h, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        const size_t part = size < sizeof h ? size : sizeof h;
        uint64_t     word = 0;

        memcpy(&word, at, part);
        h = spmmi_mix64(h ^ word);
        at += part;
        size -= part;
    }
    return spmmi_mix64(h);
}

/** Uniform in [0, 1) from 53 bits of @p h. */
static inline double spmmi_unit(uint64_t h)
{
    return (double)(h >> 11) * 0x1p-53;
}

/** A value of a generated matrix or vector: magnitude in [1/4, 1), either sign, never 0. */
static inline double spmmi_random_value(uint64_t seed, int64_t i, int64_t j)
{
    const uint64_t h = spmmi_hash2(seed, i, j);
    const double   x = 0.25 + 0.75 * spmmi_unit(h);

    return (h & 1) != 0 ? -x : x;
}

/** Uniform in [0, n) from @p h, by multiplication (Lemire 2019). */
static inline int64_t spmmi_below(uint64_t h, int64_t n)
{
    __extension__ typedef unsigned __int128 uint128_t;

    return (int64_t)(((uint128_t)h * (uint64_t)n) >> 64);
}

#endif /* SPMM_BASE_HASH_H */
