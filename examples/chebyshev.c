/* SPDX-License-Identifier: Apache-2.0 */
/** @file chebyshev.c
 *  A block Chebyshev filter (Zhou, Saad, Tiago, Chelikowsky 2006): the polynomial T_d of A that is
 *  small on [CUT, top], the unwanted part of the spectrum, and large below.  With centre c and half
 *  width e of that interval the three-term recurrence is
 *
 *      Y_1 = 1/e (A - c I) Y_0,    Y_k+1 = 2/e (A - c I) Y_k - Y_k-1:
 *
 *  one spmm_execute() each, with alpha = 2/e and beta = -1 into the block that held Y_k-1.  The
 *  shift is in the diagonal of the matrix, no other operation is needed, nothing leaves the device.
 *  Checked on a plane grid, whose eigenvectors are known: every coefficient of the filtered block
 *  is T_d((l - c) / e) times that of the random block, and almost all energy lies below CUT.
 *
 *      mpirun -n 4 chebyshev [engine]
 */
#include "laplacian.h"

enum { NX = 40, NY = 33, COLUMNS = 4, DEGREE = 30 };

static const grid_t GRID = {5, {NX, NY, 1}};
static const double CUT = 0.3, TOP = 8.0; /* the spectrum lies in (0, 8) */

/* T_d(x) for any x, in the wanted part beyond -1. */
static double chebyshev(int d, double x)
{
    return fabs(x) <= 1.0 ? cos(d * acos(x))
                          : (x < 0.0 && d % 2 == 1 ? -1.0 : 1.0) * cosh(d * acosh(fabs(x)));
}

/* Y <- T_d of the shifted matrix times Y; other is as large.  Returns the block with the result. */
static void *filter(spmm_plan_t *plan, int degree, double e, void *Y, void *other)
{
    check(spmm_execute(plan, COLUMNS, 1.0 / e, Y, COLUMNS, 0.0, other, COLUMNS, NULL));
    for (int k = 1; k < degree; k++) {
        void *const previous = Y;

        Y     = other; /* Y_k; Y_k-1 becomes Y_k+1 */
        other = previous;
        check(spmm_execute(plan, COLUMNS, 2.0 / e, Y, COLUMNS, -1.0, other, COLUMNS, NULL));
    }
    check(spmm_stream_synchronize(ctx, NULL));
    return other;
}

/* Coefficients [NX * NY x COLUMNS] in the orthonormal eigenvectors sin(a pi x) sin(b pi y), by the
 * sine transform in x and then in y; all ranks get them. */
static double *coefficients(const spmm_matrix_info_t *my, const double *block)
{
    const double pi    = acos(-1.0);
    const double scale = 2.0 / sqrt((NX + 1.0) * (NY + 1.0));
    const int    size  = NX * NY * COLUMNS;
    double      *half  = allocate(size, sizeof *half);
    double      *whole = allocate(size, sizeof *whole);

    for (int64_t i = 0; i < my->local_rows; i++) {
        const int64_t x = (my->first_row + i) % NX, y = (my->first_row + i) / NX;

        for (int64_t a = 0; a < NX; a++) {
            const double wave = scale * sin((double)((a + 1) * (x + 1)) * pi / (NX + 1));

            for (int j = 0; j < COLUMNS; j++) {
                half[(y * NX + a) * COLUMNS + j] += wave * block[i * COLUMNS + j];
            }
        }
    }
    reduce_all(half, size, MPI_SUM);
    for (int64_t b = 0; b < NY; b++) {
        for (int64_t y = 0; y < NY; y++) {
            const double wave = sin((double)((b + 1) * (y + 1)) * pi / (NY + 1));

            for (int k = 0; k < NX * COLUMNS; k++) {
                whole[b * NX * COLUMNS + k] += wave * half[y * NX * COLUMNS + k];
            }
        }
    }
    free(half);
    return whole;
}

/* Part of the energy below CUT. */
static double wanted_energy(const double *of)
{
    double wanted = 0.0, all = 0.0;

    for (int k = 0; k < NX * NY * COLUMNS; k++) {
        const int mode = k / COLUMNS;

        all += of[k] * of[k];
        if (laplacian_eigenvalue(&GRID, mode % NX + 1, mode / NX + 1, 1) < CUT) {
            wanted += of[k] * of[k];
        }
    }
    return wanted / all;
}

/* The largest |after - T_d before| relative to the largest |after|. */
static double filter_error(const double *before, const double *after, double c, double e)
{
    double worst = 0.0, largest = 0.0;

    for (int k = 0; k < NX * NY * COLUMNS; k++) {
        const int    mode = k / COLUMNS;
        const double l    = laplacian_eigenvalue(&GRID, mode % NX + 1, mode / NX + 1, 1);

        worst   = larger(worst, fabs(after[k] - chebyshev(DEGREE, (l - c) / e) * before[k]));
        largest = fmax(largest, fabs(after[k]));
    }
    return worst / largest;
}

int main(int argc, char **argv)
{
    const double        c = (TOP + CUT) / 2.0, e = (TOP - CUT) / 2.0;
    spmm_plan_t        *plan    = NULL;
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    void               *Y = NULL, *other = NULL;
    int                 rank = 0;
    double              before, after, error;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    options.engine = argc > 1 ? argv[1] : NULL;
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    spmm_matrix_t *A = make_laplacian(&GRID, c); /* A - c I */
    check(spmm_matrix_get_info(A, &my));
    check(spmm_plan_create(A, COLUMNS, &options, &plan));

    const size_t bytes = sizeof(double) * (size_t)my.local_rows * COLUMNS;
    double      *host  = allocate(my.local_rows * COLUMNS, sizeof *host);
    for (int64_t k = 0; k < my.local_rows * COLUMNS; k++) {
        host[k] = random_element(my.first_row + k / COLUMNS, k % COLUMNS);
    }
    check(spmm_buffer_alloc(ctx, bytes, &Y));
    check(spmm_buffer_alloc(ctx, bytes, &other));
    check(spmm_buffer_copy(ctx, Y, host, bytes));
    double     *random = coefficients(&my, host);
    const void *result = filter(plan, DEGREE, e, Y, other);
    check(spmm_buffer_copy(ctx, host, result, bytes));
    double *filtered = coefficients(&my, host);

    before = wanted_energy(random);
    after  = wanted_energy(filtered);
    error  = filter_error(random, filtered, c, e);
    if (rank == 0) {
        printf("degree %d: %.4f of the energy below %.1f before, %.8f after; error of the filter "
               "%.1e\n",
               (int)DEGREE, before, CUT, after, error);
    }

    check(spmm_buffer_free(ctx, &Y));
    check(spmm_buffer_free(ctx, &other));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(host);
    free(random);
    free(filtered);
    MPI_Finalize();
    return before < 0.1 && after > 0.9999 && error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
