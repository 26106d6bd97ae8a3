/* SPDX-License-Identifier: Apache-2.0 */
/** @file peierls.c
 *  The lowest eigenvalues of a complex Hermitian operator by a Chebyshev filter (chebyshev.c has
 *  the real one): electrons that hop on the sites of a torus, with Peierls phases,
 *
 *      H_st = -exp(i (theta + chi_s - chi_t))    from site t to its neighbour s.
 *
 *  theta = +-FLUX_X / NX or +-FLUX_Y / NY is the share of a step in the magnetic flux through the
 *  two holes of the torus, chi a random gauge, which changes every entry and no eigenvalue: those
 *  are -2 cos((2 pi a + FLUX_X) / NX) - 2 cos((2 pi b + FLUX_Y) / NY), whole a and b.  The block is
 *  filtered, made orthonormal, and after ROUNDS of that its Rayleigh quotient has the lowest of
 *  them.
 *
 *      mpirun -n 4 peierls [engine]
 */
#include <complex.h>

#include "laplacian.h"
#include "small_dense.h"

enum { NX = 24, NY = 21, SITES = NX * NY, COLUMNS = 12, WANTED = 6, DEGREE = 20, ROUNDS = 8 };

static const double FLUX_X = 1.1, FLUX_Y = 0.4, TOP = 4.0; /* the spectrum lies in (-4, 4) */

/* The entry of row s and column t, a neighbour or s itself. */
static double complex hop(int64_t s, int64_t t, double theta)
{
    return -cexp(I * (theta + random_element(s, 0) - random_element(t, 0)));
}

/* H - shift I, this rank's rows. */
static spmm_matrix_t *make_torus(int64_t first, int64_t rows, double shift)
{
    int64_t        *row_ptr = allocate(rows + 1, sizeof *row_ptr);
    int64_t        *col     = allocate(5 * rows, sizeof *col);
    double complex *value   = allocate(5 * rows, sizeof *value);
    spmm_matrix_t  *A       = NULL;

    for (int64_t i = 0; i < rows; i++) {
        const int64_t s = first + i, x = s % NX, y = s / NX;
        const int64_t to[4] = {y * NX + (x + 1) % NX, y * NX + (x + NX - 1) % NX,
                               (y + 1) % NY * NX + x, (y + NY - 1) % NY * NX + x};

        for (int k = 0; k < 4; k++) {
            const double step = k < 2 ? FLUX_X / NX : FLUX_Y / NY;

            col[5 * i + k]   = to[k];
            value[5 * i + k] = hop(s, to[k], k % 2 == 0 ? step : -step);
        }
        col[5 * i + 4]   = s;
        value[5 * i + 4] = -shift;
        row_ptr[i + 1]   = 5 * (i + 1);
    }
    check(spmm_matrix_create_csr(ctx, rows, rows, row_ptr, col, value, SPMM_C_64F, &A));
    free(row_ptr);
    free(col);
    free(value);
    return A;
}

static void compute_known(double *known)
{
    const double turn = 2.0 * acos(-1.0);

    for (int s = 0; s < SITES; s++) {
        known[s] = -2.0 * cos((turn * (s % NX) + FLUX_X) / NX) -
                   2.0 * cos((turn * (s / NX) + FLUX_Y) / NY);
    }
    qsort(known, SITES, sizeof *known, ascending);
}

/* Y <- T_d((H - c I) / e) Y; other is as large.  Returns the block with the result. */
static void *filter(spmm_plan_t *plan, double e, void *Y, void *other)
{
    check(spmm_execute(plan, COLUMNS, 1.0 / e, Y, COLUMNS, 0.0, other, COLUMNS, NULL));
    for (int k = 1; k < DEGREE; k++) {
        void *const previous = Y;

        Y     = other;
        other = previous;
        check(spmm_execute(plan, COLUMNS, 2.0 / e, Y, COLUMNS, -1.0, other, COLUMNS, NULL));
    }
    check(spmm_stream_synchronize(ctx, NULL));
    return other;
}

/* <column a of X, column b of Y>, over all ranks. */
static double complex dot(int64_t rows, const double complex *X, int a, const double complex *Y,
                          int b)
{
    double complex sum = 0.0;

    for (int64_t i = 0; i < rows; i++) {
        sum += conj(X[i * COLUMNS + a]) * Y[i * COLUMNS + b];
    }
    reduce_all((double *)&sum, 2, MPI_SUM);
    return sum;
}

