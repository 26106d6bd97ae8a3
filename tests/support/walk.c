/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include "temp_file.h"
#include "test_context.h"

enum { N = 3, LOCAL = 6, ENTRIES = 2 * LOCAL }; /* columns of B; rows and entries of a rank */

spmm_device_kind_t walk_device(void)
{
    return spmm_test_on_gpu() ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
}

const char *walk_binary_csr(void)
{
    const int64_t head[] = {0x43535231, 2, 2, 4};
    const int32_t body[] = {0, 2, 4, 0, 1, 0, 1};
    char          bytes[sizeof head + sizeof body];

    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, body, sizeof body);
    return spmm_temp_write(bytes, sizeof bytes);
}

static bool is_ring(const walk_t *walk)
{
    return walk->path == NULL && walk->spec == NULL;
}

static const double ring_values[ENTRIES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/* Neighbours on both sides, columns in descending order. */
static spmm_status_t create_ring(spmm_context_t *ctx, bool narrow, spmm_matrix_t **A)
{
    const int64_t total = (int64_t)LOCAL * spmm_test_env.size;
    int64_t       row_ptr[LOCAL + 1], col[ENTRIES];
    int32_t       row_ptr32[LOCAL + 1], col32[ENTRIES];

    row_ptr[0] = row_ptr32[0] = 0;
    for (int i = 0; i < LOCAL; i++) {
        const int64_t row  = (int64_t)LOCAL * spmm_test_env.rank + i;
        const int64_t a    = (row + 1) % total;
        const int64_t b    = (row + total - 1) % total;
        const int64_t high = a > b ? a : b;

        col[2 * i]       = high;
        col[2 * i + 1]   = a + b - high;
        row_ptr[i + 1]   = row_ptr[i] + 2;
        col32[2 * i]     = (int32_t)high;
        col32[2 * i + 1] = (int32_t)(a + b - high);
        row_ptr32[i + 1] = row_ptr32[i] + 2;
    }
    if (narrow) {
        return spmm_matrix_create_csr32(ctx, LOCAL, LOCAL, row_ptr32, col32, ring_values,
                                        SPMM_R_64F, A);
    }
    return spmm_matrix_create_csr(ctx, LOCAL, LOCAL, row_ptr, col, ring_values, SPMM_R_64F, A);
}

/* Pairs of rows that share two columns, one of them another rank's. */
static spmm_status_t create_blocks(spmm_context_t *ctx, spmm_matrix_t **A)
{
    const int64_t total = (int64_t)LOCAL * spmm_test_env.size;
    int64_t       block_ptr[LOCAL / 2 + 1], col[LOCAL];

    block_ptr[0] = 0;
    for (int i = 0; i < LOCAL / 2; i++) {
        const int64_t row = (int64_t)LOCAL * spmm_test_env.rank + i;

        col[2 * i]       = (row + LOCAL) % total;
        col[2 * i + 1]   = (row + LOCAL + 1) % total;
        block_ptr[i + 1] = block_ptr[i] + 2;
    }
    return spmm_matrix_create_cvse(ctx, LOCAL, LOCAL, 2, 1, block_ptr, col, ring_values, SPMM_R_64F,
                                   A);
}

static spmm_status_t create(const walk_t *walk, held_t *h)
{
    if (walk->path != NULL) {
        return spmm_matrix_read(h->ctx, walk->path, SPMM_R_64F, 1, &h->A);
    }
    if (walk->spec != NULL) {
        return spmm_matrix_generate(h->ctx, walk->spec, SPMM_R_64F, 1, &h->A);
    }
    return walk->blocks ? create_blocks(h->ctx, &h->A) : create_ring(h->ctx, walk->narrow, &h->A);
}

/* New values: the old ones, in the order the matrix was made in. */
static spmm_status_t update(const walk_t *walk, spmm_matrix_t *A)
{
    const int64_t *row_ptr, *col;
    const void    *values;

    SPMM_TRY(spmm_matrix_get_csr(A, &row_ptr, &col, &values));
    return spmm_matrix_update_values(A, is_ring(walk) ? ring_values : values);
}

static spmm_status_t agreed(spmm_status_t status)
{
    int worst = (int)status;

    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return (spmm_status_t)worst;
}

/* Zeros for rows of an operand, in either layout. */
static spmm_status_t take(const held_t *h, int64_t rows, void **buffer)
{
    const size_t  bytes = (size_t)rows * N * sizeof(double);
    void         *zero  = spmm_test_calloc(bytes + 1, 1);
    spmm_status_t status;

    status = spmm_buffer_alloc(h->ctx, bytes, buffer);
    if (status == SPMM_OK) {
        status = spmm_buffer_copy(h->ctx, *buffer, zero, bytes);
    }
    free(zero);
    return status;
}

static spmm_status_t take_buffers(held_t *h, const spmm_layout_info_t *B,
                                  const spmm_layout_info_t *C)
{
    spmm_status_t status = take(h, B->original_rows, &h->given);

    if (status == SPMM_OK) {
        status = take(h, C->local_rows, &h->C);
    }
    if (status == SPMM_OK) {
        status = take(h, B->local_rows, &h->B);
    }
    return agreed(status);
}

/* The least leading dimension of an operand. */
static int64_t ld(const walk_t *walk, int64_t rows)
{
    const int64_t least = walk->options.layout == SPMM_LAYOUT_COL ? rows : N;

    return least > 1 ? least : 1;
}

static spmm_status_t execute(const walk_t *walk, held_t *h, const spmm_layout_info_t *B,
                             const spmm_layout_info_t *C)
{
    spmm_status_t status = spmm_execute(h->plan, N, 1.0, h->B, ld(walk, B->local_rows), 0.0, h->C,
                                        ld(walk, C->local_rows), NULL);

    if (status == SPMM_OK) {
        status = spmm_stream_synchronize(h->ctx, NULL);
    }
    return agreed(status);
}

static spmm_status_t product(const walk_t *walk, held_t *h)
{
    spmm_layout_info_t B = {.struct_size = sizeof B}, C = {.struct_size = sizeof C};
    spmm_status_t      status = spmm_plan_get_layout(h->plan, SPMM_OPERAND_B, &B);

    if (status == SPMM_OK) {
        status = spmm_plan_get_layout(h->plan, SPMM_OPERAND_C, &C);
    }
    SPMM_TRY(agreed(status)); /* not collective, and makes lists */
    SPMM_TRY(take_buffers(h, &B, &C));
    SPMM_TRY(spmm_plan_scatter(h->plan, SPMM_OPERAND_B, N, h->given, ld(walk, B.original_rows),
                               h->B, ld(walk, B.local_rows), NULL));
    SPMM_TRY(execute(walk, h, &B, &C));
    SPMM_TRY(update(walk, h->A));
    SPMM_TRY(execute(walk, h, &B, &C));
    return spmm_plan_gather(h->plan, SPMM_OPERAND_B, N, h->B, ld(walk, B.local_rows), h->given,
                            ld(walk, B.original_rows), NULL);
}

/* What a plan tells of itself. */
static spmm_status_t tell(const walk_t *walk, const held_t *h)
{
    spmm_plan_stats_t stats  = {.struct_size = sizeof stats};
    FILE             *out    = fopen("/dev/null", "w");
    spmm_status_t     status = spmm_plan_get_stats(h->plan, &stats);

    assert_non_null(out);
    if (status == SPMM_OK) {
        status = spmm_plan_explain(h->plan, out);
    }
    (void)fclose(out);
    SPMM_TRY(agreed(status));
    return spmm_plan_write_partition(h->plan, walk->parts != NULL ? walk->parts : "/dev/null");
}

spmm_status_t walk_open(const walk_t *walk, held_t *h)
{
    const spmm_context_options_t options = {.struct_size    = sizeof options,
                                            .device         = walk_device(),
                                            .ranks_per_node = walk->per_node,
                                            .timeout_s      = walk->timeout_s};

    return spmm_context_create(spmm_test_env.comm, &options, &h->ctx);
}

spmm_status_t walk_go(const walk_t *walk, held_t *h)
{
    SPMM_TRY(create(walk, h));
    SPMM_TRY(spmm_plan_create(h->A, N, &walk->options, &h->plan));
    SPMM_TRY(product(walk, h));
    return tell(walk, h);
}

void walk_drop(held_t *h)
{
    if (h->ctx != NULL) {
        test_context_free(h->ctx, &h->given, &h->B, &h->C);
    }
    test_context_destroy(&h->plan, &h->A, NULL);
}

void walk_close(held_t *h)
{
    spmm_assert_ok(spmm_context_destroy(&h->ctx));
}
