/* SPDX-License-Identifier: Apache-2.0 */
/** @file alloc.h
 *  Counted, overflow-checked and failure-injectable allocation.  All host memory of the library
 *  comes from here; the device layers count theirs through spmmi_alloc_note().
 */
#ifndef SPMM_BASE_ALLOC_H
#define SPMM_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** @p count elements of @p size bytes, uninitialised.  Never NULL for count == 0; NULL when the
 *  product overflows, memory is out or a failure is injected.  Free with spmmi_free(). */
void *spmmi_alloc(int64_t count, size_t size);
/** The same, zeroed. */
void *spmmi_alloc_zero(int64_t count, size_t size);
/** Grow or shrink; on NULL the old block stands. */
void *spmmi_realloc(void *ptr, int64_t count, size_t size);
/** NULL-safe. */
void spmmi_free(void *ptr);
/** Each of several: spmmi_free_all(a, b, c). */
#define spmmi_free_all(...)                                                                        \
    spmmi_free_list((void *[]){__VA_ARGS__}, sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
void spmmi_free_list(void **ptr, size_t count);
/** What malloc keeps of memory that is freed, a partitioner's too, goes back to the system. */
void spmmi_alloc_trim(void);
/** Somebody else may still come back to @p bytes at @p at, or to all memory if the process has kept
 *  many ranges: spmmi_free() of a block with some of them leaves it, for good. */
void spmmi_alloc_keep(const void *at, size_t bytes);

/** Nobody needs @p block any more, but MPI may still write behind its first word: it is never
 *  freed. */
void spmmi_alloc_leave(void *block);

/** Typed allocation: `if (SPMM_NEW(p, n) == NULL) ...`. */
#define SPMM_NEW(ptr, count)      ((ptr) = spmmi_alloc((count), sizeof *(ptr)))
#define SPMM_NEW_ZERO(ptr, count) ((ptr) = spmmi_alloc_zero((count), sizeof *(ptr)))

/** a * b into *out; false when it does not fit size_t. */
bool spmmi_size_mul(size_t a, size_t b, size_t *out);

typedef struct {
    int64_t calls; /**< allocations asked for since the process started */
    int64_t live;  /**< blocks not yet freed */
} spmm_alloc_stats_t;

spmm_alloc_stats_t spmmi_alloc_get_stats(void);

/** For tests: let the @p countdown-th allocation from now (0: the next) fail, once; a negative
 *  value turns injection off. */
void spmmi_alloc_inject(int64_t countdown);

/** For device layers: count one allocation; false: it must fail by injection. */
bool spmmi_alloc_note(void);
/** For device layers: count one release. */
void spmmi_alloc_note_free(void);

#endif /* SPMM_BASE_ALLOC_H */
