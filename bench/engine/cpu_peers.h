/* SPDX-License-Identifier: Apache-2.0 */
/** @file cpu_peers.h  Products of CPU libraries that are loaded when the program runs, since
 *  nothing is built with them. */
#ifndef BENCH_CPU_PEERS_H
#define BENCH_CPU_PEERS_H

#include "engine/engine.h"
#include "matrix/csr.h"

/** One product of a peer, made ready. */
typedef struct {
    void (*multiply)(void *self); /**< C = A B */
    void (*close)(void *self);
    void *self;
} cpu_product_t;

/** A library. */
typedef struct {
    const char *name;
    bool        threads; /**< more than one */
    /** Load @p library. @return why not, or NULL */
    const char *(*load)(const char *library);
    /** A product of @p A, whose columns and rows B and C have, with @p x, all of one real type;
     *  false: the library refuses. */
    bool (*open)(const spmm_csr_t *A, const int32_t *row_ptr, const spmm_operands_t *x, int threads,
                 cpu_product_t *product);
} cpu_peer_t;

extern const cpu_peer_t bench_peer_mkl, bench_peer_petsc;

#endif /* BENCH_CPU_PEERS_H */
