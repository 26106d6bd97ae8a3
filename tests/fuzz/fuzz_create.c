/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of a caller through the public API: CSR with indices of either width and blocks of
 * vectors, sound or not, then a plan by one of the engines and a product that is compared with the
 * entries one by one. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 40, MOST_ENTRIES = 200, N = 3 };

typedef struct {
    int64_t  n_rows, n_cols, vector, width; /* vector == 0: CSR */
    int64_t  n_ptr, n_col;                  /* of the arrays: */
    int64_t *ptr, *col;                     /* not a place longer than the contract says */
    double  *values;
} arrays_t;

/* False where the arrays cannot be as long as their offsets say: no caller can pass such. */
static int fill(spmm_fuzz_bytes_t *in, arrays_t *a)
{
    int64_t rows, entries, places;

    a->vector = (int64_t[]){0, 0, 2, 4, 8, 16, 3, -1}[spmm_fuzz_u8(in) % 8];
    a->width  = a->vector == 0 ? 1 : spmm_fuzz_int(in) % 20;
    a->n_rows = spmm_fuzz_int(in);
    a->n_cols = spmm_fuzz_int(in);
    rows      = a->vector > 0 ? a->n_rows / a->vector : a->n_rows;
    rows      = rows < 0 || rows > MOST_ROWS ? 0 : rows;
    if (a->n_rows > MOST_ROWS && a->n_rows <= INT32_MAX) {
        return 0;
    }
    a->n_ptr = rows + 1;
    a->ptr   = malloc((size_t)a->n_ptr * sizeof *a->ptr);
    spmm_fuzz_check(a->ptr != NULL, "memory");
    a->ptr[0] = spmm_fuzz_u8(in) == 255 ? spmm_fuzz_int(in) : 0;
    for (int64_t i = 0; i < rows; i++) {
        a->ptr[i + 1] = (int64_t)((uint64_t)a->ptr[i] + (uint64_t)spmm_fuzz_int(in)); /* may fall */
    }
    entries = a->ptr[0] == 0 && a->ptr[rows] > 0 ? a->ptr[rows] : 0;
    if (entries > MOST_ENTRIES) {
        return 0;
    }
    a->n_col  = entries;
    places    = entries * (a->vector > 0 ? a->vector * (a->width > 0 ? a->width : 0) : 1);
    a->col    = malloc((size_t)entries * sizeof *a->col + 1);
    a->values = malloc((size_t)places * sizeof *a->values + 1);
    spmm_fuzz_check(a->col != NULL && a->values != NULL, "memory");
    for (int64_t k = 0; k < entries; k++) {
        a->col[k] = spmm_fuzz_int(in);
    }
    for (int64_t k = 0; k < places; k++) {
        a->values[k] = (double)(k % 7) - 2.5;
    }
    return 1;
}

static void compare(const spmm_matrix_t *A, const double *B, const double *C)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    const int64_t     *row_ptr, *col;
    const double      *values;

    (void)spmm_matrix_get_info(A, &info);
    (void)spmm_matrix_get_csr(A, &row_ptr, &col, (const void **)&values);
    for (int64_t i = 0; i < info.rows; i++) {
        for (int64_t j = 0; j < N; j++) {
            double sum = 0.0, size = 0.0;

            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                sum += values[k] * B[col[k] * N + j];
                size += fabs(values[k] * B[col[k] * N + j]);
            }
            spmm_fuzz_check(fabs(C[i * N + j] - sum) <= 1e-12 * size, "the product is right");
        }
    }
}

static void multiply(spmm_matrix_t *A, uint8_t choice)
{
    static const char *const engines[] = {"csr-cpu", "dmma", "auto", "bittcf"};
    static const char *const orders[]  = {"order=none", "order=affinity", "order=sorted"};
    spmm_plan_options_t      o         = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t       info      = {.struct_size = sizeof info};
    spmm_plan_t             *plan      = NULL;
    spmm_status_t            status;
    double                  *B, *C;

    (void)spmm_matrix_get_info(A, &info);
    if (info.cols > 1000) {
        return;
    }
    o.engine = engines[choice % 4];
    o.tuning = orders[choice / 4 % 3];
    status   = spmm_plan_create(A, N, &o, &plan);
    spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
    if (status != SPMM_OK) {
        return;
    }
    B = malloc((size_t)(info.cols * N) * sizeof *B + 1);
    C = malloc((size_t)(info.rows * N) * sizeof *C + 1);
    spmm_fuzz_check(B != NULL && C != NULL, "memory");
    for (int64_t k = 0; k < info.cols * N; k++) {
        B[k] = (double)(k % 5) + 0.125;
    }
    for (int64_t k = 0; k < info.rows * N; k++) {
        C[k] = NAN;
    }
    status = spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, NULL);
    spmm_fuzz_check(status == SPMM_OK, "a plan multiplies");
    compare(A, B, C);
    free(B);
    free(C);
    (void)spmm_plan_destroy(&plan);
}

