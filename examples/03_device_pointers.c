/* SPDX-License-Identifier: Apache-2.0 */
/** @file 03_device_pointers.c
 *  B and C in the program's own GPU memory and the product in the program's own stream: copy in,
 *  multiply twice and copy out are enqueued one after the other, and the host waits once, at the
 *  end.  Nothing has to come from spmm_buffer_alloc().  On CPU contexts the same program uses plain
 *  memory.  The check is the one of 01: columns of B are eigenvectors of the 1D Laplacian,
 *  C = A A B is l^2 B.
 *
 *      mpirun -n 4 03_device_pointers
 */
#include "example.h"
#ifdef EXAMPLES_WITH_CUDA
#include <cuda_runtime.h>
#endif

enum { ROWS_PER_RANK = 2000, COLUMNS = 8 };

static int           on_gpu = 0;
static spmm_stream_t stream = NULL; /* a cudaStream_t; unused on CPUs */

#ifdef EXAMPLES_WITH_CUDA
static void check_cuda(cudaError_t status)
{
    if (status != cudaSuccess) {
        (void)fprintf(stderr, "%s\n", cudaGetErrorString(status));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}
#endif

static void open_device(const spmm_context_info_t *info)
{
    on_gpu = strcmp(info->device, "cuda") == 0;
#ifdef EXAMPLES_WITH_CUDA
    if (on_gpu) {
        cudaStream_t own = NULL;

        check_cuda(cudaSetDevice(info->device_ordinal)); /* memory and stream belong to this one */
        check_cuda(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
        stream = own;
    }
#endif
}

/* GPU memory for B and C, or pinned memory of the host, without which copies are
 * not asynchronous. */
static void *own_malloc(size_t bytes, int of_host)
{
#ifdef EXAMPLES_WITH_CUDA
    if (on_gpu) {
        void *memory = NULL;

        check_cuda(of_host ? cudaMallocHost(&memory, bytes) : cudaMalloc(&memory, bytes));
        return memory;
    }
#endif
    (void)of_host;
    return allocate(1, bytes);
}

static void own_free(void *memory, int of_host)
{
#ifdef EXAMPLES_WITH_CUDA
    if (on_gpu) {
        check_cuda(of_host ? cudaFreeHost(memory) : cudaFree(memory));
        return;
    }
#endif
    (void)of_host;
    free(memory);
}

static void enqueue_copy(void *dst, const void *src, size_t bytes)
{
#ifdef EXAMPLES_WITH_CUDA
    if (on_gpu) {
        check_cuda(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)stream));
        return;
    }
#endif
    memcpy(dst, src, bytes);
}

static void close_device(void)
{
#ifdef EXAMPLES_WITH_CUDA
    if (on_gpu) {
        check_cuda(cudaStreamDestroy((cudaStream_t)stream));
    }
#endif
}

static spmm_matrix_t *make_laplacian(int64_t first, int64_t rows)
{
    spmm_matrix_t *A       = NULL;
    int64_t       *row_ptr = allocate(ROWS_PER_RANK + 1, sizeof *row_ptr);
    int64_t       *col_idx = allocate(3 * ROWS_PER_RANK, sizeof *col_idx);
    double        *values  = allocate(3 * ROWS_PER_RANK, sizeof *values);
    int64_t        nnz     = 0;

    for (int64_t i = 0; i < ROWS_PER_RANK; i++) {
        for (int64_t col = first + i - 1; col <= first + i + 1; col++) {
            if (col >= 0 && col < rows) {
                col_idx[nnz]  = col;
                values[nnz++] = col == first + i ? 2.0 : -1.0;
            }
        }
        row_ptr[i + 1] = nnz;
    }
    check(spmm_matrix_create_csr(ctx, ROWS_PER_RANK, ROWS_PER_RANK, row_ptr, col_idx, values,
                                 SPMM_R_64F, &A));
    free(row_ptr);
    free(col_idx);
    free(values);
    return A;
}

int main(int argc, char **argv)
{
    const double           pi      = acos(-1.0);
    const size_t           bytes   = sizeof(double) * ROWS_PER_RANK * COLUMNS;
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t    info    = {.struct_size = sizeof info};
    spmm_plan_t           *plan    = NULL;
    double                 error   = 0.0;

    MPI_Init(&argc, &argv);
#ifndef EXAMPLES_WITH_CUDA
    options.device = SPMM_DEVICE_CPU; /* whatever the library could do */
#endif
    check(spmm_context_create(MPI_COMM_WORLD, &options, &ctx));
    check(spmm_context_get_info(ctx, &info));
    open_device(&info);

    const int64_t  first  = (int64_t)info.rank * ROWS_PER_RANK;
    const int64_t  rows   = (int64_t)info.size * ROWS_PER_RANK;
    spmm_matrix_t *A      = make_laplacian(first, rows);
    double        *host_B = own_malloc(bytes, 1);
    double        *host_C = own_malloc(bytes, 1);
    void          *B      = own_malloc(bytes, 0);
    void          *C      = own_malloc(bytes, 0);
    for (int64_t k = 0; k < ROWS_PER_RANK * COLUMNS; k++) {
        host_B[k] = sin((double)(first + k / COLUMNS + 1) * (double)(k % COLUMNS + 1) * pi /
                        (double)(rows + 1));
    }
    check(spmm_plan_create(A, COLUMNS, NULL, &plan));

    enqueue_copy(B, host_B, bytes);
    check(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, stream)); /* C = A B */
    check(spmm_execute(plan, COLUMNS, 1.0, C, COLUMNS, 0.0, B, COLUMNS, stream)); /* B = A C */
    enqueue_copy(host_C, B, bytes);
    check(
        spmm_stream_synchronize(ctx, stream)); /* the only wait, and it reports errors of the GPU */

    for (int64_t k = 0; k < ROWS_PER_RANK * COLUMNS; k++) {
        const double l = 2.0 - 2.0 * cos((double)(k % COLUMNS + 1) * pi / (double)(rows + 1));

        error = larger(error, fabs(host_C[k] - l * l * host_B[k]));
    }
    reduce_all(&error, 1, MPI_MAX);
    if (info.rank == 0) {
        printf("%lld rows on %d ranks, %s: |A A B - l^2 B| = %.1e\n", (long long)rows, info.size,
               on_gpu ? "own GPU memory and stream" : "plain memory", error);
    }

    check(spmm_plan_destroy(&plan)); /* waits for products in flight: free B and C after it */
    own_free(B, 0);
    own_free(C, 0);
    own_free(host_B, 1);
    own_free(host_C, 1);
    close_device();
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    MPI_Finalize();
    return error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
