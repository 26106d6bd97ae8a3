/* SPDX-License-Identifier: Apache-2.0 */
#include "unlike.h"

int64_t draw(walk_t *w, int64_t below)
{
    return (int64_t)(spmmi_hash2((uint64_t)w->number, (int64_t)w->drawn++, 17) % (uint64_t)below);
}

bool differs(const walk_t *w, stage_t stage, int which)
{
    return w->mine && w->stage == stage && w->which == which;
}

walk_t make_walk(int64_t number, bool slow)
{
    static const int of[STAGES] = {1, 8, 11, 21, 11, 6, 9};
    walk_t           w          = {.number = number, .seed = 3, .slow = slow};

    w.stage  = (stage_t)(number % STAGES);
    w.which  = (int)draw(&w, of[w.stage]);
    w.mine   = draw(&w, spmm_test_env.size) == spmm_test_env.rank;
    w.rows   = 1 + draw(&w, 30);
    w.cols   = draw(&w, 2) == 0 ? w.rows : 1 + draw(&w, 30);
    w.n      = 1 + draw(&w, MOST_N - 1);
    w.op     = draw(&w, 2) == 0 ? SPMM_OP_N : SPMM_OP_T;
    w.layout = draw(&w, 2) == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
    return w;
}

void differ_context(const walk_t *w, spmm_context_options_t *o)
{
    if (differs(w, CONTEXT, 0)) {
        o->device = SPMM_DEVICE_CUDA;
    } else if (differs(w, CONTEXT, 1)) {
        o->device = (spmm_device_kind_t)7;
    } else if (differs(w, CONTEXT, 2)) {
        o->timeout_s = 2.0;
    } else if (differs(w, CONTEXT, 3)) {
        o->struct_size = 3;
    } else if (differs(w, CONTEXT, 4)) {
        o->nccl_ctas = 5;
    } else if (differs(w, CONTEXT, 5)) {
        o->check = 1 - o->check;
    } else if (differs(w, CONTEXT, 6)) {
        o->timeout_s = -1.0;
    }
}

void differ_matrix(const walk_t *w, arrays_t *a, spmm_type_t *type)
{
    if (differs(w, MATRIX, 0)) {
        a->n_rows = -1;
    } else if (differs(w, MATRIX, 1)) {
        a->n_cols = (int64_t)1 << 31;
    } else if (differs(w, MATRIX, 2)) {
        a->ptr[0] = 1;
    } else if (differs(w, MATRIX, 3)) {
        a->ptr[a->n_rows] = -4;
    } else if (differs(w, MATRIX, 4) && a->ptr[a->n_rows] > 0) {
        a->col[a->ptr[a->n_rows] - 1] = w->cols;
    } else if (differs(w, MATRIX, 5) && a->ptr[a->n_rows] > 0) {
        a->col[0] = -1;
    } else if (differs(w, MATRIX, 6)) {
        *type = SPMM_C_64F;
    } else if (differs(w, MATRIX, 7)) {
        *type = (spmm_type_t)77;
    }
}

void differ_plan(const walk_t *w, int64_t *n, spmm_plan_options_t *o)
{
    static const char *const names[]   = {"no such", "", "block", "mpi-device", "bittcf"};
    static const char *const tunings[] = {"nonsense",   "objective=cut",   "order=sorted", "seed=5",
                                          "measure=no", "schedule=merged", "chunks=2"};
    const char              *name      = names[w->number / 7 % 5];

    switch (w->which) {
    case 0:
        *n = 0;
        break;
    case 1:
        *n += 1;
        break;
    case 2:
        o->op = o->op == SPMM_OP_N ? SPMM_OP_T : SPMM_OP_N;
        break;
    case 3:
        o->op = (spmm_op_t)9;
        break;
    case 4:
        o->layout = o->layout == SPMM_LAYOUT_COL ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL;
        break;
    case 5:
        o->compute = SPMM_COMPUTE_32F;
        break;
    case 6:
        o->c_type = SPMM_R_32F;
        break;
    case 7:
        o->b_type = SPMM_C_64F;
        break;
    case 8:
        o->partition = name;
        break;
    case 9:
        o->tuning = tunings[w->number / 7 % 7];
        break;
    case 10:
        o->imbalance = 1.5;
        break;
    case 11:
        o->engine = name;
        break;
    case 12:
        o->transport = name;
        break;
    case 13:
        o->executes = w->number % 2 == 0 ? 7 : -7;
        break;
    case 14:
        o->deterministic = 1;
        break;
    case 15:
        o->exact_nonfinite = 1;
        break;
    case 16:
        o->reproducible = !o->reproducible;
        break;
    case 17:
        o->graph = 1;
        break;
    case 18:
        o->struct_size = 1;
        break;
    default:
        o->profile = 1; /* local */
        break;
    }
}

void differ_execute(const walk_t *w, product_t *p)
{
    switch (w->which) {
    case 0:
        p->n = p->n > 1 ? p->n - 1 : 2;
        break;
    case 1:
        p->n = 0;
        break;
    case 2:
        p->n = w->n + 1;
        break;
    case 3:
        p->ldb = -1;
        break;
    case 4:
        p->ldc = 0;
        break;
    case ALPHA:
        p->alpha = -2.0;
        break;
    case BETA:
        p->beta = p->beta == 0.0 ? 0.5 : 0.0;
        break;
    case 7:
        p->C = p->B;
        break;
    case 8:
        p->B = NULL;
        break;
    case 9:
        p->C = NULL;
        break;
    default:
        p->n = -3;
        break;
    }
}
