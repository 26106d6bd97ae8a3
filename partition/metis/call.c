/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/metis/call.h"

#ifdef SPMM_HAVE_METIS
#include <pthread.h>

static pthread_mutex_t one_call = PTHREAD_MUTEX_INITIALIZER;

/* METIS_SetDefaultOptions() sets all bytes of the settings, as many as its indices make them. */
spmm_status_t spmmi_metis_check(spmm_error_t *err, const char *instead)
{
    int64_t settings[METIS_NOPTIONS] = {0}; /* room for both */
    int     bits;

    METIS_SetDefaultOptions((idx_t *)settings);
    bits = settings[METIS_NOPTIONS - 1] == 0 ? 32 : 64;
    if (bits == IDXTYPEWIDTH) {
        return SPMM_OK;
    }
    return spmmi_fail(
        err, SPMM_ERR_UNSUPPORTED,
        "the libmetis found at run time has %d-bit indices and this library was built "
        "for %d: build both with the same METIS, or use %s",
        bits, IDXTYPEWIDTH, instead);
}

int spmmi_metis_kway(idx_t n_vertices, idx_t n_parts, idx_t *xadj, idx_t *adjncy, idx_t *vwgt,
                     idx_t *vsize, real_t *share, idx_t *settings, idx_t *objective, idx_t *part)
{
    idx_t one_weight = 1;
    int   code;

    (void)pthread_mutex_lock(&one_call);
    code = METIS_PartGraphKway(&n_vertices, &one_weight, xadj, adjncy, vwgt, vsize, NULL, &n_parts,
                               share, NULL, settings, objective, part);
    (void)pthread_mutex_unlock(&one_call);
    return code;
}
#endif
