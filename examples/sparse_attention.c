/* SPDX-License-Identifier: Apache-2.0 */
/** @file sparse_attention.c
 *  One head of attention whose scores are kept at a column-vector-sparse mask only (vectorSparse,
 *  section 7.4): SDDMM, softmax over the rows of the mask, SpMM.
 *
 *      S = Q K^T at the mask,    P = softmax(S / sqrt(HEAD)),    O = P V
 *
 *  Everything is FP16 but S, which is FP32, and stays on the device; rows of Q and O live where the
 *  rows of the mask live, rows of K and V where its columns do, and those that others need travel
 *  in the two products.  Some rows are checked against dense FP64; on GPUs the two dense products
 *  by cuBLAS are timed too, every rank its rows against all of K and V.
 *
 *      mpirun -n 4 sparse_attention [LENGTH [SPARSITY [VECTOR]]]     512 0.9 8
 */
#include "attention.h"

enum {
    HEAD    = 64,
    WARM    = 64, /* products until an engine is chosen, at most; until then new values go to each
                     format that is tried */
    REPEATS = 20,
    STEPS   = 4
};

static int64_t length = 512, vector = 8;
static double  sparsity = 0.9;

/* Vectors on the diagonal stay, so that no row is empty. */
static int is_kept(int64_t row, int64_t col)
{
    const int64_t v = row / vector;

    return v == col / vector || random_element(v, col) >= 2.0 * sparsity - 1.0;
}

/* The mask by its vectors; this rank's rows are whole vectors, and as many columns are its own. */
static spmm_matrix_t *make_mask(int64_t first, int64_t rows)
{
    const int64_t  n      = rows / vector;
    int64_t       *ptr    = allocate(n + 1, sizeof *ptr);
    int64_t       *col    = allocate(n * length, sizeof *col);
    uint16_t      *values = NULL;
    spmm_matrix_t *mask   = NULL;

    for (int64_t v = 0; v < n; v++) {
        ptr[v + 1] = ptr[v];
        for (int64_t j = 0; j < length; j++) {
            if (is_kept(first + v * vector, j)) {
                col[ptr[v + 1]++] = j;
            }
        }
    }
    values = allocate(ptr[n] * vector, sizeof *values);
    check(spmm_matrix_create_cvse(ctx, rows, rows, vector, 1, ptr, col, values, SPMM_R_16F, &mask));
    free(ptr);
    free(col);
    free(values);
    return mask;
}

/* Rows of Q, K or V on the device. */
static void *make_operand(int which, int64_t first, int64_t rows)
{
    const size_t bytes  = sizeof(uint16_t) * (size_t)(rows * HEAD);
    uint16_t    *host   = allocate(rows * HEAD, sizeof *host);
    void        *device = NULL;

    for (int64_t i = 0; i < rows * HEAD; i++) {
        host[i] = attention_half(attention_element(which, first + i / HEAD, i % HEAD));
    }
    check(spmm_buffer_alloc(ctx, bytes, &device));
    check(spmm_buffer_copy(ctx, device, host, bytes));
    free(host);
    return device;
}

/* What one head needs; rows of this rank. */
typedef struct {
    spmm_sddmm_plan_t *scores;
    spmm_plan_t       *product;
    void              *block[4], *S, *P;
} head_t;

static void run_step(const head_t *h, int step)
{
    if (step == 0) {
        check(spmm_sddmm(h->scores, HEAD, 1.0, h->block[Q], HEAD, h->block[K], HEAD, 0.0, h->S,
                         NULL));
    } else if (step == 1) {
        check(spmm_sddmm_softmax(h->scores, 1.0 / sqrt(HEAD), h->S, h->P, NULL));
    } else if (step == 2) {
        check(spmm_plan_update_values(h->product, h->P, NULL));
    } else {
        check(spmm_execute(h->product, HEAD, 1.0, h->block[V], HEAD, 0.0, h->block[O], HEAD, NULL));
    }
}

/* All steps in order until the engine is chosen, then each of them often for its time. */
static void time_steps(const head_t *h, double seconds[STEPS])
{
    for (int k = 0; k < WARM * STEPS; k++) {
        run_step(h, k % STEPS);
    }
    for (int step = 0; step < STEPS; step++) {
        check(spmm_stream_synchronize(ctx, NULL));
        MPI_Barrier(MPI_COMM_WORLD);
        const double from = MPI_Wtime();
        for (int r = 0; r < REPEATS; r++) {
            run_step(h, step);
        }
        check(spmm_stream_synchronize(ctx, NULL));
        seconds[step] = (MPI_Wtime() - from) / REPEATS;
    }
}

