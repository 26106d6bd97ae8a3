/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix type spmmdist against products formed entry by entry, on a rectangular matrix of which
 * one rank has no rows and another no columns.  It knows the type by its name alone:
 *
 *     mpirun -n 3 test_type -dll_append libspmm_dist_petsc.so [-mat_spmmdist_partition block]
 */
#include <petscksp.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 53, COLS = 47, WIDE = 9 };
enum { OP_N, OP_T, OP_H, OPS };

static PetscInt now; /* round of random values */

static PetscReal random_real(int64_t key)
{
    uint64_t z = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (PetscReal)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1.0;
}

static PetscScalar random_scalar(int64_t key)
{
    PetscScalar x = random_real(2 * key);

#ifdef PETSC_USE_COMPLEX
    x += PETSC_i * random_real(2 * key + 1);
#endif
    return x;
}

static PetscBool is_entry(PetscInt i, PetscInt j)
{
    return i == j || (i * 31 + j * 17) % 11 == 3;
}

static PetscScalar value(PetscInt i, PetscInt j)
{
    return random_scalar(1 + i * 1000 + j + now * 1000000);
}

static PetscScalar entry(int op, PetscInt i, PetscInt j)
{
    const PetscInt r = op == OP_N ? i : j, c = op == OP_N ? j : i;

    return !is_entry(r, c) ? 0.0 : op == OP_H ? PetscConj(value(r, c)) : value(r, c);
}

static PetscScalar dense(PetscInt i, PetscInt column)
{
    return random_scalar(5000000 + i * 100 + column);
}

/* Row i of op(A) B + beta B', of whose size errors are measured. */
static PetscScalar expected(int op, PetscInt i, PetscInt column, PetscBool adds)
{
    const PetscInt n   = op == OP_N ? COLS : ROWS;
    PetscScalar    sum = adds ? dense(i, 99) : 0.0;

    for (PetscInt j = 0; j < n; j++) {
        sum += entry(op, i, j) * dense(j, column);
    }
    return sum;
}

static PetscErrorCode check_column(int op, PetscInt first, PetscInt n, PetscInt column,
                                   PetscBool adds, const PetscScalar *y, const char *what)
{
    PetscFunctionBeginUser;
    for (PetscInt i = 0; i < n; i++) {
        const PetscReal error = PetscAbsScalar(y[i] - expected(op, first + i, column, adds));

        PetscCheck(error < 1e-12, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s, op %d: row %d, column %d is wrong by %g", what, op, (int)(first + i),
                   (int)column, (double)error);
    }
    PetscFunctionReturn(0);
}

/* The first rank has no columns and the last no rows. */
static PetscInt share(int rank, int size, PetscInt n, PetscBool last_is_empty)
{
    const int parts = size - 1, part = last_is_empty ? rank : rank - 1;

    if (size == 1) {
        return n;
    }
    return part < 0 || part >= parts ? 0 : n * (part + 1) / parts - n * part / parts;
}

