/* SPDX-License-Identifier: Apache-2.0 */
/* A window of a tensor-core format times dense for one arithmetic; tc_mm.c includes it once for
 * each.
 *
 *   TC_NAME              name of the function; TC_TILE that of its inner part
 *   TC_T                 type of products and sums
 *   AB_T, TC_LOAD(x)     storage of A and B, and an operand as the product takes it
 *   C_T, C_LOAD, C_STORE storage of C, and the way to and from TC_T
 *   TC_PARTS             2: elements are pairs of real and imaginary part; 1 where not defined
 */
#ifndef TC_PARTS
#define TC_PARTS 1
#endif

/* Window w of A times columns j0 .. j0 + width of B, where parts count as columns.  Inlined with a
 * constant width, so that the loops over columns become vector code.  Sums of SUM_BLOCKS blocks are
 * added up in FP64, as csr_mm.c does. */
static inline void TC_TILE(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args, int32_t w,
                           int64_t j0, int64_t width)
{
    const int32_t first    = w * A->height;
    const int32_t rows     = A->n_rows - first < A->height ? A->n_rows - first : A->height;
    const TC_T    alpha[2] = {(TC_T)args->x.alpha.re, (TC_T)args->x.alpha.im};
    const TC_T    beta[2]  = {(TC_T)args->x.beta.re, (TC_T)args->x.beta.im};
    const bool    reads    = !spmmi_scalar_is_zero(args->x.beta);
    TC_T          sum[SPMM_TC_MAX_HEIGHT][COLUMN_TILE] = {{0}};
    double total[SPMM_TC_MAX_HEIGHT][COLUMN_TILE]; /* of the blocks before, in long windows */
    spmm_tc_entry_t entry[SPMM_TC_MAX_ENTRIES];
    const int32_t   begin = A->block_ptr[w], end = A->block_ptr[w + 1];
    const bool      is_long = end - begin > SUM_BLOCKS;

    if (is_long) {
        memset(total, 0, sizeof total);
    }
    for (int32_t block = begin; block < end; block++) {
        size_t        offset;
        const int32_t count = A->decode(A->arrays, block, entry, &offset);
        const AB_T   *value = (const AB_T *)(const void *)((const char *)A->values + offset);

        for (int32_t k = 0; k < count; k++) {
            const AB_T *a  = value + (int64_t)entry[k].at * TC_PARTS;
            const AB_T *B  = (const AB_T *)args->x.B + entry[k].col * args->x.ldb * TC_PARTS + j0;
            TC_T       *to = sum[entry[k].row];

            for (int64_t j = 0; j < width; j += TC_PARTS) {
                to[j] += TC_LOAD(a[0]) * TC_LOAD(B[j]);
#if TC_PARTS == 2
                to[j] -= TC_LOAD(a[1]) * TC_LOAD(B[j + 1]);
                to[j + 1] += TC_LOAD(a[0]) * TC_LOAD(B[j + 1]) + TC_LOAD(a[1]) * TC_LOAD(B[j]);
#endif
            }
        }
        if (is_long && (block - begin) % SUM_BLOCKS == SUM_BLOCKS - 1) {
            for (int32_t r = 0; r < rows; r++) {
                for (int64_t j = 0; j < width; j++) {
                    total[r][j] += (double)sum[r][j];
                    sum[r][j] = 0;
                }
            }
        }
    }
    for (int32_t r = 0; r < rows && is_long; r++) {
        for (int64_t j = 0; j < width; j++) {
            sum[r][j] = (TC_T)(total[r][j] + (double)sum[r][j]);
        }
    }
    for (int32_t r = 0; r < rows; r++) {
        const int64_t i = args->row_map == NULL ? first + r : args->row_map[first + r];
        C_T          *C = (C_T *)args->x.C + i * args->x.ldc * TC_PARTS + j0;

        for (int64_t j = 0; j < width; j += TC_PARTS) {
            const TC_T *x = sum[r] + j;
#if TC_PARTS == 2
            TC_T re = alpha[0] * x[0] - alpha[1] * x[1], im = alpha[0] * x[1] + alpha[1] * x[0];

            if (reads) {
                const TC_T old = C_LOAD(C[j]);

                re += beta[0] * old - beta[1] * C_LOAD(C[j + 1]);
                im += beta[0] * C_LOAD(C[j + 1]) + beta[1] * old;
            }
            C[j]     = C_STORE(re);
            C[j + 1] = C_STORE(im);
#else
            C[j] = C_STORE(reads ? alpha[0] * x[0] + beta[0] * C_LOAD(C[j]) : alpha[0] * x[0]);
#endif
        }
    }
}

static void TC_NAME(const spmm_tc_view_t *A, const spmm_tc_mm_args_t *args, int32_t w)
{
    for (int64_t j0 = 0; j0 < args->x.n * TC_PARTS; j0 += COLUMN_TILE) {
        const int64_t left = args->x.n * TC_PARTS - j0;

        if (left >= COLUMN_TILE) {
            TC_TILE(A, args, w, j0, COLUMN_TILE);
        } else {
            TC_TILE(A, args, w, j0, left);
        }
    }
}
#undef TC_NAME
#undef TC_PARTS
#undef TC_TILE
#undef TC_T
#undef TC_LOAD
#undef AB_T
#undef C_T
#undef C_LOAD
#undef C_STORE
