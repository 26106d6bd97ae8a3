/* SPDX-License-Identifier: Apache-2.0 */
#include "unlike.h"

bool differs(const walk_t *w, stage_t stage, int which)
{
    return w->mine && w->stage == stage && w->which == which;
}

walk_t make_walk(int64_t number, bool slow)
{
    static const int of[STAGES] = {1, 8, 11, 20, 11, 6, 9};
    walk_t           w          = {.d = {.salt = 17, .number = number}, .seed = 3, .slow = slow};

    w.stage  = (stage_t)(number % STAGES);
    w.which  = (int)draw(&w.d, of[w.stage]);
    w.mine   = draw(&w.d, spmm_test_env.size) == spmm_test_env.rank;
    w.rows   = 1 + draw(&w.d, 30);
    w.cols   = draw(&w.d, 2) == 0 ? w.rows : 1 + draw(&w.d, 30);
    w.n      = 1 + draw(&w.d, MOST_N - 1);
    w.op     = draw(&w.d, 2) == 0 ? SPMM_OP_N : SPMM_OP_T;
    w.layout = draw(&w.d, 2) == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
    return w;
}

/* The arguments of one call, numbered. */
#define WHERE(number, change)                                                                      \
    if (w->which == (number)) {                                                                    \
        change;                                                                                    \
    }

void differ_context(const walk_t *w, spmm_context_options_t *o)
{
    if (w->mine && w->stage == CONTEXT) {
        WHERE(0, o->device = SPMM_DEVICE_CUDA)
        WHERE(1, o->device = (spmm_device_kind_t)7)
        WHERE(2, o->timeout_s = 2.0)
        WHERE(3, o->struct_size = 3)
        WHERE(4, o->nccl_ctas = 5)
        WHERE(5, o->check = 1 - o->check)
        WHERE(6, o->timeout_s = -1.0)
    }
}

void differ_matrix(const walk_t *w, arrays_t *a, spmm_type_t *type)
{
    const int64_t nnz = a->ptr[a->n_rows];

    if (w->mine && w->stage == MATRIX) {
        WHERE(0, a->n_rows = -1)
        WHERE(1, a->n_cols = (int64_t)1 << 31)
        WHERE(2, a->ptr[0] = 1)
        WHERE(3, a->ptr[a->n_rows] = -4)
        WHERE(4, a->col[nnz > 0 ? nnz - 1 : 0] = w->cols)
        WHERE(5, a->col[0] = -1)
        WHERE(6, *type = SPMM_C_64F)
        WHERE(7, *type = (spmm_type_t)77)
    }
}

void differ_plan(const walk_t *w, int64_t *n, spmm_plan_options_t *o)
{
    static const char *const names[]   = {"no such", "", "block", "mpi-device", "bittcf"};
    static const char *const tunings[] = {"nonsense",   "objective=cut",   "order=sorted", "seed=5",
                                          "measure=no", "schedule=merged", "chunks=2"};
    const char              *name      = names[w->d.number / 7 % 5];

    WHERE(0, *n = 0)
    WHERE(1, *n += 1)
    WHERE(2, o->op = o->op == SPMM_OP_N ? SPMM_OP_T : SPMM_OP_N)
    WHERE(3, o->op = (spmm_op_t)9)
    WHERE(4, o->layout = o->layout == SPMM_LAYOUT_COL ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL)
    WHERE(5, o->compute = SPMM_COMPUTE_32F)
    WHERE(6, o->c_type = SPMM_R_32F)
    WHERE(7, o->b_type = SPMM_C_64F)
    WHERE(8, o->partition = name)
    WHERE(9, o->tuning = tunings[w->d.number / 7 % 7])
    WHERE(10, o->imbalance = 1.5)
    WHERE(11, o->engine = name)
    WHERE(12, o->transport = name)
    WHERE(13, o->executes = w->d.number % 2 == 0 ? 7 : -7)
    WHERE(14, o->deterministic = 1)
    WHERE(15, o->exact_nonfinite = 1)
    WHERE(16, o->reproducible = !o->reproducible)
    WHERE(17, o->graph = 1)
    WHERE(18, o->struct_size = 1)
    WHERE(19, o->profile = 1) /* local */
}

void differ_execute(const walk_t *w, product_t *p)
{
    WHERE(0, p->n = p->n > 1 ? p->n - 1 : 2)
    WHERE(1, p->n = 0)
    WHERE(2, p->n = w->n + 1)
    WHERE(3, p->ldb = -1)
    WHERE(4, p->ldc = 0)
    WHERE(ALPHA, p->alpha = -2.0)
    WHERE(BETA, p->beta = p->beta == 0.0 ? 0.5 : 0.0)
    WHERE(7, p->C = p->B)
    WHERE(8, p->B = NULL)
    WHERE(9, p->C = NULL)
    WHERE(10, p->n = -3)
}
