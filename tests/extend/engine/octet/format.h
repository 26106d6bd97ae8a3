/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h  Octet on the host: made from CSR, filled, and walked by CPU code. */
#ifndef SPMM_ENGINE_OCTET_FORMAT_H
#define SPMM_ENGINE_OCTET_FORMAT_H

#include "cpu/windows/tc_mm.h"
#include "engine/octet/args.h"
#include "engine/windows/windows.h"

typedef struct {
    int32_t   n_rows, n_windows, n_blocks;
    int32_t  *block_ptr; /**< as in spmm_octet_arrays_t; all owned */
    int32_t  *col;
    uint32_t *bits;
    int32_t  *value_ptr;
    double   *values;
    int32_t  *entry_ptr; /**< [n_windows + 1] entries of the rows before each window */
} spmm_octet_t;

/** Convert @p block, which must be of type 64F; its row map is not taken along.
 *  @param[in]  tall    windows of SPMM_WINDOWS_TALL rows of @p block; NULL: condense here
 *  @param[out] format  to be freed in any case */
spmm_status_t spmmi_octet_create(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *tall, int threads, spmm_octet_t *format);
void          spmmi_octet_free(void *format);

/** New values in the order of CSR. */
void spmmi_octet_refill(void *format, const void *values, int threads);
/** Bytes held. */
size_t spmmi_octet_held(const void *format);

/** The arrays as kernels take them; borrowed. */
spmm_octet_arrays_t spmmi_octet_arrays(const spmm_octet_t *format);
/** @p arrays as CPU code walks them, which must outlive the view. */
spmm_tc_view_t spmmi_octet_view(const void *arrays);

#endif /* SPMM_ENGINE_OCTET_FORMAT_H */
