/* SPDX-License-Identifier: Apache-2.0 */
/** @file reorder.c
 *  How dense do the tensor-core blocks of a matrix become in each order of its rows?  Needs no GPU:
 *
 *      bench_reorder MATRIX... > TABLE.tsv
 *
 *  The orders of the library and those of Acc-SpMM.  One line per matrix and method, tab-separated:
 *  MeanNNZTC (entries per 8x8 TC block), (window, active column) pairs at heights 8 and 16, their
 *  ratio to those of the file's order, CPU seconds of all threads.
 *  A method that cannot take a matrix has no line; stderr says why.
 */
#include <inttypes.h>
#include <stdio.h>

#include "block.h"
#include "engine/windows/windows.h"
#include "orders.h"

static const spmm_reorderer_t *const published[] = {&bench_order_acc, &bench_order_rabbit};
enum { N_PUBLISHED = sizeof published / sizeof published[0] };

static spmm_status_t measure(spmm_env_t *env, const spmm_reorderer_t *method,
                             const spmm_csr_t *block, spmm_tc_facts_t *facts, double *seconds)
{
    int64_t       used;
    spmm_csr_t    permuted = {0};
    spmm_status_t status   = bench_block_reorder(env, method, block, &permuted, seconds);

    if (status == SPMM_OK) {
        status = spmmi_tc_facts_scan(env, &permuted, facts, &used);
    }
    spmmi_csr_free(&permuted);
    return status;
}

static spmm_status_t compare(spmm_env_t *env, const char *path)
{
    spmm_csr_t      block   = {0};
    spmm_tc_facts_t first   = {0}, facts;
    double          seconds = 0.0;
    spmm_status_t   status  = bench_block_read(env, path, SPMM_R_32F, &block);

    for (int k = 0; k < spmmi_n_reorderers + N_PUBLISHED && status == SPMM_OK; k++) {
        const spmm_reorderer_t *method =
            k < spmmi_n_reorderers ? spmmi_reorderers[k] : published[k - spmmi_n_reorderers];

        status = measure(env, method, &block, &facts, &seconds);
        if (status == SPMM_ERR_UNSUPPORTED) {
            (void)fprintf(stderr, "bench_reorder: %s, %s: %s\n", bench_block_name(path),
                          method->name, env->err.text);
            status = SPMM_OK;
            continue;
        }
        first = k == 0 ? facts : first; /* "none" */
        if (status == SPMM_OK) {
            (void)printf("%s\t%s\t%.2f\t%" PRId64 "\t%" PRId64 "\t%.3f\t%.3f\t%.2f\n",
                         bench_block_name(path), method->name, facts.mean_nnz_tc, facts.pairs[0],
                         facts.pairs[1], (double)facts.pairs[0] / (double)first.pairs[0],
                         (double)facts.pairs[1] / (double)first.pairs[1], seconds);
            (void)fflush(stdout);
        }
    }
    spmmi_csr_free(&block);
    return status;
}

int main(int argc, char **argv)
{
    (void)argc;
    return bench_block_each("bench_reorder",
                            "matrix\torder\tmean_nnz_tc\tpairs8\tpairs16\tratio8\tratio16\tcpu_s",
                            compare, argv + 1);
}
