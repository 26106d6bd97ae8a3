/* SPDX-License-Identifier: Apache-2.0 */
/** @file vector.c  vectorSparse: its encoding of a matrix, and the SpMM of its section 5. */
#include "vector.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "published.h"
#include "spmm_dist/context.h"

static const char *const names[] = {
    "octet", "octet, no fence", "octet, last whole", "octet, no shuffles", "octet, 4 warps",
    "warp",  "subwarp",         "octet V 8"};
enum { VARIANTS = sizeof names / sizeof names[0], MOST = 8 /* rows of a vector */ };

/** The encoding on the host. */
typedef struct {
    int32_t  *window_ptr, *col;
    uint16_t *values;
    int64_t   n_vectors;
} encoding_t;

typedef struct {
    published_arrays_t arrays;
    vector_tiling_t    tiling;
    int                v;
    vector_matrix_t    A;
} state_t;

/* The windows' distinct columns, in their order; of each what it is for.
 * @param[in] x  NULL: only count; else [v] row by row of each vector is filled in
 * @return vectors */
static int64_t encode(const spmm_csr_t *block, int v, encoding_t *x)
{
    int64_t n = 0;

    for (int32_t first = 0; first < block->n_rows; first += v) {
        const int32_t rows = first + v < block->n_rows ? v : block->n_rows - first;
        int64_t       at[MOST];

        for (int32_t r = 0; r < rows; r++) {
            at[r] = block->row_ptr[first + r];
        }
        for (;; n++) {
            int32_t least = INT32_MAX;

            for (int32_t r = 0; r < rows; r++) {
                if (at[r] < block->row_ptr[first + r + 1] && block->col_idx[at[r]] < least) {
                    least = block->col_idx[at[r]];
                }
            }
            if (least == INT32_MAX) {
                break;
            }
            for (int32_t r = 0; r < rows; r++) {
                if (at[r] < block->row_ptr[first + r + 1] && block->col_idx[at[r]] == least) {
                    if (x != NULL) {
                        x->values[n * v + r] = ((const uint16_t *)block->values)[at[r]];
                    }
                    at[r]++;
                }
            }
            if (x != NULL) {
                x->col[n] = least;
            }
        }
        if (x != NULL) {
            x->window_ptr[first / v + 1] = (int32_t)n;
        }
    }
    return n;
}

/* The tallest vectors that are full, as of a mask pruned in them; else 2. */
static int native(const spmm_csr_t *block)
{
    for (int v = MOST; v > 2; v /= 2) {
        if (block->n_rows % v == 0 && encode(block, v, NULL) * v == spmmi_csr_nnz(block)) {
            return v;
        }
    }
    return 2;
}

static spmm_status_t lay_out(const published_case_t *c, state_t *s)
{
    const spmm_csr_t *block     = c->block;
    const int32_t     n_windows = (block->n_rows + s->v - 1) / s->v;
    encoding_t        x         = {.n_vectors = encode(block, s->v, NULL)};
    spmm_status_t     status    = SPMM_OK;

    if (x.n_vectors > INT32_MAX || block->row_map != NULL) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "too many vectors, or a map");
    }
    SPMM_NEW_ZERO(x.window_ptr, n_windows + 1);
    SPMM_NEW(x.col, x.n_vectors);
    SPMM_NEW_ZERO(x.values, x.n_vectors * s->v);
    if (x.window_ptr == NULL || x.col == NULL || x.values == NULL) {
        status = spmmi_fail_memory(&c->device->env->err, x.n_vectors, (size_t)s->v * 2, "vectors");
    } else {
        (void)encode(block, s->v, &x);
        s->A.n_rows     = block->n_rows;
        s->A.n_windows  = n_windows;
        s->A.window_ptr = published_upload(c->device, x.window_ptr, ((size_t)n_windows + 1) * 4,
                                           &s->arrays, &status);
        s->A.col = published_upload(c->device, x.col, (size_t)x.n_vectors * 4, &s->arrays, &status);
        s->A.values = published_upload(c->device, x.values, (size_t)x.n_vectors * (size_t)s->v * 2,
                                       &s->arrays, &status);
    }
    spmmi_free_all(x.window_ptr, x.col, x.values);
    return status;
}

static spmm_status_t build(const published_case_t *c, int k, void *state)
{
    static const vector_tiling_t tilings[VARIANTS] = {
        VECTOR_OCTET,      VECTOR_OCTET_MIXED, VECTOR_OCTET_WHOLE, VECTOR_OCTET_DIRECT,
        VECTOR_OCTET_FOUR, VECTOR_WARP,        VECTOR_SUBWARP,     VECTOR_OCTET};
    const int v = native(c->block);
    state_t  *s = state;

    if (k == VARIANTS - 1 && v == MOST) {
        return spmmi_fail(&c->device->env->err, SPMM_ERR_UNSUPPORTED, "V is 8 already");
    }
    s->tiling = tilings[k];
    s->v      = k == VARIANTS - 1 ? MOST : v;
    return lay_out(c, s);
}

static cudaError_t run(const void *state, const void *B, void *C, int64_t n, cudaStream_t stream)
{
    const state_t *s = state;

    return vector_mm(s->tiling, s->v, &s->A, B, C, n, stream);
}

const published_t published_vector = {.name       = "vectorsparse",
                                      .type       = SPMM_R_16F,
                                      .compute    = SPMM_COMPUTE_32F,
                                      .engine     = "cvse",
                                      .unit       = 32,
                                      .n_variants = VARIANTS,
                                      .variants   = names,
                                      .build      = build,
                                      .state_size = sizeof(state_t),
                                      .run        = run};
