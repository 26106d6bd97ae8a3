/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.c  Matrix and plans of a MATSPMMDIST, made when a product first needs them. */
#include <assert.h>
#include <petsc/private/petscimpl.h> /* PetscObjectStateGet() */
#include <string.h>

#include "state.h"

/* PETSc is built with indices of either width; its arrays are taken as they are. */
#ifdef PETSC_USE_64BIT_INDICES
#define create_csr spmm_matrix_create_csr
static_assert(sizeof(PetscInt) == sizeof(int64_t), "PetscInt has 64 bits");
#else
#define create_csr spmm_matrix_create_csr32
static_assert(sizeof(PetscInt) == sizeof(int32_t), "PetscInt has 32 bits");
#endif

#if defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_DOUBLE)
#define SCALAR SPMM_C_64F
#elif defined(PETSC_USE_COMPLEX) && defined(PETSC_USE_REAL_SINGLE)
#define SCALAR SPMM_C_32F
#elif defined(PETSC_USE_REAL_DOUBLE)
#define SCALAR SPMM_R_64F
#elif defined(PETSC_USE_REAL_SINGLE)
#define SCALAR SPMM_R_32F
#else
#error "spmm_dist has no type for the PetscScalar of this PETSc: single or double, real or complex"
#endif

static PetscErrorCode read_options(Mat mat, spmmi_options_t *o)
{
    PetscFunctionBegin;
    if (o->read) {
        PetscFunctionReturn(0);
    }
    o->columns = 64;
    PetscObjectOptionsBegin((PetscObject)mat);
    PetscCall(PetscOptionsString("-mat_spmmdist_partition",
                                 "Rows of a plan: keep, block, metis, ...", NULL, "keep",
                                 o->partition, sizeof o->partition, NULL));
    PetscCall(PetscOptionsString("-mat_spmmdist_engine", "Local format and kernels", NULL, "auto",
                                 o->engine, sizeof o->engine, NULL));
    PetscCall(PetscOptionsString("-mat_spmmdist_transport", "How rows travel", NULL, "auto",
                                 o->transport, sizeof o->transport, NULL));
    PetscCall(PetscOptionsString("-mat_spmmdist_tuning", "Other choices: key=value,...", NULL, "",
                                 o->tuning, sizeof o->tuning, NULL));
    PetscCall(PetscOptionsBool("-mat_spmmdist_deterministic", "Equal results from run to run", NULL,
                               o->deterministic, &o->deterministic, NULL));
    PetscCall(PetscOptionsBoundedInt("-mat_spmmdist_columns", "Most columns of one execute", NULL,
                                     o->columns, &o->columns, NULL, 1));
    PetscOptionsEnd();
    o->read = PETSC_TRUE;
    PetscFunctionReturn(0);
}

