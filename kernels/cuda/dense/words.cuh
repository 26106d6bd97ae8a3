/* SPDX-License-Identifier: Apache-2.0 */
/** @file words.cuh
 *  Words of 64 bits in each other's memory, written and read whole, half number and half value (as
 *  in NCCL's LL protocol), so that no store has to wait for another and none is ever reset.  All
 *  that kernels which talk to other GPUs need of PTX is here.
 */
#ifndef SPMM_WORDS_CUH
#define SPMM_WORDS_CUH

#include <stdint.h>

namespace spmmi
{

__device__ __forceinline__ uint64_t word_of(uint32_t number, uint32_t value)
{
    return (uint64_t(number) << 32) | value;
}

__device__ __forceinline__ void store_word(uint64_t *to, uint32_t number, uint32_t value)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(word_of(number, value))
                 : "memory");
}

/* Two words at a time; each is whole, which of them is seen first is open. */
__device__ __forceinline__ void store_words(uint64_t *to, uint64_t first, uint64_t second)
{
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
                 : "memory");
}

__device__ __forceinline__ uint64_t load_word(const uint64_t *from)
{
    uint64_t word;

    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

/* What is loaded or stored from here on comes after what the writer of the word did before it.
 * Unlike a fence this does not wait for stores of this thread that are on their way. */
__device__ __forceinline__ uint64_t acquire_word(const uint64_t *from)
{
    uint64_t word;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}

__device__ __forceinline__ void load_words(const uint64_t *from, uint64_t &first, uint64_t &second)
{
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(from)
                 : "memory");
}

/* A count that kernels of this GPU alone look at. */
__device__ __forceinline__ uint32_t acquire_count(const uint32_t *from)
{
    uint32_t count;

    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(from) : "memory");
    return count;
}

__device__ __forceinline__ void release_count(uint32_t *to, uint32_t count)
{
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(count) : "memory");
}

/* All that this thread has seen or done so far comes before all that it does from here on, for
 * every GPU.  __threadfence_system() is sequentially consistent, which costs more
 * and is not needed. */
__device__ __forceinline__ void fence_system()
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

__device__ __forceinline__ uint64_t now_ns()
{
    uint64_t time;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

/* Bring a line to L2; nobody waits for it. */
__device__ __forceinline__ void prefetch(const void *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

} // namespace spmmi

#endif /* SPMM_WORDS_CUH */
