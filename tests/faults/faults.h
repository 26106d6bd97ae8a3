/* SPDX-License-Identifier: Apache-2.0 */
/** @file faults.h  Calls of MPI, CUDA and NCCL that fail when a test says so.  Wrappers of the same
 *  names stand before the libraries: linked into a test program, or as libspmm_faults.so in
 *  LD_PRELOAD around any program, with SPMM_FAULT=CALL:K[:RANK], the K-th call from 0, on every
 *  rank or one. Production code knows nothing of them. */
#ifndef SPMM_FAULTS_H
#define SPMM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/** Let the @p k-th @p call (a name) from now fail on this rank; NULL: none.  Calls on
 *  MPI_COMM_WORLD, which is the program's own, do not count. */
void faults_arm(const char *call, int64_t k);
/** Calls of the armed name since. */
int64_t faults_met(void);

/** For the wrappers: count one call of @p name; true: it is the one to fail. */
bool faults_hit(const char *name);
/** Was the call made at the address @p caller, inside NCCL or PT-Scotch? */
bool faults_is_library(const void *caller);

#endif /* SPMM_FAULTS_H */
