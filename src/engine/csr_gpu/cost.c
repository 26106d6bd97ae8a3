/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/csr_gpu/cost.h"

#include <math.h>

#include "base/scalar.h"
#include "engine/choose/roofline.h"
#include "engine/csr_gpu/work.h"
#include "spmm_dist/context.h"

/* Rows of a piece that stores column-major C in tiles; 0: it does not. */
static int32_t tile_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    return problem->layout != SPMM_LAYOUT_MIXED || pattern->mapped || problem->in_order
               ? 0
               : spmmi_csr_tile_rows(pattern->n_rows, pattern->nnz, problem->n,
                                     (int64_t)spmm_type_size(problem->ab_type));
}

/* Columns of a slice, as the launcher (csr_gpu_launch.cuh) chooses them for data that is aligned as
 * far as its width lets it. */
static int64_t slice_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const int64_t size = (int64_t)spmm_type_size(problem->ab_type), row = pattern->used_cols * size;
    const int64_t l2     = 48000000;
    const bool    single = spmmi_gpu_narrow(problem) > 0.0; /* one element at a time */
    const int32_t tile   = tile_of(pattern, problem);
    const int64_t widest = tile > 0 ? spmmi_csr_tile_columns(tile, size)
                           : single ? 128
                                    : 512 / size;
    const int64_t least  = single ? widest : 128 / size;
    int64_t       slice  = single ? 4 : 64 / size;

    while (slice < widest && slice < problem->n) {
        slice *= 2;
    }
    for (int64_t narrow = slice / 2; row * slice > l2 && narrow >= least; narrow /= 2) {
        if (row * narrow <= l2) {
            return narrow;
        }
    }
    return slice;
}

/* What every product moves once, beyond L2 and within; a row of B for every entry, of which
 * neighbouring rows find a part in L1, more where they share columns: hence entries, and pairs of a
 * window and a column, of 32 rows where all pieces are in work at once, else of 8; instructions of
 * entries, and of the ends of rows; what comes element by element; lanes of a slice beyond the last
 * column; and the longest row, as long as it is not cut: its sums meet.  Constants by
 * bench/fit/fit.py from times on one H100, those of complex types on one H200
 * (docs/explanation/choices.md). */
static const double constants[3][10] = {
    {6.66, 0.800, 0.259, 0.680, 0.176, 0.175, 2.00, 0.0, 0.0, 1.65}, /* 16-bit types */
    {5.23, 0.866, 0.379, 0.484, 0.171, 0.510, 1.81, 0.193, 0.518, 1.78},
    {5.24, 0.892, 0.892, 0.570, 0.177, 0.912, 0.0}, /* complex types */
};

static const double *constants_of(spmm_type_t type)
{
    return constants[spmmi_is_complex(type) ? 2 : spmm_type_size(type) > 2];
}

/* One column: a launch, and the entries at the rate at which they come: least squares over 14 real
 * matrices in FP64 on one H200, 9 % rms. */
static int terms_of_column(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double entry = (double)spmm_type_size(problem->ab_type) + 2.0 * sizeof(int32_t);

    terms[0] = (spmm_cost_term_t){"launch", 5.73, 1e-6};
    terms[1] = (spmm_cost_term_t){"entries", 0.523, (double)pattern->nnz * entry * 1e-12};
    return 2;
}

static double pairs_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const bool wave =
        !problem->shares &&
        spmmi_csr_in_wave(pattern->n_rows, pattern->nnz, pattern->max_row, pattern->used_cols,
                          problem->n, (int64_t)spmm_type_size(problem->ab_type));

    return (double)pattern->tc.pairs[wave ? 2 : 0];
}

/* Elements of column-major C that are stored one by one: ps of each.  40 real matrices in FP64 and
 * FP32, N = 8, 32 and 128, on one H100 have 0 to 5 where C is small and 13 to 35 where it has
 * millions, which leave L2 before their sectors are whole; a row-major C turned is as fast from
 * 600,000 elements on.  Tiles take 1 in place of it, on the same matrices, and the kernel begins
 * while the one that turns B ends: 0.8 us less, medians at N = 8 and 32. */
static double scattered(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    return fmin(2.0 + 9e-6 * (double)problem->n * (double)pattern->c_rows, 28.0);
}

int spmmi_csr_gpu_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const int32_t  tile   = tile_of(pattern, problem);
    const int64_t  slice  = slice_of(pattern, problem);
    const double   slices = fmax(1.0, (double)problem->n / (double)slice), us = 1e-6;
    const double   nnz = (double)pattern->nnz;
    const double   a   = nnz * ((double)spmm_type_size(problem->ab_type) + 2.0 * sizeof(int32_t));
    const double  *k   = constants_of(problem->ab_type);
    const double   passes = ceil(slices) / device->n_sm * 1e-9;
    const double   idle   = ceil(slices) * (double)slice / (double)problem->n - 1.0; /* lanes */
    spmm_problem_t one    = *problem;

    if (problem->n == 1) {
        return terms_of_column(pattern, problem, terms);
    }
    one.n    = slice < problem->n ? slice : problem->n;
    terms[0] = (spmm_cost_term_t){"launch", tile > 0 ? k[0] - 0.8 : k[0], us};
    spmmi_gpu_once_terms(device, slices * spmmi_gpu_once_s(pattern, &one, device, a), k + 1,
                         terms + 1);
    terms[3] =
        (spmm_cost_term_t){"gather", k[3], slices * spmmi_gpu_gather_s(pattern, &one, device, nnz)};
    terms[4] = (spmm_cost_term_t){
        "pairs", k[4],
        slices * spmmi_gpu_gather_s(pattern, &one, device, pairs_of(pattern, problem))};
    terms[5]  = (spmm_cost_term_t){"entries", k[5], nnz * passes};
    terms[6]  = (spmm_cost_term_t){"rows", k[6], (double)pattern->n_rows * passes};
    terms[7]  = (spmm_cost_term_t){"narrow", k[7], spmmi_gpu_narrow(problem) * terms[3].seconds};
    terms[8]  = (spmm_cost_term_t){"idle", k[8], idle * terms[3].seconds};
    terms[9]  = spmmi_gpu_longest_term(pattern, k[9]);
    terms[10] = (spmm_cost_term_t){"columns", tile > 0 ? 1.0 : scattered(pattern, problem),
                                   problem->layout == SPMM_LAYOUT_MIXED
                                       ? (double)problem->n * (double)pattern->c_rows * 1e-12
                                       : 0.0};
    return 11;
}
