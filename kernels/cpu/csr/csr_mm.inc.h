/* SPDX-License-Identifier: Apache-2.0 */
/* CSR times dense for one pair of storage types; csr_mm.c includes it once for each.
 *
 *   MM_NAME              name of the function; MM_ROW and MM_COLUMNS those of its parts
 *   AB_T, AB_LOAD(x)     storage of A and B, and its value as ACC_T
 *   C_T, C_LOAD, C_STORE storage of C, and the way to and from ACC_T
 *   ACC_T                type of products and sums
 */

/* Row i of A times columns j0 .. j0 + width of B: the sums stay in registers or L1.  Inlined
 * with column strides of 1 for row-major blocks, so that those loops become vector code.
 *
 * A sum of ACC_T takes SPMM_CSR_RUN terms at most, runs are added up in FP64: a sum of 10^7 FP32
 * terms would be wrong by percents, once it is so large that its terms no longer count.
 * SPMM_CSR_RUN * 2^-24 is below the bound of 32F. */
static inline __attribute__((always_inline)) void MM_ROW(const spmm_csr_mm_args_t *args, int64_t i,
                                                         int64_t j0, int64_t width, int64_t b_row,
                                                         int64_t b_col, int64_t c_row,
                                                         int64_t c_col)
{
    const AB_T    *value = args->values;
    const int32_t *col   = args->col_idx;
    const AB_T    *B0    = (const AB_T *)args->x.B + j0 * b_col;
    const ACC_T    alpha = (ACC_T)args->x.alpha.re, beta = (ACC_T)args->x.beta.re;
    const bool     adds = args->x.beta.re != 0.0;
    C_T *C = (C_T *)args->x.C + (args->row_map == NULL ? i : args->row_map[i]) * c_row + j0 * c_col;
    ACC_T         sum[COLUMN_TILE];
    double        total[COLUMN_TILE]; /* of the runs before */
    int64_t       k    = args->row_ptr[i];
    const int64_t last = args->row_ptr[i + 1];
    const bool    runs = last - k > SPMM_CSR_RUN;

    for (int64_t j = 0; j < width; j++) { /* of all 32 it took longer than 4 columns of a row */
        sum[j]   = 0;
        total[j] = 0.0;
    }
    while (k < last) {
        const int64_t end = last - k > SPMM_CSR_RUN ? k + SPMM_CSR_RUN : last;

        for (; k < end; k++) {
            const ACC_T a = AB_LOAD(value[k]);
            const AB_T *B = B0 + col[k] * b_row;

            for (int64_t j = 0; j < width; j++) {
                sum[j] += a * AB_LOAD(B[j * b_col]);
            }
        }
        for (int64_t j = 0; j < width && runs; j++) {
            total[j] += (double)sum[j];
            sum[j] = 0;
        }
    }
    for (int64_t j = 0; j < width && runs; j++) {
        sum[j] = (ACC_T)total[j];
    }
    for (int64_t j = 0; j < width; j++) {
        const ACC_T product = alpha * sum[j];

        C[j * c_col] = C_STORE(adds ? product + beta * C_LOAD(C[j * c_col]) : product);
    }
}

/* Column-major: a few columns at a time over all rows, since each is a stream of its own through
 * the cache and the pages; A, read once for each, is the smaller part. */
static void MM_COLUMNS(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row)
{
    int64_t j0 = 0;

    for (; j0 + COLUMN_STREAMS <= args->x.n; j0 += COLUMN_STREAMS) {
        for (int64_t i = first_row; i < last_row; i++) {
            MM_ROW(args, i, j0, COLUMN_STREAMS, 1, args->x.ldb, 1, args->x.ldc);
        }
    }
    for (; j0 < args->x.n; j0++) {
        for (int64_t i = first_row; i < last_row; i++) {
            MM_ROW(args, i, j0, 1, 1, args->x.ldb, 1, args->x.ldc);
        }
    }
}

static void MM_NAME(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row)
{
    if (args->x.layout == SPMM_LAYOUT_COL) {
        MM_COLUMNS(args, first_row, last_row);
        return;
    }
    for (int64_t i = first_row; i < last_row; i++) {
        for (int64_t j0 = 0; j0 < args->x.n; j0 += COLUMN_TILE) {
            const int64_t left = args->x.n - j0;

            if (left >= COLUMN_TILE) {
                MM_ROW(args, i, j0, COLUMN_TILE, args->x.ldb, 1, args->x.ldc, 1);
            } else {
                MM_ROW(args, i, j0, left, args->x.ldb, 1, args->x.ldc, 1);
            }
        }
    }
}
#undef MM_NAME
#undef MM_ROW
#undef MM_COLUMNS
#undef AB_T
#undef AB_LOAD
#undef C_T
#undef C_LOAD
#undef C_STORE
#undef ACC_T
