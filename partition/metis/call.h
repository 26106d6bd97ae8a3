/* SPDX-License-Identifier: Apache-2.0 */
/** @file call.h  METIS, one call of the process at a time. */
#ifndef SPMM_PARTITION_METIS_CALL_H
#define SPMM_PARTITION_METIS_CALL_H

#include "base/error.h"

#ifdef SPMM_HAVE_METIS
#include <metis.h>

/** Libraries of METIS with indices of either length have one name, and a process loads one: of the
 *  program's PETSc, say.  SPMM_ERR_UNSUPPORTED where it is not the one compiled for; @p instead,
 *  what to use then, ends the sentence.  Before any other call of METIS. */
spmm_status_t spmmi_metis_check(spmm_error_t *err, const char *instead);

/** METIS_PartGraphKway() with one weight a vertex and the imbalance of @p settings; @p share
 *  [n_parts] is the part of the weight that each part is to have, NULL: equal ones.  METIS 5.1
 *  draws from rand() and sets handlers of SIGABRT and SIGTERM for the time of a call, both of the
 *  whole process: calls of two threads would change each other's parts, and leave a handler behind
 *  that jumps to a stack that is gone. */
int spmmi_metis_kway(idx_t n_vertices, idx_t n_parts, idx_t *xadj, idx_t *adjncy, idx_t *vwgt,
                     idx_t *vsize, real_t *share, idx_t *settings, idx_t *objective, idx_t *part);
#endif

#endif /* SPMM_PARTITION_METIS_CALL_H */