static PetscErrorCode free_plan(spmm_context_t *ctx, spmmi_plan_t *p)
{
    PetscFunctionBegin;
    SPMMI_CALL(ctx, spmm_plan_destroy(&p->plan));
    SPMMI_CALL(ctx, spmm_buffer_free(ctx, &p->B));
    SPMMI_CALL(ctx, spmm_buffer_free(ctx, &p->C));
    p->columns = 0;
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_reset(spmmi_state_t *state)
{
    PetscFunctionBegin;
    for (int op = 0; op < SPMMI_OPS; op++) {
        PetscCall(free_plan(state->ctx, &state->plans[op]));
    }
    SPMMI_CALL(state->ctx, spmm_matrix_destroy(&state->A));
    PetscFunctionReturn(0);
}

/* This rank's rows, with global columns, of which PETSc keeps two parts: a copy where there are
 * several ranks. */
static PetscErrorCode get_rows(Mat mat, Mat *rows)
{
    PetscBool is_mpi;

    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)mat, MATMPIAIJ, &is_mpi));
    if (is_mpi) {
        PetscCall(MatMPIAIJGetLocalMat(mat, MAT_INITIAL_MATRIX, rows));
    } else {
        PetscCall(PetscObjectReference((PetscObject)mat));
        *rows = mat;
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode create_matrix(Mat mat, spmmi_state_t *state)
{
    PetscInt           n_rows, n_cols;
    const PetscInt    *row_ptr, *col_idx;
    const PetscScalar *values;
    PetscBool          done;
    Mat                rows;
    spmm_matrix_info_t info = {.struct_size = sizeof info};

    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(mat, NULL, &n_cols));
    PetscCall(get_rows(mat, &rows));
    PetscCall(MatGetRowIJ(rows, 0, PETSC_FALSE, PETSC_FALSE, &n_rows, &row_ptr, &col_idx, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no CSR arrays");
    PetscCall(MatSeqAIJGetArrayRead(rows, &values));
    SPMMI_CALL(state->ctx,
               create_csr(state->ctx, n_rows, n_cols, row_ptr, col_idx, values, SCALAR, &state->A));
    SPMMI_CALL(state->ctx, spmm_matrix_get_info(state->A, &info));
    state->nnz = (PetscLogDouble)info.local_nnz;
    PetscCall(MatSeqAIJRestoreArrayRead(rows, &values));
    PetscCall(
        MatRestoreRowIJ(rows, 0, PETSC_FALSE, PETSC_FALSE, &n_rows, &row_ptr, &col_idx, &done));
    PetscCall(MatDestroy(&rows));
    PetscFunctionReturn(0);
}

/* With @p whole A takes the values, and all plans made from it: collective.  Else the plans that
 * there are take those of this rank, and A does not. */
static PetscErrorCode update_values(Mat mat, spmmi_state_t *state, PetscBool whole)
{
    const PetscScalar *values;
    Mat                rows;

    PetscFunctionBegin;
    PetscCall(get_rows(mat, &rows));
    PetscCall(MatSeqAIJGetArrayRead(rows, &values));
    if (whole) {
        SPMMI_CALL(state->ctx, spmm_matrix_update_values(state->A, values));
    }
    for (int op = 0; op < SPMMI_OPS && !whole; op++) {
        if (state->plans[op].plan != NULL) {
            SPMMI_CALL(state->ctx, spmm_plan_update_values(state->plans[op].plan, values, NULL));
        }
    }
    PetscCall(MatSeqAIJRestoreArrayRead(rows, &values));
    PetscCall(MatDestroy(&rows));
    state->behind = whole ? PETSC_FALSE : PETSC_TRUE;
    PetscFunctionReturn(0);
}

static PetscErrorCode is_on_any_rank(Mat mat, PetscBool here, PetscBool *any)
{
    int flag = here ? 1 : 0;

    PetscFunctionBegin;
    PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)mat)));
    *any = flag != 0 ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(0);
}

/* 0: there are no two parts. */
static PetscErrorCode get_state_of_parts(Mat mat, PetscBool *has_parts, PetscObjectState *state)
{
    PetscObjectState diagonal, other;
    Mat              part[2];

    PetscFunctionBegin;
    *state = 0;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)mat, MATMPIAIJ, has_parts));
    if (*has_parts) {
        PetscCall(MatMPIAIJGetSeqAIJ(mat, &part[0], &part[1], NULL));
        PetscCall(PetscObjectStateGet((PetscObject)part[0], &diagonal));
        PetscCall(PetscObjectStateGet((PetscObject)part[1], &other));
        *state = diagonal + other;
    }
    PetscFunctionReturn(0);
}

/* Changes that the whole does not count, maybe of some ranks alone. */
static PetscErrorCode follow_parts(Mat mat, spmmi_state_t *state, PetscBool changed)
{
    PetscBool local = PETSC_TRUE;

    PetscFunctionBegin;
    for (int op = 0; op < SPMMI_OPS; op++) {
        local = local && (state->plans[op].plan == NULL || !state->plans[op].moves);
    }
    if (!local) {
        PetscCall(is_on_any_rank(mat, changed, &changed));
    }
    if (changed) {
        PetscCall(update_values(mat, state, local ? PETSC_FALSE : PETSC_TRUE));
    }
    PetscFunctionReturn(0);
}

