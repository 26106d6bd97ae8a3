/* SPDX-License-Identifier: Apache-2.0 */
/** @file spmm_dist.h  All of the public API: C = alpha * op(A) * B + beta * C, A sparse and
 *  row-distributed over an MPI communicator, B and C dense row blocks. */
#ifndef SPMM_DIST_H
#define SPMM_DIST_H

#include "spmm_dist/attention.h"
#include "spmm_dist/context.h"
#include "spmm_dist/fortran.h"
#include "spmm_dist/matrix.h"
#include "spmm_dist/plan.h"
#include "spmm_dist/scale.h"
#include "spmm_dist/sddmm.h"
#include "spmm_dist/version.h"

#endif /* SPMM_DIST_H */
