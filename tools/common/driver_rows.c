/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rows.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scalar.h"

/** One entry on its way to the owner of its column. */
typedef struct {
    int64_t row, col; /**< of A */
    double  value[2]; /**< parts */
} entry_t;

/** This rank's part of A and what its way through the transposition needs. */
typedef struct {
    const int64_t     *row_ptr, *col_idx;
    const void        *values;
    spmm_matrix_info_t info;
    bool               conjugate;
    int64_t           *first_col; /**< [size] first column of every rank */
    int               *count;     /**< [4 * size]: send, send offset, receive, receive offset */
    entry_t           *send;      /**< [local_nnz] */
    entry_t           *recv;      /**< [n_recv] */
    int64_t            n_recv;
} transposition_t;

/** The last rank whose columns start at or before @p col: ranks without columns come before it. */
static int owner_of(const int64_t *first_col, int size, int64_t col)
{
    int low  = 0;
    int high = size;

    while (high - low > 1) {
        const int mid = low + (high - low) / 2;

        if (first_col[mid] <= col) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

/** Offsets of @p count entries of each rank; their sum. */
static int64_t sum_up(const int *count, int size, int *offset)
{
    int64_t sum = 0;

    for (int p = 0; p < size; p++) {
        offset[p] = (int)sum; /* where that is too large, nothing is sent */
        sum += count[p];
    }
    return sum;
}

/** Allocate everything and learn how much arrives.  Collective, agreed. */
static int transposition_prepare(driver_job_t *job, transposition_t *t)
{
    const int     size = job->size;
    const int64_t nnz  = t->info.local_nnz;
    int           code = DRIVER_GOOD;

    t->first_col = driver_alloc(size, sizeof *t->first_col);
    t->count     = calloc(4 * (size_t)size, sizeof *t->count);
    t->send      = driver_alloc(nnz, sizeof *t->send);
    if (t->first_col == NULL || t->count == NULL || t->send == NULL) {
        code = driver_fail_memory(job, nnz, sizeof *t->send, "the reference");
    } else if (nnz > INT_MAX) {
        code = driver_fail(job, DRIVER_OTHER, "a rank has too many entries to transpose them");
    }
    code = driver_agree(job, code);
    if (code == DRIVER_GOOD) {
        MPI_Allgather(&t->info.first_col, 1, MPI_INT64_T, t->first_col, 1, MPI_INT64_T, job->comm);
        for (int64_t e = 0; e < nnz; e++) {
            t->count[owner_of(t->first_col, size, t->col_idx[e])]++;
        }
        MPI_Alltoall(t->count, 1, MPI_INT, t->count + 2 * (size_t)size, 1, MPI_INT, job->comm);
        (void)sum_up(t->count, size, t->count + size);
        t->n_recv = sum_up(t->count + 2 * (size_t)size, size, t->count + 3 * (size_t)size);
        t->recv   = driver_alloc(t->n_recv, sizeof *t->recv);
        if (t->recv == NULL || t->n_recv > INT_MAX) {
            code = driver_fail_memory(job, t->n_recv, sizeof *t->recv, "the reference");
        }
        code = driver_agree(job, code);
    }
    return code;
}

/** Send all entries to the owners of their columns.  Collective. */
static void transposition_exchange(driver_job_t *job, transposition_t *t)
{
    const int         size = job->size;
    const spmm_type_t part = spmmi_part_type(t->info.type);
    const int         step = spmmi_type_parts(t->info.type);
    const double      sign = t->conjugate ? -1.0 : 1.0;
    int              *at   = t->count + size;
    MPI_Datatype      entry;

    for (int64_t r = 0; r < t->info.local_rows; r++) {
        for (int64_t e = t->row_ptr[r]; e < t->row_ptr[r + 1]; e++) {
            t->send[at[owner_of(t->first_col, size, t->col_idx[e])]++] =
                (entry_t){.row   = t->info.first_row + r,
                          .col   = t->col_idx[e],
                          .value = {spmmi_value_get(part, t->values, step * e),
                                    sign * spmmi_value_get(part, t->values, step * e + step - 1)}};
        }
    }
    (void)sum_up(t->count, size, at); /* which have moved on */
    MPI_Type_contiguous((int)sizeof(entry_t), MPI_BYTE, &entry);
    MPI_Type_commit(&entry);
    MPI_Alltoallv(t->send, t->count, at, entry, t->recv, t->count + 2 * (size_t)size,
                  t->count + 3 * (size_t)size, entry, job->comm);
    MPI_Type_free(&entry);
}

/** Sort the received entries into rows of the transpose. */
static int transposition_finish(driver_job_t *job, const transposition_t *t, driver_rows_t *rows)
{
    const int     parts   = spmmi_type_parts(t->info.type);
    const int64_t n       = t->info.local_cols;
    int64_t      *row_ptr = calloc((size_t)n + 2, sizeof *row_ptr);
    int64_t      *col     = driver_alloc(t->n_recv, sizeof *col);
    double       *values  = driver_alloc(parts * t->n_recv, sizeof *values);

    *rows = (driver_rows_t){.first   = t->info.first_col,
                            .n_rows  = n,
                            .row_ptr = row_ptr,
                            .col     = col,
                            .values  = values,
                            .type    = parts == 2 ? SPMM_C_64F : SPMM_R_64F,
                            .owned   = {row_ptr, col, values}};
    if (row_ptr == NULL || col == NULL || values == NULL) {
        return driver_fail_memory(job, t->n_recv, sizeof *values, "the reference");
    }
    /* Counted two places up, so that row_ptr[r + 1] is where row r is filled next. */
    for (int64_t e = 0; e < t->n_recv; e++) {
        row_ptr[t->recv[e].col - t->info.first_col + 2]++;
    }
    for (int64_t r = 0; r < n; r++) {
        row_ptr[r + 2] += row_ptr[r + 1];
    }
    for (int64_t e = 0; e < t->n_recv; e++) {
        const int64_t at = row_ptr[t->recv[e].col - t->info.first_col + 1]++;

        col[at] = t->recv[e].row;
        memcpy(values + parts * at, t->recv[e].value, (size_t)parts * sizeof *values);
    }
    return DRIVER_GOOD;
}

int driver_rows_create(driver_job_t *job, const spmm_context_t *ctx, const spmm_matrix_t *A,
                       spmm_op_t op, driver_rows_t *rows)
{
    transposition_t t = {.info = {.struct_size = sizeof t.info}, .conjugate = op == SPMM_OP_H};
    int             code;

    *rows = (driver_rows_t){0};
    code  = driver_check(job, ctx, spmm_matrix_get_info(A, &t.info), DRIVER_OTHER);
    if (code == DRIVER_GOOD) {
        code = driver_check(job, ctx, spmm_matrix_get_csr(A, &t.row_ptr, &t.col_idx, &t.values),
                            DRIVER_OTHER);
    }
    code = driver_agree(job, code);
    if (code == DRIVER_GOOD && op == SPMM_OP_N) {
        *rows = (driver_rows_t){.first   = t.info.first_row,
                                .n_rows  = t.info.local_rows,
                                .row_ptr = t.row_ptr,
                                .col     = t.col_idx,
                                .values  = t.values,
                                .type    = t.info.type};
        return code;
    }
    if (code == DRIVER_GOOD) {
        code = transposition_prepare(job, &t);
    }
    if (code == DRIVER_GOOD) {
        transposition_exchange(job, &t);
        code = driver_agree(job, transposition_finish(job, &t, rows));
    }
    free(t.first_col);
    free(t.count);
    free(t.send);
    free(t.recv);
    if (code != DRIVER_GOOD) {
        driver_rows_free(rows);
    }
    return code;
}

void driver_rows_free(driver_rows_t *rows)
{
    for (int i = 0; i < 3; i++) {
        free(rows->owned[i]);
    }
    *rows = (driver_rows_t){0};
}

double driver_rows_max_sum(driver_job_t *job, const driver_rows_t *rows)
{
    double largest = 0.0;

#pragma omp parallel for schedule(static) reduction(max : largest)
    for (int64_t r = 0; r < rows->n_rows; r++) {
        double sum = 0.0;

        for (int64_t e = rows->row_ptr[r]; e < rows->row_ptr[r + 1]; e++) {
            sum += fabs(spmmi_value_get(rows->type, rows->values, e));
        }
        largest = sum > largest ? sum : largest;
    }
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, job->comm);
    return largest;
}
