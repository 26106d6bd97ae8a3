/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_verify.h"

#include "base/scalar.h"
#include "tool_common.h"

enum { STRIP = 128 }; /* columns whose reference is held at a time */

static double imaginary_part(const driver_rows_t *rows, int64_t e)
{
    return spmmi_is_complex(rows->type)
               ? spmmi_value_get(spmmi_part_type(rows->type), rows->values, 2 * e + 1)
               : 0.0;
}

/** want = (alpha * op(A) * B + beta * C0)(row, first .. first + width - 1); of complex blocks the
 *  columns are parts, and first is even. */
static void reference_strip(const driver_product_t *p, int64_t row, int64_t first, int width,
                            tool_sum_t *restrict want)
{
    const driver_rows_t *rows = p->rows;

    for (int j = 0; j < width; j++) {
        want[j] = (tool_sum_t){0.0, 0.0};
    }
    for (int64_t e = rows->row_ptr[row]; e < rows->row_ptr[row + 1]; e++) {
        const double   a   = p->alpha * spmmi_value_get(rows->type, rows->values, e);
        const double   i   = p->alpha * imaginary_part(rows, e);
        const uint64_t key = driver_dense_row(&p->B, rows->col[e]);

        for (int j = 0; j < width; j++) {
            tool_sum_add(&want[j], a * driver_dense_value(&p->B, key, first + j));
        }
        for (int j = 0; j < width && spmmi_is_complex(rows->type); j++) {
            const double b = driver_dense_value(&p->B, key, (first + j) ^ 1); /* the other part */

            tool_sum_add(&want[j], j % 2 == 0 ? -i * b : i * b);
        }
    }
    if (p->beta != 0.0) { /* BLAS: beta == 0 overwrites C, NaN included */
        const uint64_t key = driver_dense_row(&p->C0, rows->first + row);

        for (int j = 0; j < width; j++) {
            tool_sum_add(&want[j], p->beta * driver_dense_value(&p->C0, key, first + j));
        }
    }
}

static void compare_row(const driver_product_t *p, int64_t row, driver_verdict_t *verdict)
{
    const int          parts = spmmi_type_parts(p->block->type);
    const spmm_type_t  type  = spmmi_part_type(p->block->type);
    const int64_t      terms = p->rows->row_ptr[row + 1] - p->rows->row_ptr[row] + 1;
    const tool_range_t range = tool_range(type, parts * terms);
    tool_sum_t         want[STRIP];

    for (int64_t first = 0; first < parts * p->block->columns; first += STRIP) {
        const int64_t left  = parts * p->block->columns - first;
        const int     width = left < STRIP ? (int)left : STRIP;

        reference_strip(p, row, first, width, want);
        for (int j = 0; j < width; j++) {
            const int64_t col = (first + j) / parts;
            const int64_t at  = driver_block_index(p->block, row, col);
            const double  got = spmmi_value_get(type, p->C, parts * at + (first + j) % parts);
            double        error;

            if (!(want[j].size <= range.largest)) { /* NaN and infinity in A included */
                verdict->out_of_range++;
                continue;
            }
            verdict->compared++;
            error = tool_relative_error(got, want[j].sum, want[j].size, range.eta);
            if (verdict->row < 0 || error > verdict->max_error) {
                verdict->max_error = error;
                verdict->row       = p->rows->first + row;
                verdict->col       = col;
                verdict->got       = got;
                verdict->want      = want[j].sum;
            }
        }
    }
}

static void merge(driver_verdict_t *into, const driver_verdict_t *other)
{
    driver_verdict_t sum = *into;

    if (other->row >= 0 && (into->row < 0 || other->max_error > into->max_error)) {
        sum = *other;
    }
    sum.compared     = into->compared + other->compared;
    sum.out_of_range = into->out_of_range + other->out_of_range;
    *into            = sum;
}

driver_verdict_t driver_compare(const driver_product_t *product)
{
    const int64_t    stride  = product->stride > 0 ? product->stride : 1;
    driver_verdict_t verdict = {.row = -1, .col = -1};

#pragma omp parallel
    {
        driver_verdict_t mine = {.row = -1, .col = -1};

#pragma omp for schedule(dynamic, 64) nowait
        for (int64_t row = 0; row < product->rows->n_rows; row += stride) {
            compare_row(product, row, &mine);
        }
#pragma omp critical
        merge(&verdict, &mine);
    }
    return verdict;
}

driver_verdict_t driver_verdict_reduce(driver_job_t *job, const driver_verdict_t *mine)
{
    struct {
        double error;
        int    rank;
    } worst                   = {mine->row < 0 ? -1.0 : mine->max_error, job->rank};
    int64_t          count[2] = {mine->compared, mine->out_of_range};
    driver_verdict_t all      = *mine;

    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, job->comm);
    MPI_Bcast(&all, (int)sizeof all, MPI_BYTE, worst.rank, job->comm);
    MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_INT64_T, MPI_SUM, job->comm);
    all.compared     = count[0];
    all.out_of_range = count[1];
    return all;
}
