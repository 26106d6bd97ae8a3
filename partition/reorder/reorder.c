/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/reorder/reorder.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

#define SPMM_REORDERER(x) &spmmi_reorderer_##x,
const spmm_reorderer_t *const spmmi_reorderers[] = {
#include "partition/reorder/reorderer_list.h"
};
#undef SPMM_REORDERER
const int spmmi_n_reorderers = (int)(sizeof spmmi_reorderers / sizeof spmmi_reorderers[0]);

const spmm_reorderer_t *spmmi_reorderer_find(const char *name)
{
    int k = 0;

    while (strcmp(spmmi_reorderers[k]->name, name) != 0) {
        k++;
    }
    return spmmi_reorderers[k];
}

/* Every row once. */
static spmm_status_t check(spmm_env_t *env, const char *name, int32_t n, const int32_t *order)
{
    bool *seen;

    if (SPMM_NEW_ZERO(seen, n) == NULL) {
        return spmmi_fail_memory(&env->err, n, sizeof *seen, "an order of rows");
    }
    for (int32_t k = 0; k < n; k++) {
        if (order[k] < 0 || order[k] >= n || seen[order[k]]) {
            spmmi_free(seen);
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "reordering %s puts row %" PRId32 " of %" PRId32 " in place %" PRId32
                              ", which is no permutation: please report it",
                              name, order[k], n, k);
        }
        seen[order[k]] = true;
    }
    spmmi_free(seen);
    return SPMM_OK;
}

spmm_status_t spmmi_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                            const spmm_csr_t *block, int threads, int32_t *order)
{
    if (block->n_rows > INT32_MAX - block->n_cols || spmmi_csr_nnz(block) > INT32_MAX) {
        return spmmi_fail(
            &env->err, SPMM_ERR_UNSUPPORTED,
            "a block of %" PRId32 " x %" PRId32 " with %" PRId64
            " entries is too large to be reordered (2^31 - 1 rows and columns, and as "
            "many entries): use more ranks, or reordering none",
            block->n_rows, block->n_cols, spmmi_csr_nnz(block));
    }
    SPMM_TRY(method->run(env, block, threads, order));
    return check(env, method->name, block->n_rows, order);
}

static spmm_status_t keep(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    (void)env;
    (void)threads;
    for (int32_t i = 0; i < block->n_rows; i++) {
        order[i] = i;
    }
    return SPMM_OK;
}

const spmm_reorderer_t spmmi_reorderer_none = {
    .name = "none",
    .run  = keep,
};