static void report(const head_t *h, int size, const double seconds[STEPS + 3])
{
    static const char *const name[STEPS] = {"SDDMM", "softmax", "new values", "SpMM"};
    spmm_sddmm_info_t        chosen      = {.struct_size = sizeof chosen};
    spmm_plan_stats_t        stats       = {.struct_size = sizeof stats};
    double                   total       = 0.0;

    check(spmm_sddmm_plan_get_info(h->scores, &chosen));
    check(spmm_plan_get_stats(h->product, &stats));
    printf("length %lld, %.1f %% of the vectors of %lld dropped, %d rank(s), SDDMM by %s, SpMM by "
           "%s:\n",
           (long long)length, 100.0 * sparsity, (long long)vector, size, chosen.kernel,
           stats.engine);
    for (int step = 0; step < STEPS; step++) {
        printf("  %-10s %8.4f ms\n", name[step], 1e3 * seconds[step]);
        total += seconds[step];
    }
    printf("  %-10s %8.4f ms, error %.1e\n", "all", 1e3 * total, seconds[STEPS + 2]);
    if (seconds[STEPS] > 0.0) {
        printf("  cuBLAS FP16, dense, no softmax: Q K^T %.4f ms, P V %.4f ms\n",
               1e3 * seconds[STEPS], 1e3 * seconds[STEPS + 1]);
    }
}

int main(int argc, char **argv)
{
    spmm_sddmm_options_t options            = SPMM_SDDMM_OPTIONS_INIT;
    spmm_matrix_info_t   my                 = {.struct_size = sizeof my};
    head_t               h                  = {.S = NULL};
    double               seconds[STEPS + 3] = {0.0}; /* of steps and cuBLAS; the error */
    int                  rank = 0, size = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    length   = argc > 1 ? strtoll(argv[1], NULL, 10) : length;
    sparsity = argc > 2 ? strtod(argv[2], NULL) : sparsity;
    vector   = argc > 3 ? strtoll(argv[3], NULL, 10) : vector;
    if (vector < 2 || length < 1 || length % vector != 0 || !(sparsity >= 0.0 && sparsity <= 1.0)) {
        (void)fprintf(stderr, "usage: %s [LENGTH [SPARSITY [VECTOR]]]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));

    const int64_t  first = length / vector * rank / size * vector;
    const int64_t  rows  = length / vector * (rank + 1) / size * vector - first;
    spmm_matrix_t *mask  = make_mask(first, rows);
    check(spmm_matrix_get_info(mask, &my));
    options.s_type = SPMM_R_32F;
    check(spmm_sddmm_plan_create(mask, HEAD, &options, &h.scores));
    check(spmm_plan_create(mask, HEAD, NULL, &h.product));
    for (int b = Q; b <= O; b++) {
        h.block[b] = make_operand(b, first, rows);
    }
    check(spmm_buffer_alloc(ctx, sizeof(float) * (size_t)my.local_nnz, &h.S));
    check(spmm_buffer_alloc(ctx, sizeof(uint16_t) * (size_t)my.local_nnz, &h.P));

    time_steps(&h, seconds);
    attention_dense(rows, length, HEAD, REPEATS, seconds + STEPS);
    seconds[STEPS + 2] = attention_error(first, rows, length, HEAD, is_kept, h.block[O]);
    reduce_all(seconds, STEPS + 3, MPI_MAX);
    if (rank == 0) {
        report(&h, size, seconds);
    }

    for (int b = Q; b <= O; b++) {
        check(spmm_buffer_free(ctx, &h.block[b]));
    }
    check(spmm_buffer_free(ctx, &h.S));
    check(spmm_buffer_free(ctx, &h.P));
    check(spmm_sddmm_plan_destroy(&h.scores));
    check(spmm_plan_destroy(&h.product));
    check(spmm_matrix_destroy(&mask));
    check(spmm_context_destroy(&ctx));
    MPI_Finalize();
    return seconds[STEPS + 2] < 2e-3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
