/* SPDX-License-Identifier: Apache-2.0 */
/* All products of two and of three matrices of which one at least has the type spmmdist: PETSc does
 * what it does where that one is an AIJ, or refuses it with the same error.
 *
 *     mpirun -n 2 test_products -dll_append libspmm_dist_petsc.so [-mat_spmmdist_partition block]
 */
#include <petscmat.h>
#include <string.h>

enum { FACTORS = 3, IN_ROW = 3 };
/* What a factor is: 's' is a spmmdist, and an AIJ in the reference; 'a' is an AIJ, 'd' dense, 't'
 * the MATTRANSPOSE of an 's', 'm' the MAIJ of one. */
static const char kinds[] = "sadtm";

static const struct {
    const char    *name;
    MatProductType type;
    PetscInt       shape[FACTORS][2];
} products[] = {
    {"A B", MATPRODUCT_AB, {{48, 24}, {24, 72}}},
    {"A^T B", MATPRODUCT_AtB, {{48, 24}, {48, 72}}},
    {"A B^T", MATPRODUCT_ABt, {{48, 24}, {72, 24}}},
    {"P^T A P", MATPRODUCT_PtAP, {{48, 48}, {48, 24}}},
    {"R A R^T", MATPRODUCT_RARt, {{48, 48}, {24, 48}}},
    {"A B C", MATPRODUCT_ABC, {{48, 24}, {24, 72}, {72, 24}}},
};

typedef struct {
    Mat outer[FACTORS]; /* the factors */
    Mat inner[FACTORS]; /* what holds their values, which a MATTRANSPOSE does not */
    Mat result;
} case_t;

static PetscScalar number(PetscInt key)
{
    PetscScalar x = (PetscReal)(key % 11 - 5);

#ifdef PETSC_USE_COMPLEX
    x += PETSC_i * (PetscReal)(key % 7 - 3);
#endif
    return x;
}

