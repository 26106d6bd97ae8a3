/* SPDX-License-Identifier: Apache-2.0 */
/** @file lobpcg.c
 *  The smallest eigenvalues of a grid's Laplacian by LOBPCG (Knyazev 2001) without a preconditioner:
 *  Rayleigh-Ritz in the span of the iterates X, their residuals W and the last directions P.  One
 *  row-major block S = [X W P] holds all three side by side, and AS = A S likewise; a step multiplies
 *  A by the columns of W alone.  The sparse product runs on the context's device; the dense block
 *  operations run on the host, so that on GPUs W and A W are copied each step (a program in
 *  production keeps S on the device and calls cuBLAS).
 *  The eigenvalues found are compared with their formulas in laplacian.h.
 *
 *      mpirun -n 4 lobpcg 7 40 36 32 [engine]        (stencil and grid)
 */
#include "laplacian.h"
#include "small_dense.h"

enum {
    WANTED    = 6,
    M         = 10 /* more than wanted: the last ones converge late */,
    Q         = 3 * M,
    MAX_STEPS = 500
};
static const double TOLERANCE = 1e-6; /* of residuals: eigenvalues are right to its square */

static int64_t rows; /* of this rank */

/* A times the M columns of S from `column` on, into the same columns of AS; host is [rows x M].
 * Returns the seconds of the product, without the copies. */
static double multiply(spmm_plan_t *plan, void *B, void *C, double *host, const double *S,
                       double *AS, int column)
{
    const size_t bytes = sizeof(double) * (size_t)rows * M;
    double       start;

    for (int64_t i = 0; i < rows; i++) {
        memcpy(host + i * M, S + i * Q + column, sizeof(double) * M);
    }
    check(spmm_buffer_copy(ctx, B, host, bytes));
    start = MPI_Wtime();
    check(spmm_execute(plan, M, 1.0, B, M, 0.0, C, M, NULL));
    check(spmm_stream_synchronize(ctx, NULL));
    start = MPI_Wtime() - start;
    check(spmm_buffer_copy(ctx, host, C, bytes));
    for (int64_t i = 0; i < rows; i++) {
        memcpy(AS + i * Q + column, host + i * M, sizeof(double) * M);
    }
    return start;
}

/* G = S^T S and H = S^T A S of the first q columns, over all ranks. */
static void gram(int q, const double *S, const double *AS, double *G, double *H)
{
    memset(G, 0, sizeof(double) * (size_t)(q * q));
    memset(H, 0, sizeof(double) * (size_t)(q * q));
    for (int64_t i = 0; i < rows; i++) {
        for (int a = 0; a < q; a++) {
            for (int b = 0; b < q; b++) {
                G[a * q + b] += S[i * Q + a] * S[i * Q + b];
                H[a * q + b] += S[i * Q + a] * AS[i * Q + b];
            }
        }
    }
    reduce_all(G, q * q, MPI_SUM);
    reduce_all(H, q * q, MPI_SUM);
    for (int a = 0; a < q; a++) { /* exactly symmetric */
        for (int b = 0; b < a; b++) {
            H[a * q + b] = H[b * q + a] = 0.5 * (H[a * q + b] + H[b * q + a]);
        }
    }
}

/* X <- S Y, P <- [W P] (the rows of Y that belong to them); likewise for A X and A P. */
static void combine(int q, const double *Y, double *S)
{
    for (int64_t i = 0; i < rows; i++) {
        double x[M] = {0.0}, p[M] = {0.0};

        for (int a = 0; a < q; a++) {
            for (int j = 0; j < M; j++) {
                x[j] += S[i * Q + a] * Y[a * M + j];
                p[j] += a < M ? 0.0 : S[i * Q + a] * Y[a * M + j];
            }
        }
        memcpy(S + i * Q, x, sizeof x);
        memcpy(S + i * Q + 2 * M, p, sizeof p);
    }
}

