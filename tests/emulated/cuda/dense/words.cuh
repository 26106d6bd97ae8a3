/* SPDX-License-Identifier: Apache-2.0 */
/** @file words.cuh
 *  In place of kernels/cuda/dense/words.cuh.  Who loads a word gives way, since others are to write
 *  it; two words come one after the other, in either order.
 */
#ifndef SPMM_WORDS_CUH
#define SPMM_WORDS_CUH

#include "emulated/gpu.h"

namespace spmmi
{

static inline uint64_t word_of(uint32_t number, uint32_t value)
{
    return (uint64_t(number) << 32) | value;
}

static inline void store_word(uint64_t *to, uint32_t number, uint32_t value)
{
    gpu_perhaps_give_way();
    *(volatile uint64_t *)to = word_of(number, value);
}

static inline void store_words(uint64_t *to, uint64_t first, uint64_t second)
{
    const int early = int(gpu_time_ns() / 10000 % 2);

    if (uintptr_t(to) % 16 != 0) {
        __builtin_trap();
    }
    ((volatile uint64_t *)to)[early] = early == 0 ? first : second;
    gpu_perhaps_give_way();
    ((volatile uint64_t *)to)[1 - early] = early == 0 ? second : first;
}

static inline uint64_t load_word(const uint64_t *from)
{
    gpu_give_way();
    return *(const volatile uint64_t *)from;
}

static inline uint64_t acquire_word(const uint64_t *from)
{
    return load_word(from);
}

static inline void load_words(const uint64_t *from, uint64_t &first, uint64_t &second)
{
    if (uintptr_t(from) % 16 != 0) {
        __builtin_trap();
    }
    first  = load_word(from);
    second = *(const volatile uint64_t *)(from + 1);
}

static inline void release_count(uint32_t *to, uint32_t count)
{
    *(volatile uint32_t *)to = count;
}

static inline void fence_system() {}

static inline uint64_t now_ns()
{
    return gpu_time_ns();
}

static inline void prefetch(const void *) {}

} // namespace spmmi

#endif /* SPMM_WORDS_CUH */
