/* SPDX-License-Identifier: Apache-2.0 */
#include "device/place.h"

#include "base/alloc.h"

enum { MOST = SPMM_PLACE_DEVICES };

/* Which of the ids rank @p r takes, when @p taken holds the ids that the ranks before it took. */
static int take(const uint64_t *ids, const uint64_t *taken, int r, int *n_before)
{
    int best = 0;

    *n_before = 0;
    for (int d = 0; d < MOST && ids[d] != 0; d++) {
        int uses = 0;

        for (int before = 0; before < r; before++) {
            uses += taken[before] == ids[d];
        }
        if (d == 0 || uses < *n_before) {
            best      = d;
            *n_before = uses;
        }
    }
    return best;
}

int spmmi_place_choose(const uint64_t *seen, uint64_t *taken, int place, int *n_before)
{
    int index = 0;

    for (int r = 0; r <= place; r++) {
        const uint64_t *ids = seen + (size_t)r * MOST;

        index    = take(ids, taken, r, n_before);
        taken[r] = ids[index];
    }
    return index;
}

/* What the ranks of a node see, followed by one id for each.  *seen is the caller's, also after a
 * failure.  Collective. */
static spmm_status_t gather(spmm_env_t *env, MPI_Comm node, const uint64_t *mine, int *ranks,
                            uint64_t **seen)
{
    spmm_status_t status = spmmi_mpi_check(env, MPI_Comm_size(node, ranks), "MPI_Comm_size");

    if (status == SPMM_OK && SPMM_NEW(*seen, (int64_t)*ranks * (MOST + 1)) == NULL) {
        status = spmmi_fail_memory(&env->err, (int64_t)*ranks * (MOST + 1), sizeof **seen,
                                   "the GPUs of a node");
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_MPI(env, MPI_Allgather(mine, MOST, MPI_UINT64_T, *seen, MOST, MPI_UINT64_T, node));
    return SPMM_OK;
}

spmm_status_t spmmi_place_device(spmm_env_t *env, const uint64_t *mine, int *index, int *n_before)
{
    MPI_Comm      node  = MPI_COMM_NULL;
    int           ranks = 0, place = 0;
    uint64_t     *seen = NULL;
    spmm_status_t status;

    SPMM_MPI(env,
             MPI_Comm_split_type(env->comm, MPI_COMM_TYPE_SHARED, env->rank, MPI_INFO_NULL, &node));
    status = gather(env, node, mine, &ranks, &seen);
    if (status == SPMM_OK) {
        status = spmmi_mpi_check(env, MPI_Comm_rank(node, &place), "MPI_Comm_rank");
    }
    if (status == SPMM_OK) {
        *index = spmmi_place_choose(seen, seen + (size_t)ranks * MOST, place, n_before);
    }
    spmmi_free(seen);
    SPMM_MPI(env, MPI_Comm_free(&node));
    return status;
}