/* The matrix of spmm_dist is what the AIJ is.  PETSc counts changes of the whole alike on all
 * ranks. */
static PetscErrorCode follow(Mat mat, spmmi_state_t *state)
{
    PetscObjectState values, pattern, parts;
    PetscBool        has_parts;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)mat, &values));
    PetscCall(MatGetNonzeroState(mat, &pattern));
    PetscCall(get_state_of_parts(mat, &has_parts, &parts));
    if (state->A != NULL && pattern != state->pattern) {
        PetscCall(spmmi_reset(state));
    }
    if (state->A == NULL) {
        PetscCall(create_matrix(mat, state));
        state->behind = PETSC_FALSE;
    } else if (values != state->values) {
        PetscCall(update_values(mat, state, PETSC_TRUE));
    } else if (has_parts) {
        PetscCall(follow_parts(mat, state, parts != state->parts ? PETSC_TRUE : PETSC_FALSE));
    }
    state->values  = values;
    state->pattern = pattern;
    state->parts   = parts;
    PetscFunctionReturn(0);
}

/* A has the values of all ranks: a plan is made of it. */
static PetscErrorCode catch_up(Mat mat, spmmi_state_t *state)
{
    PetscBool behind;

    PetscFunctionBegin;
    PetscCall(is_on_any_rank(mat, state->behind, &behind));
    if (behind) {
        PetscCall(update_values(mat, state, PETSC_TRUE));
    }
    PetscFunctionReturn(0);
}

static const char *chosen(const char *name)
{
    return name[0] == '\0' ? NULL : name;
}

static PetscErrorCode create_plan(spmmi_state_t *state, spmm_op_t op, PetscInt columns,
                                  spmmi_plan_t *p)
{
    const spmmi_options_t *o       = &state->options;
    spmm_plan_options_t    options = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t     B = {.struct_size = sizeof B}, C = {.struct_size = sizeof C};
    spmm_plan_stats_t      stats = {.struct_size = sizeof stats};

    PetscFunctionBegin;
    options.op            = op;
    options.layout        = SPMM_LAYOUT_COL;
    options.partition     = chosen(o->partition);
    options.engine        = chosen(o->engine);
    options.transport     = chosen(o->transport);
    options.tuning        = chosen(o->tuning);
    options.deterministic = o->deterministic;
    SPMMI_CALL(state->ctx, spmm_plan_create(state->A, columns, &options, &p->plan));
    SPMMI_CALL(state->ctx, spmm_plan_get_stats(p->plan, &stats));
    p->columns = columns;
    p->moves   = strcmp(stats.partition, "keep") != 0 ? PETSC_TRUE : PETSC_FALSE;
    if (!p->moves) {
        PetscFunctionReturn(0);
    }
    SPMMI_CALL(state->ctx, spmm_plan_get_layout(p->plan, SPMM_OPERAND_B, &B));
    SPMMI_CALL(state->ctx, spmm_plan_get_layout(p->plan, SPMM_OPERAND_C, &C));
    p->b_rows = B.local_rows;
    p->c_rows = C.local_rows;
    SPMMI_CALL(state->ctx,
               spmm_buffer_alloc(state->ctx,
                                 sizeof(PetscScalar) * (size_t)p->b_rows * (size_t)columns, &p->B));
    SPMMI_CALL(state->ctx,
               spmm_buffer_alloc(state->ctx,
                                 sizeof(PetscScalar) * (size_t)p->c_rows * (size_t)columns, &p->C));
    PetscFunctionReturn(0);
}

/* The conjugate transpose of a real matrix is its transpose. */
static spmm_op_t planned_op(spmm_op_t op)
{
    return PetscDefined(USE_COMPLEX) || op != SPMM_OP_H ? op : SPMM_OP_T;
}

