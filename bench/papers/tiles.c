/* SPDX-License-Identifier: Apache-2.0 */
/** @file tiles.c
 *  Tiles of a matrix as BCSR has them, how dense they are, how many meet 2:4 sparsity, and what each
 *  order of rows makes of that.  Needs no GPU:
 *
 *      bench_tiles [--orders NAME,NAME] MATRIX... > TABLE.tsv
 *
 *  MATRIX is a file or a generator's spec.  Orders are those of the option reorder, "none" by default,
 *  and "tiles+columns": rows by "tiles", then columns in the same way, which takes a permuted B.  One
 *  line per matrix and order, tab-separated: 16 x 16 and 16 x 32 tiles with an entry, entries in each,
 *  shares of tiles that are 2:4 (no more than two entries in any four aligned columns of a row) and of
 *  the entries in 16 x 32 ones, CPU seconds of ordering.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "block.h"
#include "engine/tc/windows.h"
#include "partition/reorder/reorder.h"

enum { SIDE = 16, WIDE = 32, GROUP = 4 };

/* Tiles of one width. */
typedef struct {
    int64_t tiles, sp24, sp24_entries;
} count_t;

static int bits_of(uint32_t x)
{
    int n = 0;

    for (; x != 0; x &= x - 1) {
        n++;
    }
    return n;
}

/* Rows with more than two entries in the four columns. */
static uint32_t beyond_two(const uint32_t m[GROUP])
{
    return (m[0] & m[1] & (m[2] | m[3])) | (m[2] & m[3] & (m[0] | m[1]));
}

/* Tiles of @p width columns of window @p w; columns that have none of their entries are not listed. */
static void count_window(const spmm_windows_t *windows, int32_t w, int32_t width, count_t *count)
{
    const int32_t  *col  = windows->col + windows->first[w];
    const uint32_t *rows = windows->rows + windows->first[w];
    const int32_t   n    = windows->count[w];

    for (int32_t k = 0; k < n;) {
        const int32_t tile    = col[k] / width;
        int64_t       entries = 0;
        bool          is_sp24 = true;

        while (k < n && col[k] / width == tile) {
            const int32_t group       = col[k] / GROUP;
            uint32_t      mask[GROUP] = {0};

            for (; k < n && col[k] / GROUP == group; k++) {
                mask[col[k] % GROUP] = rows[k];
                entries += bits_of(rows[k]);
            }
            is_sp24 = is_sp24 && beyond_two(mask) == 0;
        }
        count->tiles++;
        count->sp24 += is_sp24;
        count->sp24_entries += is_sp24 ? entries : 0;
    }
}

static spmm_status_t print_tiles(spmm_env_t *env, const char *name, const char *order,
                                 const spmm_csr_t *block, double seconds)
{
    const double   nnz    = (double)spmmi_csr_nnz(block);
    count_t        square = {0}, wide = {0};
    spmm_windows_t windows;

    SPMM_TRY(spmmi_windows_create(env, block, SIDE, 0, &windows));
    for (int32_t w = 0; w < windows.n_windows; w++) {
        count_window(&windows, w, SIDE, &square);
        count_window(&windows, w, WIDE, &wide);
    }
    spmmi_windows_free(&windows);
    if (square.tiles > 0) {
        (void)printf("%s\t%s\t%" PRId32 "\t%.0f\t%" PRId64 "\t%.2f\t%.2f\t%.2f\t%" PRId64
                     "\t%.2f\t%.2f\t%.2f\t%.2f\n",
                     name, order, block->n_rows, nnz, square.tiles, nnz / (double)square.tiles,
                     100.0 * nnz / (SIDE * SIDE * (double)square.tiles),
                     100.0 * (double)square.sp24 / (double)square.tiles, wide.tiles,
                     nnz / (double)wide.tiles, 100.0 * (double)wide.sp24 / (double)wide.tiles,
                     100.0 * (double)wide.sp24_entries / nnz, seconds);
        (void)fflush(stdout);
    }
    return SPMM_OK;
}

/* *block with its rows in the order of @p method; without a row map. */
static spmm_status_t order_rows(spmm_env_t *env, const spmm_reorderer_t *method, spmm_csr_t *block)
{
    int32_t      *order;
    spmm_csr_t    permuted = {0};
    spmm_status_t status;

    if (SPMM_NEW(order, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *order, "an order");
    }
    status = spmmi_reorder(env, method, block, 0, order);
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, block, order, &permuted, NULL);
    }
    spmmi_free(order);
    if (status == SPMM_OK) {
        spmmi_csr_free(block);
        *block = permuted;
        spmmi_free(block->row_map);
        block->row_map = NULL;
    }
    return status;
}

static spmm_status_t transpose(spmm_env_t *env, spmm_csr_t *block)
{
    spmm_csr_t out = {0};

    SPMM_TRY(spmmi_csr_transpose(env, block, &out, NULL));
    spmmi_csr_free(block);
    *block = out;
    return SPMM_OK;
}

/* One order of the matrix, read again for each: orders are made of the file's. */
static spmm_status_t run_order(spmm_env_t *env, const char *path, const char *name)
{
    static const char       both[]  = "tiles+columns";
    const bool              columns = strcmp(name, both) == 0;
    const spmm_reorderer_t *method  = NULL;
    spmm_csr_t              block   = {0};
    clock_t                 start;
    spmm_status_t           status;

    SPMM_TRY(spmmi_reorderer_find(env, columns ? "tiles" : name, &method));
    SPMM_TRY(bench_block_read(env, path, SPMM_R_32F, &block));
    start  = clock();
    status = order_rows(env, method, &block);
    for (int turn = 0; turn < 2 && columns && status == SPMM_OK; turn++) {
        status = transpose(env, &block);
        if (status == SPMM_OK && turn == 0) {
            status = order_rows(env, method, &block);
        }
    }
    if (status == SPMM_OK) {
        status = print_tiles(env, bench_block_name(path), name, &block,
                             (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    spmmi_csr_free(&block);
    return status;
}

/* All orders of a list with commas. */
static int run_matrix(spmm_env_t *env, const char *path, const char *orders)
{
    int code = 0;

    for (const char *at = orders; *at != '\0';) {
        const size_t length   = strcspn(at, ",");
        char         name[32] = "";

        (void)snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), at);
        if (run_order(env, path, name) != SPMM_OK) {
            (void)fprintf(stderr, "bench_tiles: %s: %s\n", path, env->err.text);
            spmmi_error_clear(&env->err);
            code = 3;
        }
        at += length + (at[length] == ',');
    }
    return code;
}

int main(int argc, char **argv)
{
    spmm_env_t  env    = {.size = 1};
    const char *orders = "none";
    int         code   = 0;

    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    (void)printf("matrix\torder\trows\tnnz\ttiles16\tnnz_per_tile16\tdensity16_percent\t"
                 "sp24_16_percent\ttiles32\tnnz_per_tile32\tsp24_32_percent\t"
                 "nnz_in_sp24_percent\tcpu_s\n");
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--orders") == 0 && k + 1 < argc) {
            orders = argv[++k];
        } else {
            const int now = run_matrix(&env, argv[k], orders);

            code = now > code ? now : code;
        }
    }
    MPI_Finalize();
    return code;
}
