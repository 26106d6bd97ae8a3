/* SPDX-License-Identifier: Apache-2.0 */
/** @file range.h
 *  Named ranges on the time line of a profiler (NVTX, domain spmm_dist): what the host enqueues in
 *  them, Nsight Systems shows under the same name on the GPU.  Without a profiler a range costs a
 *  test of a pointer; in builds without NVTX, nothing.
 */
#ifndef SPMM_BASE_RANGE_H
#define SPMM_BASE_RANGE_H

#include <stdbool.h>

/** End this thread's range if *@p open, then begin @p name unless it is NULL.  Local. */
void spmmi_range(bool *open, const char *name);

#endif /* SPMM_BASE_RANGE_H */
