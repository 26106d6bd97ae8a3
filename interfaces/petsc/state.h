/* SPDX-License-Identifier: Apache-2.0 */
/** @file state.h  What a MATSPMMDIST has beside its AIJ, and the products that use it.
 *
 *  The type is an AIJ (its data, its assembly, its preconditioners) of which some operations are
 *  replaced.  Its matrix and plans of spmm_dist follow the AIJ: a product compares the states that
 *  PETSc counts, takes new values where those differ, and begins anew where the pattern does.
 *  Some changes of an MPIAIJ (MatAXPY(), MatRealPart()) PETSc counts on its two blocks alone, and a
 *  program may change a block on one rank: plans then take the values of each rank without the
 *  others, as far as values need not travel.
 */
#ifndef SPMM_PETSC_STATE_H
#define SPMM_PETSC_STATE_H

#include <petscmat.h>
#include <spmm_dist/spmm_dist.h>

enum { SPMMI_OPS = 3 }; /* of spmm_op_t: one plan for each */
enum { SPMMI_NAME = 256 };

typedef struct {
    spmm_plan_t *plan;
    PetscInt     columns; /* of one execute, at most */
    PetscBool    moves;   /* the plan has other rows than PETSc: values travel; */
    void        *B, *C;   /* b_rows and c_rows of them, of so many columns; else NULL */
    int64_t      b_rows, c_rows;
} spmmi_plan_t;

typedef struct {
    char      partition[SPMMI_NAME], engine[SPMMI_NAME], transport[SPMMI_NAME];
    char      tuning[SPMMI_NAME]; /* "" in any of these: the library's choice */
    PetscBool deterministic, read;
    PetscInt  columns; /* most of one plan */
} spmmi_options_t;

typedef struct {
    spmm_context_t  *ctx; /* shared by all matrices of a communicator */
    spmm_matrix_t   *A;
    PetscLogDouble   nnz; /* entries of this rank's rows of A */
    spmmi_plan_t     plans[SPMMI_OPS];
    PetscObjectState values, pattern; /* of the AIJ when A took them */
    PetscObjectState parts;           /* of the two blocks of an MPIAIJ, added up */
    PetscBool        behind;          /* plans have newer values of this rank than A */
    spmmi_options_t  options;
    Mat              owner; /* PETSc moves what a Mat carries to another one */
} spmmi_state_t;

/* Return from a function of PETSc where a call of spmm_dist failed. */
#define SPMMI_CALL(ctx, call)                                                                      \
    do {                                                                                           \
        if ((call) != SPMM_OK) {                                                                   \
            SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "spmm_dist: %s", spmm_last_error(ctx));        \
        }                                                                                          \
    } while (0)

/* Collective: the context of a communicator; the last who leaves it frees it. */
PETSC_INTERN PetscErrorCode spmmi_take_context(MPI_Comm comm, spmm_context_t **ctx);
PETSC_INTERN PetscErrorCode spmmi_leave_context(spmm_context_t *ctx);
/* Collective: the state of a MATSPMMDIST, new where PETSc has put another AIJ into the Mat. */
PETSC_INTERN PetscErrorCode spmmi_state_of(Mat mat, spmmi_state_t **state);
PETSC_INTERN PetscErrorCode spmmi_is_own(Mat mat, PetscBool *is_own);
/* A MATSPMMDIST goes by the name of its AIJ, and has no products, or is itself again. */
PETSC_INTERN PetscErrorCode spmmi_pass_for_aij(Mat mat, PetscBool pass);
/* Collective: free plans and matrix, which the next product makes anew. */
PETSC_INTERN PetscErrorCode spmmi_reset(spmmi_state_t *state);

/* Operations of vectors and blocks.  Collective. */
PETSC_INTERN PetscErrorCode spmmi_mult(Mat mat, Vec x, Vec y);
PETSC_INTERN PetscErrorCode spmmi_mult_add(Mat mat, Vec x, Vec add, Vec y);
PETSC_INTERN PetscErrorCode spmmi_mult_transpose(Mat mat, Vec x, Vec y);
PETSC_INTERN PetscErrorCode spmmi_mult_transpose_add(Mat mat, Vec x, Vec add, Vec y);
PETSC_INTERN PetscErrorCode spmmi_mult_hermitian(Mat mat, Vec x, Vec y);
PETSC_INTERN PetscErrorCode spmmi_mult_hermitian_add(Mat mat, Vec x, Vec add, Vec y);
/* For MatProductSetFromOptions(): A B and A^T B with dense B are ours, all else is the AIJ's. */
PETSC_INTERN PetscErrorCode spmmi_product_from_options(Mat C);

/* Collective: C = op(A) B + beta C on arrays of PETSc, whose plan is made where there is none. */
PETSC_INTERN PetscErrorCode spmmi_execute(Mat mat, spmm_op_t op, PetscInt columns,
                                          const PetscScalar *B, PetscInt ldb, double beta,
                                          PetscScalar *C, PetscInt ldc);
/* Collective: the plan for op(A) and so many columns, with the values that the AIJ has. */
PETSC_INTERN PetscErrorCode spmmi_prepare(Mat mat, spmm_op_t op, PetscInt columns,
                                          spmmi_state_t **state);
/* What the plans that there are chose. */
PETSC_INTERN PetscErrorCode spmmi_view_plans(const spmmi_state_t *state, PetscViewer viewer);

#endif /* SPMM_PETSC_STATE_H */
