/* SPDX-License-Identifier: Apache-2.0 */
/** @file fuzz.h  What the fuzz targets share.  A target is one file with spmm_fuzz_one(); fuzz.c
 *  gives it an environment of one rank, files that live in memory, and the check that nothing
 *  leaks.  Built with libFuzzer (preset fuzz) it runs for as long as it is asked to; built without
 *  (fuzz_replay.c) it runs the inputs named on its command line. */
#ifndef SPMM_FUZZ_H
#define SPMM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "spmm_dist/spmm_dist.h"

/** One input.  Whatever it holds, the target ends with a status of the list in types.h. */
void spmm_fuzz_one(const uint8_t *data, size_t size);

extern spmm_env_t      spmm_fuzz_env;
extern spmm_context_t *spmm_fuzz_ctx;

/** Stop with a message: a property does not hold. */
void spmm_fuzz_check(int holds, const char *property);

/** Path of a file with this content, in memory; the next call makes it another.  MPI-IO reads
 *  it too (fuzz.c stands in for MPI_File_*). */
const char *spmm_fuzz_file(const void *bytes, size_t size);

/** A call that failed says so in one sentence; one that did not has status SPMM_OK. */
void spmm_fuzz_status(spmm_status_t status, const char *sentence);

/** What a matrix must be, whoever made it: sizes that add up, ascending columns within the
 *  shape. */
void spmm_fuzz_matrix(const spmm_matrix_t *A);

/** Numbers from an input, zero past its end. */
typedef struct {
    const uint8_t *at, *end;
} spmm_fuzz_bytes_t;

uint8_t spmm_fuzz_u8(spmm_fuzz_bytes_t *in);
/** Mostly small, at times any 64 bits. */
int64_t spmm_fuzz_int(spmm_fuzz_bytes_t *in);

#endif /* SPMM_FUZZ_H */
