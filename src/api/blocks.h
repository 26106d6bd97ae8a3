/* SPDX-License-Identifier: Apache-2.0 */
/** @file blocks.h  Checks of dense operands that are no plan's B and C. */
#ifndef SPMM_API_BLOCKS_H
#define SPMM_API_BLOCKS_H

#include "spmm_dist/plan.h"

/** Is @p data, of @p count elements or rows, memory of the device of @p base?  Local. */
spmm_status_t spmmi_check_block(const spmm_plan_t *base, const char *name, const void *data,
                                int64_t count);
/** The same for @p rows row-major rows of @p k columns, @p ld elements apart.  Local. */
spmm_status_t spmmi_check_rows(const spmm_plan_t *base, const char *name, const void *data,
                               int64_t rows, int64_t k, int64_t ld);

#endif /* SPMM_API_BLOCKS_H */