/* Gram-Schmidt, twice. */
static void make_orthonormal(int64_t rows, double complex *Y)
{
    for (int b = 0; b < COLUMNS; b++) {
        for (int a = 0; a < 2 * b; a++) {
            const double complex part = dot(rows, Y, a % b, Y, b);

            for (int64_t i = 0; i < rows; i++) {
                Y[i * COLUMNS + b] -= part * Y[i * COLUMNS + a % b];
            }
        }
        const double length = sqrt(creal(dot(rows, Y, b, Y, b)));
        for (int64_t i = 0; i < rows; i++) {
            Y[i * COLUMNS + b] /= length;
        }
    }
}

/* Eigenvalues of the Hermitian X + i Z = Y^H (A Y), ascending: each twice those of the symmetric
 * (X -Z; Z X). */
static void ritz_values(int64_t rows, const double complex *Y, const double complex *AY,
                        double *value)
{
    enum { N = 2 * COLUMNS };
    double *S = allocate(N * N, sizeof *S), *V = allocate(N * N, sizeof *V), all[N];

    for (int a = 0; a < COLUMNS; a++) {
        for (int b = 0; b < COLUMNS; b++) {
            const double complex q = dot(rows, Y, a, AY, b);

            S[a * N + b] = S[(COLUMNS + a) * N + COLUMNS + b] = creal(q);
            S[(COLUMNS + a) * N + b]                          = cimag(q);
            S[a * N + COLUMNS + b]                            = -cimag(q);
        }
    }
    small_jacobi(N, S, V);
    for (int k = 0; k < N; k++) {
        all[k] = S[k * N + k];
    }
    qsort(all, N, sizeof *all, ascending);
    for (int k = 0; k < COLUMNS; k++) {
        value[k] = all[2 * k];
    }
    free(S);
    free(V);
}

int main(int argc, char **argv)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan    = NULL;
    void               *Y = NULL, *other = NULL;
    int                 rank = 0, size = 1;
    double             *known = allocate(SITES, sizeof *known), value[COLUMNS], error = 0.0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    compute_known(known);
    const double  cut = known[COLUMNS], c = (TOP + cut) / 2.0, e = (TOP - cut) / 2.0;
    const int64_t first = (int64_t)SITES * rank / size,
                  rows  = (int64_t)SITES * (rank + 1) / size - first;
    options.engine      = argc > 1 ? argv[1] : NULL;
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    spmm_matrix_t *A = make_torus(first, rows, c);
    check(spmm_plan_create(A, COLUMNS, &options, &plan));

    const size_t    bytes = sizeof(double complex) * (size_t)rows * COLUMNS;
    double complex *host  = allocate(rows * COLUMNS, sizeof *host);
    double complex *image = allocate(rows * COLUMNS, sizeof *image);
    for (int64_t k = 0; k < rows * COLUMNS; k++) {
        host[k] = random_element(first + k / COLUMNS, 1 + k % COLUMNS);
    }
    check(spmm_buffer_alloc(ctx, bytes, &Y));
    check(spmm_buffer_alloc(ctx, bytes, &other));
    for (int round = 0; round < ROUNDS; round++) {
        check(spmm_buffer_copy(ctx, Y, host, bytes));
        check(spmm_buffer_copy(ctx, host, filter(plan, e, Y, other), bytes));
        make_orthonormal(rows, host);
    }
    check(spmm_buffer_copy(ctx, Y, host, bytes));
    check(spmm_execute(plan, COLUMNS, 1.0, Y, COLUMNS, 0.0, other, COLUMNS, NULL));
    check(spmm_stream_synchronize(ctx, NULL));
    check(spmm_buffer_copy(ctx, image, other, bytes));
    ritz_values(rows, host, image, value);
    for (int k = 0; k < WANTED; k++) {
        error = larger(error, fabs(value[k] + c - known[k]));
        if (rank == 0) {
            printf("eigenvalue %d: %.12f, known %.12f\n", k, value[k] + c, known[k]);
        }
    }

    check(spmm_buffer_free(ctx, &Y));
    check(spmm_buffer_free(ctx, &other));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(host);
    free(image);
    free(known);
    MPI_Finalize();
    return error < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
