/* SPDX-License-Identifier: Apache-2.0 */
/** @file patterns.c
 *  What the papers count of a matrix without a GPU, each as its formats need it:
 *
 *      bench_patterns MATRIX... > TABLE.tsv
 *
 *  Acc-SpMM: 8x8 TC blocks, MeanNNZTC, IBD, bytes of indices in CSR, TCF, ME-TCF and BitTCF,
 *  milliseconds of one core to scan a pattern and to make BitTCF of it.  cuTeSpMM: pairs of a panel
 *  of 16 rows and an active column, bricks, their density, TCU-Synergy and its class, modelled
 *  OI_shmem.  SSpMM: vectors of 8 and 16 rows, their fill, bytes of CVSE, the V that plans predict
 *  for N = 128.  The thesis: 16x16 tiles, 16x32 tiles and those of them in 2:4.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "block.h"
#include "engine/bcsr/format.h"
#include "engine/bittcf/format.h"
#include "engine/cvse/format.h"
#include "engine/cvse/variant.h"

static double now_ms(void)
{
    struct timespec t;

    (void)timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Make BitTCF and drop it. */
static spmm_status_t convert(spmm_env_t *env, const spmm_csr_t *block,
                             const spmm_pattern_t *pattern, double *ms)
{
    spmm_bittcf_t format = {0};
    const double  start  = now_ms();
    spmm_status_t status =
        spmmi_bittcf_create(env, block, spmmi_pattern_windows(pattern), 1, env->threads, &format);

    *ms = now_ms() - start;
    spmmi_bittcf_free(&format);
    return status;
}

static void print(const char *name, const spmm_pattern_t *p, double scan_ms, double convert_ms)
{
    const spmm_tc_facts_t    *tc = &p->tc;
    const spmm_bittcf_bytes_t index =
        spmmi_bittcf_bytes(p->n_rows, tc->tc_blocks, p->nnz, SPMM_R_32F);
    const spmm_bcsr_facts_t tiles = spmmi_bcsr_measure(&p->windows, p->n_rows, 4, 1);

    (void)printf("%s\t%" PRId32 "\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%.3f\t%.3f"
                 "\t%zu\t%zu\t%zu\t%zu\t%.2f\t%.2f",
                 name, p->n_rows, p->n_cols, p->nnz, tc->tc_blocks, tc->mean_nnz_tc, tc->ibd,
                 index.csr, index.tcf, index.me_tcf, index.bittcf, scan_ms, convert_ms);
    (void)printf("\t%" PRId64 "\t%" PRId64 "\t%.4f\t%.4f\t%s\t%.1f", tc->pairs[1], tc->bricks,
                 tc->alpha, tc->synergy, spmmi_tc_synergy_class(tc->synergy), tc->oi_shmem);
    for (int32_t height = 8; height <= 16; height += 8) {
        const int64_t           vectors = tc->pairs[height / 16];
        const spmm_cvse_bytes_t bytes =
            spmmi_cvse_bytes(p->n_rows, p->nnz, vectors, height, tc->tc_blocks);

        (void)printf("\t%" PRId64 "\t%.4f\t%zu", vectors, 1.0 - bytes.new_sparsity, bytes.cvse);
    }
    (void)printf("\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n",
                 spmmi_cvse_height(tc, 128), tiles.tiles + 2 * tiles.sp24, tiles.wide, tiles.legal);
    (void)fflush(stdout);
}

static spmm_status_t run(spmm_env_t *env, const char *path)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    double         start, scan_ms, convert_ms = 0.0;
    spmm_status_t  status = bench_block_read(env, path, SPMM_R_32F, &block);

    start = now_ms();
    if (status == SPMM_OK) {
        status = spmmi_pattern_scan(env, &block, &pattern);
    }
    scan_ms = now_ms() - start;
    if (status == SPMM_OK) {
        status = convert(env, &block, &pattern, &convert_ms);
    }
    if (status == SPMM_OK) {
        print(bench_block_name(path), &pattern, scan_ms, convert_ms);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return status;
}

int main(int argc, char **argv)
{
    spmm_env_t env  = {.size = 1, .threads = 1};
    int        code = 0;

    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    (void)printf("matrix\trows\tcols\tnnz\ttc_blocks\tmean_nnz_tc\tibd\tcsr_bytes\ttcf_bytes"
                 "\tme_tcf_bytes\tbittcf_bytes\tscan_ms\tbittcf_ms\tpairs16\tbricks\talpha"
                 "\tsynergy\tclass\toi_shmem\tvectors8\tfill8\tcvse8_bytes\tvectors16\tfill16"
                 "\tcvse16_bytes\tv\ttiles16\ttiles32\tsp24\n");
    for (int k = 1; k < argc; k++) {
        if (run(&env, argv[k]) != SPMM_OK) {
            (void)fprintf(stderr, "bench_patterns: %s: %s\n", argv[k], env.err.text);
            code = 3;
        }
    }
    MPI_Finalize();
    return code;
}
