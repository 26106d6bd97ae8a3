/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_blocks.c
 *  The rows of a rank as one CSR block, in the two numberings of columns that a program without
 *  separate local and halo blocks would use.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "dist.h"
#include "plan/block/split.h"

enum { TAG_ROWS = 77 };

/* Local index, at its owner, of each halo row: what the owner was asked to send. */
static int32_t *ask_owners(const dist_case_t *c, const spmm_halo_t *halo)
{
    const dist_bench_t *b   = c->bench;
    spmm_env_t         *env = &b->ctx->env;
    int32_t            *index;
    MPI_Request        *requests;
    int                 n = 0;

    SPMM_NEW(index, spmmi_halo_recv_rows(halo));
    SPMM_NEW(requests, 2 * (int64_t)env->size);
    if (index == NULL || requests == NULL) {
        dist_must(b, SPMM_ERR_MEMORY, "the owners of halo rows");
    }
    for (int p = 0; p < halo->n_recv_peers; p++) {
        dist_must(b,
                  spmmi_irecv(env, env->comm, index + halo->recv_ptr[p],
                              (size_t)(halo->recv_ptr[p + 1] - halo->recv_ptr[p]) * sizeof *index,
                              halo->recv_peer[p], TAG_ROWS, requests, &n),
                  "MPI_Irecv");
    }
    for (int p = 0; p < halo->n_send_peers; p++) {
        dist_must(b,
                  spmmi_isend(env, env->comm, halo->send_row + halo->send_ptr[p],
                              (size_t)(halo->send_ptr[p + 1] - halo->send_ptr[p]) * sizeof *index,
                              halo->send_peer[p], TAG_ROWS, requests, &n),
                  "MPI_Isend");
    }
    dist_must(b, spmmi_waitall(env, n, requests, spmmi_now(), "the owners of halo rows"),
              "MPI_Waitall");
    spmmi_free(requests);
    return index;
}

/* Columns of the two halves of `all`, and where the halo columns of lower ranks end. */
typedef struct {
    int32_t  first;  /**< of own rows */
    int32_t *column; /**< [halo rows], NULL for `needed` */
    int32_t  lower;  /**< halo columns below this one come before own rows */
    int32_t  n_own;
} numbering_t;

static void append(spmm_csr_t *to, int64_t *at, int32_t column, const spmm_csr_t *from, int64_t k)
{
    const size_t size = spmm_type_size(to->type);

    to->col_idx[*at] = column;
    memcpy((char *)to->values + (size_t)*at * size, (const char *)from->values + (size_t)k * size,
           size);
    ++*at;
}

/* Entries k .. of row r of the halo block whose column is below @p end. */
static int64_t append_halo(spmm_csr_t *to, int64_t *at, const spmm_csr_t *halo, int64_t k,
                           int64_t last, int32_t end, const numbering_t *in)
{
    for (; k < last && halo->col_idx[k] < end; k++) {
        const int32_t c = halo->col_idx[k];

        append(to, at, in->column != NULL ? in->column[c] : in->n_own + c, halo, k);
    }
    return k;
}

static void merge(const spmm_csr_t *own, const spmm_csr_t *halo, const numbering_t *in,
                  spmm_csr_t *to)
{
    int64_t at   = 0;
    int32_t next = 0; /* row of the halo block */

    to->row_ptr[0] = 0;
    for (int32_t i = 0; i < own->n_rows; i++) {
        const bool has =
            next < halo->n_rows && (halo->row_map == NULL ? next : halo->row_map[next]) == i;
        const int64_t last = has ? halo->row_ptr[next + 1] : 0;
        int64_t       k    = has ? halo->row_ptr[next] : 0;

        k = append_halo(to, &at, halo, k, last, in->lower, in);
        for (int64_t e = own->row_ptr[i]; e < own->row_ptr[i + 1]; e++) {
            append(to, &at, in->first + own->col_idx[e], own, e);
        }
        (void)append_halo(to, &at, halo, k, last, INT32_MAX, in);
        to->row_ptr[i + 1] = at;
        next += has;
    }
}

