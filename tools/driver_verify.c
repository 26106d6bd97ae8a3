/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_verify.h"

#include <float.h>
#include <math.h>

#include "base/scalar.h"

enum { STRIP = 128 }; /* columns whose reference is held at a time */

/** Largest finite value, and what one rounding may lose where the result is subnormal (or flushed
 *  to zero, as GPUs do): the eta of Higham, Accuracy and Stability, section 2.2. */
typedef struct {
    double largest;
    double eta_term; /**< for each product, in the type that sums are kept in */
    double eta_last; /**< for the rounding to storage */
} range_t;

static range_t range_of(spmm_type_t type)
{
    switch (type) {
    case SPMM_R_64F:
        return (range_t){DBL_MAX, DBL_MIN, DBL_MIN};
    case SPMM_R_32F:
        return (range_t){(double)FLT_MAX, (double)FLT_MIN, (double)FLT_MIN};
    case SPMM_R_16F: /* subnormals are multiples of 2^-24 and never flushed */
        return (range_t){65504.0, (double)FLT_MIN, 0x1p-25};
    case SPMM_R_16BF:
        return (range_t){0x1.fep127, (double)FLT_MIN, (double)FLT_MIN};
    case SPMM_TYPE_AUTO:
        break;
    }
    return (range_t){0.0, 0.0, 0.0};
}

/** ref = (alpha * op(A) * B + beta * C0)(row, first .. first + width - 1), bound = its terms'
 *  magnitudes. */
static void reference_strip(const driver_product_t *p, int64_t row, int64_t first, int width,
                            double *restrict ref, double *restrict bound)
{
    const driver_rows_t *rows = p->rows;

    for (int j = 0; j < width; j++) {
        ref[j]   = 0.0;
        bound[j] = 0.0;
    }
    for (int64_t e = rows->row_ptr[row]; e < rows->row_ptr[row + 1]; e++) {
        const double   a   = p->alpha * spmm_value_get(rows->type, rows->values, e);
        const uint64_t key = driver_dense_row(&p->B, rows->col[e]);

        for (int j = 0; j < width; j++) {
            const double term = a * driver_dense_value(&p->B, key, first + j);

            ref[j] += term;
            bound[j] += fabs(term);
        }
    }
    if (p->beta != 0.0) { /* BLAS: beta == 0 overwrites C, NaN included */
        const uint64_t key = driver_dense_row(&p->C0, rows->first + row);

        for (int j = 0; j < width; j++) {
            const double term = p->beta * driver_dense_value(&p->C0, key, first + j);

            ref[j] += term;
            bound[j] += fabs(term);
        }
    }
}

/** Error of one element relative to @p bound, after what underflow may cost. */
static double relative_error(double got, double want, double bound, double eta)
{
    const double difference = fabs(got - want);

    if (!isfinite(got)) {
        return INFINITY;
    }
    if (difference == 0.0) {
        return 0.0;
    }
    if (bound == 0.0) {
        return INFINITY; /* a sum of nothing is exactly 0 */
    }
    return difference > eta ? (difference - eta) / bound : 0.0;
}

static void compare_row(const driver_product_t *p, const range_t *range, int64_t row,
                        driver_verdict_t *verdict)
{
    const int64_t terms = p->rows->row_ptr[row + 1] - p->rows->row_ptr[row] + 1;
    const double  eta   = (double)terms * range->eta_term + range->eta_last;
    double        ref[STRIP], bound[STRIP];

    for (int64_t first = 0; first < p->block->columns; first += STRIP) {
        const int64_t left  = p->block->columns - first;
        const int     width = left < STRIP ? (int)left : STRIP;

        reference_strip(p, row, first, width, ref, bound);
        for (int j = 0; j < width; j++) {
            const int64_t at  = driver_block_index(p->block, row, first + j);
            const double  got = spmm_value_get(p->block->type, p->C, at);
            double        error;

            if (!(bound[j] <= range->largest)) { /* NaN and infinity in A included */
                verdict->out_of_range++;
                continue;
            }
            verdict->compared++;
            error = relative_error(got, ref[j], bound[j], eta);
            if (verdict->row < 0 || error > verdict->max_error) {
                verdict->max_error = error;
                verdict->row       = p->rows->first + row;
                verdict->col       = first + j;
                verdict->got       = got;
                verdict->want      = ref[j];
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
    const range_t    range   = range_of(product->block->type);
    driver_verdict_t verdict = {.row = -1, .col = -1};

#pragma omp parallel
    {
        driver_verdict_t mine = {.row = -1, .col = -1};

#pragma omp for schedule(dynamic, 64) nowait
        for (int64_t row = 0; row < product->rows->n_rows; row++) {
            compare_row(product, &range, row, &mine);
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
