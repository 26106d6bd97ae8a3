/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/metis_call.h"

#ifdef SPMM_HAVE_METIS
#include <pthread.h>

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;

int spmm_metis_kway(idx_t n_vertices, idx_t n_parts, idx_t *xadj, idx_t *adjncy, idx_t *vwgt,
                    idx_t *vsize, idx_t *settings, idx_t *objective, idx_t *part)
{
    idx_t one_weight = 1;
    int   code;

    (void)pthread_mutex_lock(&one_call);
    code = METIS_PartGraphKway(&n_vertices, &one_weight, xadj, adjncy, vwgt, vsize, NULL, &n_parts,
                               NULL, NULL, settings, objective, part);
    (void)pthread_mutex_unlock(&one_call);
    return code;
}
#endif
