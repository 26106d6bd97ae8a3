/* SPDX-License-Identifier: Apache-2.0 */
/** @file lobpcg.c
 *  The smallest eigenvalues of a grid's Laplacian by LOBPCG (Knyazev 2001) without a
 *  preconditioner: Rayleigh-Ritz in the span of the iterates X, their residuals W and the last
 *  directions P.  One row-major block S = [X W P] holds all three side by side, and AS = A S
 *  likewise: each step the plan multiplies A by the columns of W where they lie, into those of A W.
 *  Blocks stay where the context computes (block_dense.h: cuBLAS on GPUs); Gram matrices and small
 *  eigenproblems are the host's.  The eigenvalues found are compared with their
 *  formulas in laplacian.h.
 *
 *      mpirun -n 4 lobpcg 7 40 36 32 [engine]        (stencil and grid)
 */
#include "block_dense.h"
#include "laplacian.h"
#include "small_dense.h"

enum {
    WANTED    = 6,
    M         = 10 /* more than wanted: the last ones converge late */,
    Q         = 3 * M,
    MAX_STEPS = 1000
};
static const double TOLERANCE = 1e-6; /* of residuals: eigenvalues are right to its square */

static int64_t rows; /* of this rank */

/* [rows x Q] on the device, and the room where the next ones are made. */
typedef struct {
    double *S, *AS, *next_S, *next_AS;
} basis_t;

static double *new_block(void)
{
    void *block = NULL;

    check(spmm_buffer_alloc(ctx, sizeof(double) * (size_t)rows * Q, &block));
    return block;
}

static void free_block(double *block)
{
    void *memory = block;

    check(spmm_buffer_free(ctx, &memory));
}

/* A times M columns of S from `column` on, into the same columns of AS.  Returns the seconds. */
static double multiply(spmm_plan_t *plan, basis_t *b, int column)
{
    const double start = MPI_Wtime();

    check(spmm_execute(plan, M, 1.0, b->S + column, Q, 0.0, b->AS + column, Q, NULL));
    check(spmm_stream_synchronize(ctx, NULL)); /* for the clock alone */
    return MPI_Wtime() - start;
}

/* G = S^T S and H = S^T A S of the first q columns, over all ranks. */
static void gram(int q, const basis_t *b, double *G, double *H)
{
    block_gram(rows, q, b->S, b->S, Q, G);
    block_gram(rows, q, b->S, b->AS, Q, H);
    reduce_all(G, q * q, MPI_SUM);
    reduce_all(H, q * q, MPI_SUM);
    for (int i = 0; i < q; i++) { /* exactly symmetric */
        for (int j = 0; j < i; j++) {
            H[i * q + j] = H[j * q + i] = 0.5 * (H[i * q + j] + H[j * q + i]);
        }
    }
}

/* X <- S Y, P <- [W P] (the rows of Y that belong to them); likewise for A X and A P. */
static void combine(int q, const double *Y, double **S, double **next)
{
    double *const old = *S;

    block_multiply(rows, q, M, old, Q, Y, 0.0, *next, Q);
    if (q > M) {
        block_multiply(rows, q - M, M, old + M, Q, Y + M * M, 0.0, *next + 2 * M, Q);
    }
    *S    = *next;
    *next = old;
}

/* X, P, A X, A P and theta by Rayleigh-Ritz in the first q columns of S; where they are nearly
 * dependent, P and, if need be, W are left out. */
