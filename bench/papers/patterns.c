/* SPDX-License-Identifier: Apache-2.0 */
/** @file patterns.c
 *  What the papers count of a matrix without a GPU, each as its formats need it:
 *
 *      bench_patterns MATRIX... > TABLE.tsv
 *
 *  Acc-SpMM: 8x8 TC blocks, MeanNNZTC, IBD, bytes of indices in CSR, TCF, ME-TCF and BitTCF,
 *  milliseconds of one core to scan a pattern and to make BitTCF, or ME-TCF, of it.  cuTeSpMM:
 *  pairs of a panel of 16 rows and an active column, bricks, their density, TCU-Synergy and its
 *  class, modelled OI_shmem.  SSpMM: vectors of 8 and 16 rows, their fill, bytes of CVSE, the V
 *  that plans predict for N = 128.  The thesis: 16x16 tiles, 16x32 tiles and those of them in 2:4.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "block.h"
#include "engine/bcsr/format.h"
#include "engine/cvse/format.h"
#include "engine/cvse/variant.h"
#include "engine/windows/bittcf_format.h"
#include "spmm_dist/context.h"

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

/** ME-TCF (DTC-SpMM): BitTCF but for a byte in place of each bit. */
typedef struct {
    int32_t *window_ptr, *value_ptr, *col;
    uint8_t *place; /**< [nnz] 8 r + c in its TC block */
    float   *values;
} me_tcf_t;

/* A window of 8 rows: TC blocks of its columns, eight at a time.  @return the next block */
static int32_t lay_out(const spmm_csr_t *block, const spmm_windows_t *windows, int32_t w, int32_t b,
                       me_tcf_t *to)
{
    const int32_t  *col  = windows->col + windows->first[w];
    const uint32_t *rows = windows->rows + windows->first[w];
    const float    *from = block->values;
    int64_t         next[8], at = block->row_ptr[w * 8];

    for (int32_t r = 0; r < 8; r++) {
        next[r] = block->row_ptr[w * 8 + r < block->n_rows ? w * 8 + r : block->n_rows];
    }
    for (int32_t k = 0; k < windows->count[w]; k += 8, b++) {
        const int32_t n = windows->count[w] - k < 8 ? windows->count[w] - k : 8;

        to->value_ptr[b] = (int32_t)at;
        for (int32_t c = 0; c < 8; c++) {
            to->col[(int64_t)b * 8 + c] = c < n ? col[k + c] : SPMM_TC_NO_COLUMN;
        }
        for (int32_t r = 0; r < 8; r++) {
            for (int32_t c = 0; c < n; c++) {
                if ((rows[k + c] >> r & 1) != 0) {
                    to->place[at]    = (uint8_t)(8 * r + c);
                    to->values[at++] = from[next[r]++];
                }
            }
        }
    }
    to->window_ptr[w + 1] = b;
    return b;
}

/* Make ME-TCF from the scan, by one core, and drop it. */
static spmm_status_t convert_me_tcf(spmm_env_t *env, const spmm_csr_t *block,
                                    const spmm_pattern_t *pattern, double *ms)
{
    const int64_t  blocks = pattern->tc.tc_blocks, nnz = spmmi_csr_nnz(block);
    const double   start = now_ms();
    me_tcf_t       to    = {.window_ptr = NULL};
    spmm_windows_t windows;
    int32_t        b = 0;
    spmm_status_t  status =
        spmmi_windows_split(env, block, spmmi_pattern_windows(pattern), 8, env->threads, &windows);

    SPMM_TRY(status);
    SPMM_NEW_ZERO(to.window_ptr, (int64_t)windows.n_windows + 1);
    SPMM_NEW(to.value_ptr, blocks + 1);
    SPMM_NEW(to.col, blocks * 8);
    SPMM_NEW(to.place, nnz);
    SPMM_NEW(to.values, nnz);
    if (to.window_ptr == NULL || to.value_ptr == NULL || to.col == NULL || to.place == NULL ||
        to.values == NULL) {
        status = spmmi_fail_memory(&env->err, nnz, sizeof(float) + 1, "ME-TCF");
    }
    for (int32_t w = 0; w < windows.n_windows && status == SPMM_OK; w++) {
        b = lay_out(block, &windows, w, b, &to);
    }
    *ms = now_ms() - start;
    spmmi_free_all(to.window_ptr, to.value_ptr, to.col, to.place, to.values);
    spmmi_windows_free(&windows);
    return status;
}

static void print(const char *name, const spmm_pattern_t *p, double scan_ms, double convert_ms,
                  double me_tcf_ms)
{
    const spmm_tc_facts_t    *tc = &p->tc;
    const spmm_bittcf_bytes_t index =
        spmmi_bittcf_bytes(p->n_rows, tc->tc_blocks, p->nnz, SPMM_R_32F);
    spmm_bcsr_facts_t tiles[SPMM_BCSR_PANELS];

    spmmi_bcsr_measure(&p->windows, p->n_rows, 1, tiles);
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
    (void)printf("\t%" PRId32 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.2f\n",
                 spmmi_cvse_height(tc, 128), tiles->tiles + 2 * tiles->sp24, tiles->wide,
                 tiles->legal, me_tcf_ms);
    (void)fflush(stdout);
}

static spmm_status_t run(spmm_env_t *env, const char *path)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    double         start, scan_ms, convert_ms = 0.0, me_tcf_ms = 0.0;
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
        status = convert_me_tcf(env, &block, &pattern, &me_tcf_ms);
    }
    if (status == SPMM_OK) {
        print(bench_block_name(path), &pattern, scan_ms, convert_ms, me_tcf_ms);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return status;
}

int main(int argc, char **argv)
{
    (void)argc;
    return bench_block_each(
        "bench_patterns",
        "matrix\trows\tcols\tnnz\ttc_blocks\tmean_nnz_tc\tibd\tcsr_bytes\ttcf_bytes"
        "\tme_tcf_bytes\tbittcf_bytes\tscan_ms\tbittcf_ms\tpairs16\tbricks\talpha"
        "\tsynergy\tclass\toi_shmem\tvectors8\tfill8\tcvse8_bytes\tvectors16\tfill16"
        "\tcvse16_bytes\tv\ttiles16\ttiles32\tsp24\tme_tcf_ms",
        run, argv + 1);
}