static PetscErrorCode set_values(Mat A)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt j = 0; j < COLS; j++) {
            if (is_entry(i, j)) {
                PetscCall(MatSetValue(A, i, j, value(i, j), INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_matrix(MatType type, Mat *A)
{
    int rank, size;

    PetscFunctionBeginUser;
    now = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, share(rank, size, ROWS, PETSC_TRUE),
                          share(rank, size, COLS, PETSC_FALSE), ROWS, COLS));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    PetscCall(set_values(*A));
    PetscFunctionReturn(0);
}

static PetscErrorCode fill(Vec x, PetscInt column)
{
    PetscInt     first, last;
    PetscScalar *values;

    PetscFunctionBeginUser;
    PetscCall(VecGetOwnershipRange(x, &first, &last));
    PetscCall(VecGetArrayWrite(x, &values));
    for (PetscInt i = first; i < last; i++) {
        values[i - first] = dense(i, column);
    }
    PetscCall(VecRestoreArrayWrite(x, &values));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_vectors(Mat A, const char *what)
{
    typedef PetscErrorCode (*mult_t)(Mat, Vec, Vec);
    typedef PetscErrorCode (*add_t)(Mat, Vec, Vec, Vec);
    const mult_t mult[OPS] = {MatMult, MatMultTranspose, MatMultHermitianTranspose};
    const add_t  add[OPS]  = {MatMultAdd, MatMultTransposeAdd, MatMultHermitianTransposeAdd};

    PetscFunctionBeginUser;
    for (int op = 0; op < OPS; op++) {
        Vec                x, y, z;
        PetscInt           first, last;
        const PetscScalar *values;

        PetscCall(op == OP_N ? MatCreateVecs(A, &x, &y) : MatCreateVecs(A, &y, &x));
        PetscCall(VecDuplicate(y, &z));
        PetscCall(VecGetOwnershipRange(y, &first, &last));
        PetscCall(fill(x, 0));
        PetscCall(VecSet(y, NAN)); /* which no product may read */
        for (int way = 0; way < 3; way++) {
            if (way == 0) {
                PetscCall(mult[op](A, x, y));
            } else {
                PetscCall(fill(way == 1 ? z : y, 99));
                PetscCall(add[op](A, x, way == 1 ? z : y, y));
            }
            PetscCall(VecGetArrayRead(y, &values));
            PetscCall(check_column(op, first, last - first, 0, way > 0, values, what));
            PetscCall(VecRestoreArrayRead(y, &values));
        }
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
        PetscCall(VecDestroy(&z));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode check_block(int op, Mat C, const char *what)
{
    PetscInt           first, last, columns, ld;
    const PetscScalar *values;

    PetscFunctionBeginUser;
    PetscCall(MatGetOwnershipRange(C, &first, &last));
    PetscCall(MatGetSize(C, NULL, &columns));
    PetscCall(MatDenseGetLDA(C, &ld));
    PetscCall(MatDenseGetArrayRead(C, &values));
    for (PetscInt j = 0; j < columns; j++) {
        PetscCall(check_column(op, first, last - first, j, PETSC_FALSE, values + j * ld, what));
    }
    PetscCall(MatDenseRestoreArrayRead(C, &values));
    PetscFunctionReturn(0);
}

/* With room below each column. */
static PetscErrorCode make_block(PetscInt rows, PetscInt columns, PetscInt room, Mat *B)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, B));
    PetscCall(MatSetSizes(*B, rows, PETSC_DECIDE, PETSC_DETERMINE, columns));
    PetscCall(MatSetType(*B, MATDENSE));
    PetscCall(MatDenseSetLDA(*B, rows + room));
    PetscCall(MatSetUp(*B));
    PetscCall(MatGetOwnershipRange(*B, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt j = 0; j < columns; j++) {
            PetscCall(MatSetValue(*B, i, j, dense(i, j), INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply(int op, Mat A, Mat B, MatReuse reuse, Mat *C)
{
    return op == OP_N ? MatMatMult(A, B, reuse, PETSC_DEFAULT, C)
                      : MatTransposeMatMult(A, B, reuse, PETSC_DEFAULT, C);
}

/* C made by PETSc, used again for other values of A, and a C of the program. */
static PetscErrorCode test_blocks(void)
{
    Mat A, B, C, own;

    PetscFunctionBeginUser;
    PetscCall(make_matrix("spmmdist", &A));
    for (int op = OP_N; op <= OP_T; op++) {
        for (PetscInt columns = 1; columns <= WIDE; columns += 4) {
            PetscInt rows, cols;

            PetscCall(op == OP_N ? MatGetLocalSize(A, &rows, &cols)
                                 : MatGetLocalSize(A, &cols, &rows));
            PetscCall(make_block(cols, columns, 2, &B));
            PetscCall(make_block(rows, columns, 3, &own));
            PetscCall(multiply(op, A, B, MAT_INITIAL_MATRIX, &C));
            PetscCall(check_block(op, C, "C of PETSc"));
            now++;
            PetscCall(set_values(A));
            PetscCall(multiply(op, A, B, MAT_REUSE_MATRIX, &C));
            PetscCall(check_block(op, C, "C used again"));
            PetscCall(multiply(op, A, B, MAT_REUSE_MATRIX, &own));
            PetscCall(check_block(op, own, "C of the program"));
            PetscCall(MatDestroy(&own));
            PetscCall(MatDestroy(&C));
            PetscCall(MatDestroy(&B));
        }
    }
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

static PetscErrorCode expect_type(Mat A, const char *ending)
{
    MatType     type;
    const char *at;

    PetscFunctionBeginUser;
    PetscCall(MatGetType(A, &type));
    at = strstr(type, ending);
    PetscCheck(at != NULL && at[strlen(ending)] == '\0', PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "type %s does not end in %s", type, ending);
    PetscFunctionReturn(0);
}

/* From and to AIJ and others, as a copy and in place. */
static PetscErrorCode test_conversions(void)
{
    Mat A, B;

    PetscFunctionBeginUser;
    PetscCall(make_matrix(MATAIJ, &A));
    PetscCall(MatConvert(A, "spmmdist", MAT_INITIAL_MATRIX, &B));
    PetscCall(expect_type(A, MATAIJ));
    PetscCall(expect_type(B, "aijspmmdist"));
    PetscCall(check_vectors(B, "a copy of an AIJ"));
    now++;
    PetscCall(set_values(A));
    PetscCall(MatConvert(A, "spmmdist", MAT_REUSE_MATRIX, &B));
    PetscCall(check_vectors(B, "a copy into the first"));
    PetscCall(MatDestroy(&B));
    PetscCall(MatConvert(A, "spmmdist", MAT_INPLACE_MATRIX, &A));
    PetscCall(expect_type(A, "aijspmmdist"));
    PetscCall(check_vectors(A, "in place"));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(expect_type(B, MATAIJ));
    PetscCall(check_vectors(B, "back, a copy"));
    PetscCall(MatDestroy(&B));
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
    PetscCall(expect_type(B, MATDENSE));
    PetscCall(MatConvert(B, "mpiaijspmmdist", MAT_INPLACE_MATRIX, &B));
    PetscCall(expect_type(B, "mpiaijspmmdist")); /* also on one rank */
    PetscCall(MatDestroy(&B));
    PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    PetscCall(expect_type(A, MATAIJ));
    PetscCall(check_vectors(A, "back in place"));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* MatView() says what the plan is, where it says what the matrix is.  What -log_view takes for the
 * work of a product: two for each entry and column, of complex numbers four times as many. */
static PetscErrorCode test_reports(void)
{
    Mat            A;
    Vec            x, y;
    char          *text = NULL;
    size_t         size;
    FILE          *file = open_memstream(&text, &size);
    MatInfo        info;
    PetscLogDouble before, after;
    PetscViewer    viewer;
    int            rank;

    PetscFunctionBeginUser;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    PetscCall(make_matrix("spmmdist", &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(fill(x, 0));
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    PetscCall(PetscGetFlops(&before));
    PetscCall(MatMult(A, x, y));
    PetscCall(PetscGetFlops(&after));
    PetscCheck(after - before == (PetscDefined(USE_COMPLEX) ? 8.0 : 2.0) * info.nz_used,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "%g flops of %g entries", after - before,
               info.nz_used);
    PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
    PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
    PetscCall(MatView(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
    (void)fclose(file);
    PetscCheck(rank > 0 || strstr(text, "spmm_dist: products with A: up to 1 columns") != NULL,
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatView() printed\n%s", text);
    free(text);
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsInsertString(NULL, "-mat_spmmdist_columns 4"));
    PetscCall(test_blocks());
    PetscCall(test_conversions());
    PetscCall(test_reports());
    PetscCall(PetscFinalize());
    return EXIT_SUCCESS;
}
