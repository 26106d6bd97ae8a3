/* SPDX-License-Identifier: Apache-2.0 */
/** @file 04_time_loop.c
 *  A matrix whose values change in every step while its pattern stays: explicit diffusion
 *  u' = kx(t) u_xx + ky(t) u_yy on a grid with zero boundary, for several initial states at once.
 *  One step is U <- M(t) U with M(t) = I - dt (kx Lx + ky Ly).  spmm_matrix_update_values() refills
 *  the one plan; the two blocks change roles and never leave the device.
 *  Initial states are products of sines, eigenvectors of every M(t): the end is known exactly.
 *
 *      mpirun -n 4 04_time_loop
 */
#include "example.h"

enum { NX = 60, NY = 50, STATES = 6, STEPS = 100 };

static const double dt = 0.2; /* stable: dt (kx + ky) <= 1/2 */

static double kx(int step)
{
    return 1.0 + 0.5 * sin(0.1 * step);
}

static double ky(int step)
{
    return 0.5 + 0.3 * cos(0.07 * step);
}

/* Values of M at one time, in the order of spmm_matrix_get_csr(). */
static void fill_values(const spmm_matrix_info_t *my, const int64_t *row_ptr,
                        const int64_t *col_idx, int step, double *values)
{
    for (int64_t i = 0; i < my->local_rows; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const int64_t distance = llabs(col_idx[k] - (my->first_row + i));

            values[k] = distance == 0   ? 1.0 - 2.0 * dt * (kx(step) + ky(step))
                        : distance == 1 ? dt * kx(step) /* x is numbered first */
                                        : dt * ky(step);
        }
    }
}

/* State s is sin(p pi x) sin(q pi y) at the point of a row. */
static int wave_x(int64_t state)
{
    return 1 + (int)state % 3;
}

static int wave_y(int64_t state)
{
    return 1 + (int)state / 3;
}

static double initial(int64_t row, int64_t state)
{
    const double pi = acos(-1.0);

    return sin((double)(row % NX + 1) * wave_x(state) * pi / (NX + 1)) *
           sin((double)(row / NX + 1) * wave_y(state) * pi / (NY + 1));
}

/* What all steps multiply a state by. */
static double decay(int64_t state)
{
    const double pi      = acos(-1.0);
    const double lx      = 2.0 - 2.0 * cos(wave_x(state) * pi / (NX + 1));
    const double ly      = 2.0 - 2.0 * cos(wave_y(state) * pi / (NY + 1));
    double       product = 1.0;

    for (int step = 0; step < STEPS; step++) {
        product *= 1.0 - dt * (kx(step) * lx + ky(step) * ly);
    }
    return product;
}

int main(int argc, char **argv)
{
    spmm_matrix_t     *M       = NULL;
    spmm_plan_t       *plan    = NULL;
    spmm_matrix_info_t my      = {.struct_size = sizeof my};
    const int64_t     *row_ptr = NULL, *col_idx = NULL;
    const void        *unused = NULL;
    void              *U = NULL, *next = NULL;
    char               spec[64];
    int                rank  = 0;
    double             error = 0.0, time_update = 0.0, time_step = 0.0, factor[STATES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    (void)snprintf(spec, sizeof spec, "stencil5:nx=%d,ny=%d", NX, NY);
    check(spmm_matrix_generate(ctx, spec, SPMM_R_64F, 0, &M)); /* the pattern; values follow */
    check(spmm_matrix_get_info(M, &my));
    check(spmm_plan_create(M, STATES, NULL, &plan)); /* the only plan */

    const int64_t size   = my.local_rows * STATES;
    const size_t  bytes  = sizeof(double) * (size_t)size;
    double       *values = allocate(my.local_nnz, sizeof *values);
    double       *host   = allocate(size, sizeof *host);
    for (int64_t k = 0; k < size; k++) {
        host[k] = initial(my.first_row + k / STATES, k % STATES);
    }
    check(spmm_buffer_alloc(ctx, bytes, &U));
    check(spmm_buffer_alloc(ctx, bytes, &next));
    check(spmm_buffer_copy(ctx, U, host, bytes));

    for (int step = 0; step < STEPS; step++) {
        const double start = MPI_Wtime();

        /* The arrays are borrowed until the values change: ask for them again. */
        check(spmm_matrix_get_csr(M, &row_ptr, &col_idx, &unused));
        fill_values(&my, row_ptr, col_idx, step, values);
        check(spmm_matrix_update_values(M, values));
        const double middle = MPI_Wtime();

        check(spmm_execute(plan, STATES, 1.0, U, STATES, 0.0, next, STATES, NULL));
        check(spmm_stream_synchronize(ctx, NULL)); /* before the values change again */
        void *const old = U;
        U               = next;
        next            = old;
        time_update += middle - start;
        time_step += MPI_Wtime() - middle;
    }

    check(spmm_buffer_copy(ctx, host, U, bytes));
    for (int64_t s = 0; s < STATES; s++) {
        factor[s] = decay(s);
    }
    for (int64_t k = 0; k < size; k++) {
        const double exact = factor[k % STATES] * initial(my.first_row + k / STATES, k % STATES);

        error = larger(error, fabs(host[k] - exact));
    }
    reduce_all(&error, 1, MPI_MAX);
    if (rank == 0) {
        printf("%d steps, %.3f ms each for new values and %.3f ms for the product; slowest state "
               "decays to %.3f; error %.1e\n",
               STEPS, 1e3 * time_update / STEPS, 1e3 * time_step / STEPS, factor[0], error);
    }

    check(spmm_buffer_free(ctx, &U));
    check(spmm_buffer_free(ctx, &next));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&M));
    check(spmm_context_destroy(&ctx));
    free(values);
    free(host);
    MPI_Finalize();
    return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