/* X, P, A X, A P and theta by Rayleigh-Ritz in the first q columns of S; where they are nearly
 * dependent, P and, if need be, W are left out. */
static void rayleigh_ritz(int q, double *S, double *AS, double *theta)
{
    static double G[Q * Q], H[Q * Q], work[2 * Q * Q], Y[Q * M];

    for (; q >= M; q -= M) {
        gram(q, S, AS, G, H);
        if (small_rayleigh_ritz(q, M, H, G, work, theta, Y) == 0) {
            combine(q, Y, S);
            combine(q, Y, AS);
            return;
        }
    }
    (void)fprintf(stderr, "lobpcg: X is singular: are there %d grid points?\n", (int)M);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* W = A X - X diag(theta); returns the largest norm of the first WANTED columns. */
static double residuals(double *S, const double *AS, const double *theta)
{
    double norm[M] = {0.0}, worst = 0.0;

    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < M; j++) {
            const double r = AS[i * Q + j] - theta[j] * S[i * Q + j];

            S[i * Q + M + j] = r;
            norm[j] += r * r;
        }
    }
    reduce_all(norm, M, MPI_SUM);
    for (int j = 0; j < WANTED; j++) {
        worst = fmax(worst, sqrt(norm[j]));
    }
    return worst;
}

int main(int argc, char **argv)
{
    grid_t              grid    = {.points = 5, .n = {40, 33, 1}};
    spmm_plan_t        *plan    = NULL;
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    void               *B = NULL, *C = NULL;
    int                 rank = 0, steps    = 0;
    double              theta[M], residual = INFINITY, error = 0.0, products = 0.0, start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 4) {
        const int plane = atoi(argv[1]) == 5 || atoi(argv[1]) == 9;

        grid = (grid_t){atoi(argv[1]), {atoi(argv[2]), atoi(argv[3]), plane ? 1 : atoi(argv[4])}};
    }
    options.engine = argc > 5 ? argv[5] : NULL;
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    spmm_matrix_t *A = make_laplacian(&grid, 0.0);
    check(spmm_matrix_get_info(A, &my));
    check(spmm_plan_create(A, M, &options, &plan));
    rows               = my.local_rows;
    double      *S     = allocate(rows * Q, sizeof *S);
    double      *AS    = allocate(rows * Q, sizeof *AS);
    double      *host  = allocate(rows * M, sizeof *host);
    const size_t bytes = sizeof(double) * (size_t)rows * M;
    check(spmm_buffer_alloc(ctx, bytes, &B));
    check(spmm_buffer_alloc(ctx, bytes, &C));

    for (int64_t k = 0; k < rows * M; k++) {
        S[k / M * Q + k % M] = random_element(my.first_row + k / M, k % M);
    }
    start = MPI_Wtime();
    products += multiply(plan, B, C, host, S, AS, 0);
    rayleigh_ritz(M, S, AS, theta); /* an orthonormal X */
    while (steps < MAX_STEPS && (residual = residuals(S, AS, theta)) > TOLERANCE) {
        products += multiply(plan, B, C, host, S, AS, M);
        rayleigh_ritz(steps == 0 ? 2 * M : Q, S, AS, theta); /* no P in the first step */
        steps++;
    }

    double *exact = laplacian_eigenvalues(&grid);
    for (int j = 0; j < WANTED; j++) {
        error = fmax(error, fabs(theta[j] - exact[j]));
    }
    if (rank == 0) {
        printf("%lld rows: %d steps in %.3f s, %.3f s of it products; residual %.1e; smallest "
               "eigenvalues %.9f to %.9f, error %.1e\n",
               (long long)my.rows, steps, MPI_Wtime() - start, products, residual, theta[0],
               theta[WANTED - 1], error);
    }

    check(spmm_buffer_free(ctx, &B));
    check(spmm_buffer_free(ctx, &C));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(exact);
    free(host);
    free(AS);
    free(S);
    MPI_Finalize();
    return residual <= TOLERANCE && error < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