static PetscErrorCode make(MatType type, const PetscInt shape[2], PetscInt salt, Mat *A)
{
    const PetscBool is_dense = strcmp(type, MATDENSE) == 0 ? PETSC_TRUE : PETSC_FALSE;
    const PetscInt  in_row   = is_dense ? shape[1] : IN_ROW;
    PetscInt        first, last;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, shape[0], shape[1]));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    if (!is_dense) {
        PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    }
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt k = 0; k < in_row; k++) {
            const PetscInt j = is_dense ? k : (2 * i + 5 * k) % shape[1];

            PetscCall(MatSetValue(*A, i, j, number(7 * i + 13 * j + salt), INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_factor(char kind, MatType own, const PetscInt shape[2], PetscInt salt,
                                  Mat *outer, Mat *inner)
{
    const PetscInt transposed[2] = {shape[1], shape[0]}, half[2] = {shape[0] / 2, shape[1] / 2};

    PetscFunctionBeginUser;
    if (kind == 't') {
        PetscCall(make(own, transposed, salt, inner));
        PetscCall(MatCreateTranspose(*inner, outer));
    } else if (kind == 'm') {
        PetscCall(make(own, half, salt, inner));
        PetscCall(MatCreateMAIJ(*inner, 2, outer));
    } else {
        PetscCall(make(kind == 's' ? own : kind == 'a' ? MATAIJ : MATDENSE, shape, salt, inner));
        PetscCall(PetscObjectReference((PetscObject)*inner));
        *outer = *inner;
    }
    PetscFunctionReturn(0);
}

/* No function of PETSc reports here: the caller asks whether it is the error of the reference. */
static PetscErrorCode form(case_t *c, MatProductType type)
{
    PetscErrorCode error = MatProductCreate(c->outer[0], c->outer[1], c->outer[2], &c->result);

    if (!error) {
        error = MatProductSetType(c->result, type);
    }
    if (!error) {
        error = MatProductSetFromOptions(c->result);
    }
    if (!error) {
        error = MatProductSymbolic(c->result);
    }
    return error ? error : MatProductNumeric(c->result);
}

static PetscErrorCode expect_equal(Mat got, Mat want, const char *name, const char *factors,
                                   const char *when)
{
    PetscReal error;
    Mat       a, b;

    PetscFunctionBeginUser;
    PetscCall(MatConvert(got, MATDENSE, MAT_INITIAL_MATRIX, &a));
    PetscCall(MatConvert(want, MATDENSE, MAT_INITIAL_MATRIX, &b));
    PetscCall(MatAXPY(a, -1.0, b, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(a, NORM_INFINITY, &error));
    PetscCheck(error < 1e-9, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s of %s, %s, is wrong by %g", name,
               factors, when, (double)error);
    PetscCall(MatDestroy(&a));
    PetscCall(MatDestroy(&b));
    PetscFunctionReturn(0);
}

/* Where PETSc refuses a product of three it leaves factors that cannot be destroyed: they stay. */
static PetscErrorCode destroy(case_t *c)
{
    PetscFunctionBeginUser;
    PetscCall(MatDestroy(&c->result));
    for (int f = 0; f < FACTORS; f++) {
        PetscCall(MatDestroy(&c->outer[f]));
        PetscCall(MatDestroy(&c->inner[f]));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode check(size_t p, const char *factors, int *formed)
{
    const PetscBool may_be_refused = strcmp(factors, "taa") == 0 ? PETSC_TRUE : PETSC_FALSE;
    const char     *name           = products[p].name;
    case_t          cases[2]       = {0}; /* with an AIJ, and with a spmmdist */
    PetscErrorCode  error[2];

    PetscFunctionBeginUser;
    for (int k = 0; k < 2; k++) {
        for (int f = 0; factors[f] != '\0'; f++) {
            PetscCall(make_factor(factors[f], k == 0 ? MATAIJ : "spmmdist", products[p].shape[f], f,
                                  &cases[k].outer[f], &cases[k].inner[f]));
        }
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        error[k] = form(&cases[k], products[p].type);
        PetscCall(PetscPopErrorHandler());
    }
    PetscCheck(error[0] == error[1] || may_be_refused, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s of %s: error %d with aij, %d with spmmdist", name, factors, (int)error[0],
               (int)error[1]);
    if (error[0] || error[1]) {
        PetscFunctionReturn(0);
    }
    PetscCall(expect_equal(cases[1].result, cases[0].result, name, factors, "as made"));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatScale(cases[k].inner[0], 3.0));
        PetscCall(MatProductNumeric(cases[k].result));
    }
    PetscCall(expect_equal(cases[1].result, cases[0].result, name, factors, "with other values"));
    PetscCall(destroy(&cases[0]));
    PetscCall(destroy(&cases[1]));
    (*formed)++;
    PetscFunctionReturn(0);
}

/* PETSc itself crashes on the AIJ's product of a dense matrix, a sparse and a dense one. */
static PetscBool is_left_out(const char *factors)
{
    int size;

    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    return strpbrk(factors, "stm") == NULL ||
                   (size > 1 && factors[0] == 'd' && factors[2] != '\0' && strchr(factors + 1, 'd'))
               ? PETSC_TRUE
               : PETSC_FALSE;
}

int main(int argc, char **argv)
{
    int formed[2] = {0, 0}; /* of two factors, and of three */

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    for (size_t p = 0; p < sizeof products / sizeof products[0]; p++) {
        const int of_three = products[p].type == MATPRODUCT_ABC ? 1 : 0;
        const int n_kinds  = (int)strlen(kinds) - of_three; /* PETSc has none of a MAIJ and two */
        const int choices  = n_kinds * n_kinds * (of_three ? n_kinds : 1);

        for (int choice = 0; choice < choices; choice++) {
            const char factors[FACTORS + 1] = {
                kinds[choice % n_kinds], kinds[choice / n_kinds % n_kinds],
                of_three ? kinds[choice / n_kinds / n_kinds] : '\0', '\0'};

            if (!is_left_out(factors)) {
                PetscCall(check(p, factors, &formed[of_three]));
            }
        }
    }
    PetscCheck(formed[0] > 40 && formed[1] > 15, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "only %d products of two and %d of three factors were formed", formed[0], formed[1]);
    PetscCall(PetscFinalize());
    return 0;
}