/* Indices in 32 bits; those too large become the largest, which is as wrong in every place, so that
 * no offset announces entries that it did not announce before. */
static int32_t *narrow(const int64_t *from, int64_t count)
{
    int32_t *to = malloc((size_t)count * sizeof *to + 1);

    spmm_fuzz_check(to != NULL, "memory");
    for (int64_t k = 0; k < count; k++) {
        to[k] = (int32_t)(from[k] > INT32_MAX   ? INT32_MAX
                          : from[k] < INT32_MIN ? INT32_MIN
                                                : from[k]);
    }
    return to;
}

/* 64-bit indices get the same answer, and the same matrix. */
static void check_width(const arrays_t *a, spmm_status_t status, const spmm_matrix_t *A)
{
    const int64_t *ptr[2], *col[2];
    const void    *values[2];
    spmm_matrix_t *wide = NULL;

    spmm_fuzz_check(status == spmm_matrix_create_csr(spmm_fuzz_ctx, a->n_rows, a->n_cols, a->ptr,
                                                     a->col, a->values, SPMM_R_64F, &wide),
                    "both widths are taken alike");
    if (status == SPMM_OK) {
        (void)spmm_matrix_get_csr(A, &ptr[0], &col[0], &values[0]);
        (void)spmm_matrix_get_csr(wide, &ptr[1], &col[1], &values[1]);
        spmm_fuzz_check(memcmp(ptr[0], ptr[1], (size_t)a->n_ptr * sizeof *a->ptr) == 0 &&
                            memcmp(col[0], col[1], (size_t)a->n_col * sizeof *a->col) == 0 &&
                            memcmp(values[0], values[1], (size_t)a->n_col * sizeof(double)) == 0,
                        "both widths make the same matrix");
    }
    (void)spmm_matrix_destroy(&wide);
}

static spmm_status_t create(const arrays_t *a, bool narrowed, spmm_matrix_t **A)
{
    int32_t      *ptr, *col;
    spmm_status_t status;

    if (a->vector != 0) {
        return spmm_matrix_create_cvse(spmm_fuzz_ctx, a->n_rows, a->n_cols, a->vector, a->width,
                                       a->ptr, a->col, a->values, SPMM_R_64F, A);
    }
    if (!narrowed) {
        return spmm_matrix_create_csr(spmm_fuzz_ctx, a->n_rows, a->n_cols, a->ptr, a->col,
                                      a->values, SPMM_R_64F, A);
    }
    ptr    = narrow(a->ptr, a->n_ptr);
    col    = narrow(a->col, a->n_col);
    status = spmm_matrix_create_csr32(spmm_fuzz_ctx, a->n_rows, a->n_cols, ptr, col, a->values,
                                      SPMM_R_64F, A);
    free(ptr);
    free(col);
    return status;
}

void spmm_fuzz_one(const uint8_t *data, size_t size)
{
    spmm_fuzz_bytes_t in     = {data, data + size};
    const uint8_t     choice = spmm_fuzz_u8(&in);
    arrays_t          a      = {0};
    spmm_matrix_t    *A      = NULL;
    spmm_status_t     status;

    if (fill(&in, &a)) {
        status = create(&a, choice & 16, &A);
        spmm_fuzz_status(status, spmm_last_error(spmm_fuzz_ctx));
        if (a.vector == 0 && (choice & 16)) {
            check_width(&a, status, A);
        }
        if (status == SPMM_OK) {
            spmm_fuzz_matrix(A);
            multiply(A, choice);
        }
        (void)spmm_matrix_destroy(&A);
    }
    free(a.ptr);
    free(a.col);
    free(a.values);
}