PetscErrorCode spmmi_prepare(Mat mat, spmm_op_t op, PetscInt columns, spmmi_state_t **found)
{
    spmmi_state_t *state;
    spmmi_plan_t  *p;

    PetscFunctionBegin;
    PetscCall(spmmi_state_of(mat, &state));
    PetscCall(read_options(mat, &state->options));
    PetscCall(follow(mat, state));
    columns = PetscMin(columns, state->options.columns);
    p       = &state->plans[planned_op(op)];
    if (p->columns < columns) {
        PetscCall(free_plan(state->ctx, p));
        PetscCall(catch_up(mat, state));
        PetscCall(create_plan(state, planned_op(op), columns, p));
    }
    *found = state;
    PetscFunctionReturn(0);
}

/* What the plan of one op(A) chose. */
static PetscErrorCode view_plan(const spmmi_state_t *state, spmm_op_t op, PetscViewer viewer)
{
    static const char *const names[SPMMI_OPS] = {"A", "A^T", "A^H"};
    const spmmi_plan_t      *p                = &state->plans[op];
    spmm_plan_stats_t        stats            = {.struct_size = sizeof stats};

    PetscFunctionBegin;
    if (p->plan == NULL) {
        PetscFunctionReturn(0);
    }
    SPMMI_CALL(state->ctx, spmm_plan_get_stats(p->plan, &stats));
    PetscCall(PetscViewerASCIIPrintf(
        viewer,
        "spmm_dist: products with %s: up to %" PetscInt_FMT " columns, partition %s, engine %s, "
        "transport %s, schedule %s, %lld rows to receive\n",
        names[op], p->columns, stats.partition, stats.engine, stats.transport, stats.schedule,
        (long long)stats.halo_rows_total));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_view_plans(const spmmi_state_t *state, PetscViewer viewer)
{
    PetscFunctionBegin;
    for (int op = 0; op < SPMMI_OPS; op++) {
        PetscCall(view_plan(state, (spmm_op_t)op, viewer));
    }
    PetscFunctionReturn(0);
}

/* One slice of columns through a plan with rows of its own: they travel there and back. */
static PetscErrorCode execute_moved(spmm_context_t *ctx, const spmmi_plan_t *p, PetscInt n,
                                    const PetscScalar *B, PetscInt ldb, double beta, PetscScalar *C,
                                    PetscInt ldc)
{
    PetscFunctionBegin;
    SPMMI_CALL(ctx, spmm_plan_scatter(p->plan, SPMM_OPERAND_B, n, B, ldb, p->B, p->b_rows, NULL));
    if (beta != 0.0) {
        SPMMI_CALL(ctx,
                   spmm_plan_scatter(p->plan, SPMM_OPERAND_C, n, C, ldc, p->C, p->c_rows, NULL));
    }
    SPMMI_CALL(ctx, spmm_execute(p->plan, n, 1.0, p->B, p->b_rows, beta, p->C, p->c_rows, NULL));
    SPMMI_CALL(ctx, spmm_plan_gather(p->plan, SPMM_OPERAND_C, n, p->C, p->c_rows, C, ldc, NULL));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_execute(Mat mat, spmm_op_t op, PetscInt columns, const PetscScalar *B,
                             PetscInt ldb, double beta, PetscScalar *C, PetscInt ldc)
{
    spmmi_state_t      *state;
    const spmmi_plan_t *p;

    PetscFunctionBegin;
    PetscCall(spmmi_prepare(mat, op, columns, &state));
    p = &state->plans[planned_op(op)];
    for (PetscInt j = 0; j < columns; j += p->columns) {
        const PetscInt     n  = PetscMin(p->columns, columns - j);
        const PetscScalar *Bj = B == NULL ? NULL : B + (size_t)j * (size_t)ldb;
        PetscScalar       *Cj = C == NULL ? NULL : C + (size_t)j * (size_t)ldc;

        if (p->moves) {
            PetscCall(execute_moved(state->ctx, p, n, Bj, ldb, beta, Cj, ldc));
        } else {
            SPMMI_CALL(state->ctx, spmm_execute(p->plan, n, 1.0, Bj, ldb, beta, Cj, ldc, NULL));
        }
    }
    PetscCall(PetscLogFlops(2.0 * state->nnz * (PetscLogDouble)columns)); /* for -log_view */
    PetscFunctionReturn(0);
}
