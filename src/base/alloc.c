/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise() */
#include "base/alloc.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_KEPT = 64 };
enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 2 * HUGE_PAGE, RETURN_FROM = 1 << 20, PAGE = 4096 };

static atomic_llong calls, live;
static atomic_llong inject = -1;

bool spmmi_size_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

bool spmmi_alloc_note(void)
{
    long long left = atomic_load(&inject);

    atomic_fetch_add(&calls, 1);
    while (left >= 0) {
        if (atomic_compare_exchange_weak(&inject, &left, left - 1)) {
            if (left == 0) {
                return false;
            }
            break;
        }
    }
    atomic_fetch_add(&live, 1);
    return true;
}

void spmmi_alloc_note_free(void)
{
    atomic_fetch_sub(&live, 1);
}

/* Say something about the whole pages of a block.  Only a hint. */
static void advise(void *ptr, size_t bytes, uintptr_t page, int advice)
{
    const uintptr_t start = (uintptr_t)ptr;
    const uintptr_t first = (start + page - 1) / page * page;
    const uintptr_t last  = (start + bytes) / page * page;

    if (last > first) {
        (void)madvise((char *)ptr + (first - start), last - first, advice);
    }
}

/* Ask for huge pages where a block is large: first touch of 4 KiB pages cost more than what plans
 * do with their arrays. */
static void *enlarge_pages(void *ptr, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (ptr != NULL && bytes >= HUGE_FROM) {
        advise(ptr, bytes, HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
    return ptr;
}

/* malloc keeps what is freed between other blocks; the system gets the memory back at once. */
static void return_pages(void *ptr)
{
    const size_t bytes = malloc_usable_size(ptr);

    if (bytes >= RETURN_FROM) {
        advise(ptr, bytes, PAGE, MADV_DONTNEED);
    }
}

static void *checked(int64_t count, size_t size, bool zero)
{
    size_t bytes;
    void  *ptr;

    if (count < 0 || !spmmi_size_mul((size_t)count, size, &bytes) || !spmmi_alloc_note()) {
        return NULL;
    }
    ptr = zero ? calloc(bytes == 0 ? 1 : bytes, 1) : malloc(bytes == 0 ? 1 : bytes);
    if (ptr == NULL) {
        spmmi_alloc_note_free();
    }
    return enlarge_pages(ptr, bytes);
}

void *spmmi_alloc(int64_t count, size_t size)
{
    return checked(count, size, false);
}

void *spmmi_alloc_zero(int64_t count, size_t size)
{
    return checked(count, size, true);
}

void *spmmi_realloc(void *ptr, int64_t count, size_t size)
{
    size_t bytes;

    if (ptr == NULL) {
        return spmmi_alloc(count, size);
    }
    if (count < 0 || !spmmi_size_mul((size_t)count, size, &bytes) || !spmmi_alloc_note()) {
        return NULL;
    }
    spmmi_alloc_note_free(); /* one call more, not one block more */
    return enlarge_pages(realloc(ptr, bytes == 0 ? 1 : bytes), bytes);
}

void spmmi_alloc_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

/* Their blocks are never freed, so that addresses do not come again.  n_kept >
 * MOST_KEPT: all memory. */
static struct {
    uintptr_t from, end;
} kept[MOST_KEPT];
static atomic_int      n_kept; /* read without the lock, after the range is written */
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

void spmmi_alloc_keep(const void *at, size_t bytes)
{
    const uintptr_t from = (uintptr_t)at;
    int             n;

    if (bytes == 0) {
        return;
    }
    (void)pthread_mutex_lock(&keeping);
    n = atomic_load(&n_kept);
    if (n < MOST_KEPT) {
        kept[n].from = from;
        kept[n].end  = from + bytes;
    }
    if (n <= MOST_KEPT) {
        atomic_store(&n_kept, n + 1);
    }
    (void)pthread_mutex_unlock(&keeping);
}

static bool is_kept(void *ptr)
{
    const int       n     = atomic_load(&n_kept);
    const uintptr_t block = (uintptr_t)ptr;

    if (n > MOST_KEPT) {
        return true;
    }
    for (int k = 0; k < n; k++) {
        if (kept[k].from < block + malloc_usable_size(ptr) && block < kept[k].end) {
            return true;
        }
    }
    return false;
}

void spmmi_free(void *ptr)
{
    if (ptr == NULL) {
        return;
    }
    spmmi_alloc_note_free();
    if (!is_kept(ptr)) {
        return_pages(ptr);
        free(ptr);
    }
}

/* In a list, for tools that look for memory that nobody knows. */
void spmmi_alloc_leave(void *block)
{
    static _Atomic(void *) last;
    void                  *before = atomic_exchange(&last, block);

    memcpy(block, &before, sizeof before);
    spmmi_alloc_note_free();
}

void spmmi_free_list(void **ptr, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        spmmi_free(ptr[k]);
    }
}

spmm_alloc_stats_t spmmi_alloc_get_stats(void)
{
    return (spmm_alloc_stats_t){.calls = atomic_load(&calls), .live = atomic_load(&live)};
}

void spmmi_alloc_inject(int64_t countdown)
{
    atomic_store(&inject, countdown);
}