static void number(const dist_case_t *c, dist_blocks_t *blocks, numbering_t *in)
{
    const spmm_plan_t *parts = &blocks->parts;
    const spmm_halo_t *halo  = &parts->exchange.halo;
    const int          rank  = parts->env->rank;

    in->column = ask_owners(c, halo);
    in->first  = (int32_t)(rank * blocks->stride);
    for (int p = 0; p < halo->n_recv_peers; p++) {
        for (int64_t k = halo->recv_ptr[p]; k < halo->recv_ptr[p + 1]; k++) {
            in->column[k] += (int32_t)(halo->recv_peer[p] * blocks->stride);
        }
        if (halo->recv_peer[p] < rank) {
            in->lower = (int32_t)halo->recv_ptr[p + 1];
        }
    }
}

void dist_blocks_create(const dist_case_t *c, const spmm_plan_t *plan, dist_blocks_t *blocks)
{
    const dist_bench_t *b     = c->bench;
    spmm_plan_t        *parts = &blocks->parts;
    const int32_t       n_own = plan->cols.n_local;
    numbering_t         in    = {.n_own = n_own};
    spmm_env_t         *env   = plan->env;
    int64_t             nnz, n_halo;

    /* Dealt anew, since the plan keeps no CSR of its blocks. */
    *blocks = (dist_blocks_t){.parts = {.env       = plan->env,
                                        .device    = plan->device,
                                        .shared    = plan->shared,
                                        .A         = plan->A,
                                        .n         = plan->n,
                                        .op        = SPMM_OP_N,
                                        .layout    = SPMM_LAYOUT_ROW,
                                        .ab_type   = plan->ab_type,
                                        .c_type    = plan->c_type,
                                        .halo_type = plan->ab_type,
                                        .compute   = plan->compute,
                                        .partition = plan->partition,
                                        .rows      = plan->rows,
                                        .cols      = plan->cols}};
    dist_must(b, spmmi_plan_make_blocks(parts), "the blocks of the baselines");
    nnz    = spmmi_csr_nnz(&parts->blocks.local.csr) + spmmi_csr_nnz(&parts->blocks.halo.csr);
    n_halo = spmmi_halo_recv_rows(&parts->exchange.halo);
    for (int p = 0; p < env->size; p++) {
        const int64_t rows = plan->cols.offset[p + 1] - plan->cols.offset[p];

        blocks->stride = rows > blocks->stride ? rows : blocks->stride;
    }
    if (blocks->stride * env->size > INT32_MAX) {
        dist_must(b, SPMM_ERR_RANGE, "columns of the allgather baseline");
    }
    dist_must(b,
              spmmi_csr_alloc(env, plan->rows.n_local, (int32_t)(n_own + n_halo), nnz,
                              plan->ab_type, &blocks->needed),
              "a baseline");
    merge(&parts->blocks.local.csr, &parts->blocks.halo.csr, &in, &blocks->needed);
    if (env->size > 1) {
        number(c, blocks, &in);
        dist_must(b,
                  spmmi_csr_alloc(env, plan->rows.n_local, (int32_t)(blocks->stride * env->size),
                                  nnz, plan->ab_type, &blocks->all),
                  "a baseline");
        merge(&parts->blocks.local.csr, &parts->blocks.halo.csr, &in, &blocks->all);
        spmmi_free(in.column);
    }
    spmmi_csr_free(&parts->blocks.local.csr);
    spmmi_csr_free(&parts->blocks.halo.csr);
    spmmi_free(parts->blocks.need);
    parts->blocks.need = NULL;
}

void dist_blocks_free(dist_blocks_t *blocks)
{
    spmmi_csr_free(&blocks->needed);
    spmmi_csr_free(&blocks->all);
    spmmi_free(blocks->parts.blocks.local.source);
    spmmi_free(blocks->parts.blocks.halo.source);
    spmmi_halo_free(&blocks->parts.exchange.halo);
}