static void rayleigh_ritz(int q, basis_t *b, double *theta)
{
    static double G[Q * Q], H[Q * Q], work[2 * Q * Q], Y[Q * M];

    for (; q >= M; q -= M) {
        gram(q, b, G, H);
        if (small_rayleigh_ritz(q, M, H, G, work, theta, Y) == 0) {
            combine(q, Y, &b->S, &b->next_S);
            combine(q, Y, &b->AS, &b->next_AS);
            return;
        }
    }
    (void)fprintf(stderr, "lobpcg: X is singular: are there %d grid points?\n", (int)M);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* W = A X - X diag(theta); returns the largest norm of the first WANTED columns. */
static double residuals(basis_t *b, const double *theta)
{
    double *const W          = b->S + M;
    double        one[M * M] = {0.0}, minus_theta[M * M] = {0.0}, squares[M * M], worst = 0.0;

    for (int j = 0; j < M; j++) {
        one[j * M + j]         = 1.0;
        minus_theta[j * M + j] = -theta[j];
    }
    block_multiply(rows, M, M, b->AS, Q, one, 0.0, W, Q);
    block_multiply(rows, M, M, b->S, Q, minus_theta, 1.0, W, Q);
    block_gram(rows, M, W, W, Q, squares);
    reduce_all(squares, M * M, MPI_SUM);
    for (int j = 0; j < WANTED; j++) {
        worst = larger(worst, sqrt(squares[j * M + j]));
    }
    return worst;
}

/* Random X. */
static void start_block(basis_t *b, int64_t first_row)
{
    double *host = allocate(rows * Q, sizeof *host);

    for (int64_t k = 0; k < rows * M; k++) {
        host[k / M * Q + k % M] = random_element(first_row + k / M, k % M);
    }
    check(spmm_buffer_copy(ctx, b->S, host, sizeof(double) * (size_t)rows * Q));
    free(host);
}

int main(int argc, char **argv)
{
    spmm_context_options_t where   = SPMM_CONTEXT_OPTIONS_INIT;
    grid_t                 grid    = {.points = 5, .n = {40, 33, 1}};
    spmm_plan_t           *plan    = NULL;
    spmm_plan_options_t    options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t     my      = {.struct_size = sizeof my};
    int                    rank = 0, steps    = 0;
    double                 theta[M], residual = INFINITY, error = 0.0, products = 0.0, start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && argc < 5) {
        if (rank == 0) {
            (void)fprintf(stderr,
                          "usage: lobpcg [POINTS NX NY NZ [ENGINE]]: points of the stencil, "
                          "5, 7, 9 or 27, and the grid\n");
        }
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    if (argc > 4) {
        const int plane = atoi(argv[1]) == 5 || atoi(argv[1]) == 9;

        grid = (grid_t){atoi(argv[1]), {atoi(argv[2]), atoi(argv[3]), plane ? 1 : atoi(argv[4])}};
    }
    options.engine = argc > 5 ? argv[5] : NULL;
    where.device   = BLOCK_DEVICE;
    check(spmm_context_create(MPI_COMM_WORLD, &where, &ctx));
    block_open((size_t)Q * Q);
    spmm_matrix_t *A = make_laplacian(&grid, 0.0);
    check(spmm_matrix_get_info(A, &my));
    check(spmm_plan_create(A, M, &options, &plan));
    rows      = my.local_rows;
    basis_t b = {new_block(), new_block(), new_block(), new_block()};
    start_block(&b, my.first_row);

    start = MPI_Wtime();
    products += multiply(plan, &b, 0);
    rayleigh_ritz(M, &b, theta); /* an orthonormal X */
    while (steps < MAX_STEPS && (residual = residuals(&b, theta)) > TOLERANCE) {
        products += multiply(plan, &b, M);
        rayleigh_ritz(steps == 0 ? 2 * M : Q, &b, theta); /* no P in the first step */
        steps++;
    }

    double *exact = laplacian_eigenvalues(&grid);
    for (int j = 0; j < WANTED; j++) {
        error = larger(error, fabs(theta[j] - exact[j]));
    }
    if (rank == 0) {
        printf("%lld rows: %d steps in %.3f s, %.3f s of it products; residual %.1e; smallest "
               "eigenvalues %.9f to %.9f, error %.1e\n",
               (long long)my.rows, steps, MPI_Wtime() - start, products, residual, theta[0],
               theta[WANTED - 1], error);
    }

    free_block(b.S);
    free_block(b.AS);
    free_block(b.next_S);
    free_block(b.next_AS);
    block_close();
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(exact);
    MPI_Finalize();
    return residual <= TOLERANCE && error < 1e-8 ? EXIT_SUCCESS : EXIT_FAILURE;
}
