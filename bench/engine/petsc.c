/* SPDX-License-Identifier: Apache-2.0 */
/** @file petsc.c  Products of PETSc's MATAIJ and of the same matrix as spmmdist, which it knows by
 *  name alone, in turn.  A line for each of MatMult(), MatMatMult() and MatTransposeMatMult(), and
 *  of KSPMatSolve() by conjugate gradients: columns, the least CPU time of each side, user's and
 *  system's of the rank with most, the median of the ratios of successive pairs, which other work
 *  on the machine moves least, the medians of both, the difference of the results relative to
 *  their size, the iterations.
 *
 *      mpirun -n 2 bench_petsc_real -dll_append libspmm_dist_petsc_real.so [-nx 60] [-box]
 *          [-columns 1,4,8] [-repeat 21] [-solve]
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */
#include <petscksp.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 16 };

/* The Laplacian of a cube of points with zero boundary: 7 points, or all 27 of a box. */
static PetscErrorCode make_cube(PetscInt nx, PetscBool is_box, Mat *A)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, nx * nx * nx, nx * nx * nx,
                           27, NULL, 18, NULL, A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        const PetscInt x = i % nx, y = i / nx % nx, z = i / nx / nx;

        for (int d = 0; d < 27; d++) {
            const PetscInt dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
            const PetscInt u = x + dx, v = y + dy, w = z + dz;
            const int      away = (dx != 0) + (dy != 0) + (dz != 0);

            if ((away <= 1 || is_box) && u >= 0 && u < nx && v >= 0 && v < nx && w >= 0 && w < nx) {
                PetscCall(MatSetValue(*A, i, (w * nx + v) * nx + u,
                                      away > 0 ? -1.0 : (is_box ? 26.0 : 6.0), INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_block(Mat A, PetscInt columns, Mat *B)
{
    PetscInt    n;
    PetscRandom random;

    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(A, NULL, &n));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, B));
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    PetscCall(PetscRandomSetFromOptions(random));
    PetscCall(MatSetRandom(*B, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscFunctionReturn(0);
}

static PetscErrorCode product(MatProductType type, Mat A, Mat B, MatReuse reuse, Mat *C)
{
    return type == MATPRODUCT_AB ? MatMatMult(A, B, reuse, PETSC_DEFAULT, C)
                                 : MatTransposeMatMult(A, B, reuse, PETSC_DEFAULT, C);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* CPU seconds of this process. */
static double used(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef PetscErrorCode (*once_t)(void *what, int side);

/* Milliseconds of a call. */
typedef struct {
    double least[2], median[2]; /* of each side */
    double ratio;               /* median of the pairs */
} times_t;

static double sort(double *number, PetscInt count)
{
    qsort(number, (size_t)count, sizeof *number, ascending);
    return number[count / 2];
}

/* Both sides take turns, each first in every other pair. */
static PetscErrorCode compare(once_t once, void *what, PetscInt repeat, times_t *times)
{
    double *took[2], *ratio;

    PetscFunctionBeginUser;
    PetscCall(PetscMalloc3(repeat, &took[0], repeat, &took[1], repeat, &ratio));
    for (PetscInt k = -1; k < repeat; k++) { /* the first time does not count */
        for (int turn = 0; turn < 2; turn++) {
            const int side = turn ^ (k & 1);
            double    seconds, slowest;

            MPI_Barrier(PETSC_COMM_WORLD);
            seconds = -used();
            PetscCall(once(what, side));
            seconds += used();
            MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
            if (k >= 0) {
                took[side][k] = 1e3 * slowest;
            }
        }
    }
    for (PetscInt k = 0; k < repeat; k++) {
        ratio[k] = took[0][k] / took[1][k];
    }
    times->ratio = sort(ratio, repeat);
    for (int side = 0; side < 2; side++) {
        times->median[side] = sort(took[side], repeat);
        times->least[side]  = took[side][0];
    }
    PetscCall(PetscFree3(took[0], took[1], ratio));
    PetscFunctionReturn(0);
}

static PetscErrorCode report(const char *what, PetscInt columns, const times_t *t, double error,
                             PetscInt steps)
{
    return PetscPrintf(PETSC_COMM_WORLD, "%s\t%d\t%.4f\t%.4f\t%.3f\t%.4f\t%.4f\t%.1e\t%d\t%d\n",
                       what, (int)columns, t->least[0], t->least[1], t->ratio, t->median[0],
                       t->median[1], error, (int)steps, (int)steps);
}

typedef struct {
    Mat            A[2], B, C[2];
    Vec            x, y[2];
    KSP            ksp[2];
    MatProductType type;
} case_t;

static PetscErrorCode mult(void *what, int side)
{
    case_t *c = what;

    return MatMult(c->A[side], c->x, c->y[side]);
}

static PetscErrorCode mat_mult(void *what, int side)
{
    case_t *c = what;

    return product(c->type, c->A[side], c->B, MAT_REUSE_MATRIX, &c->C[side]);
}

static PetscErrorCode mat_solve(void *what, int side)
{
    case_t *c = what;

    return KSPMatSolve(c->ksp[side], c->B, c->C[side]);
}

static PetscErrorCode difference(Mat C[2], double *error)
{
    PetscReal size, apart;

    PetscFunctionBeginUser;
    PetscCall(MatNorm(C[0], NORM_FROBENIUS, &size));
    PetscCall(MatAXPY(C[1], -1.0, C[0], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C[1], NORM_FROBENIUS, &apart));
    *error = apart / size;
    PetscFunctionReturn(0);
}

static PetscErrorCode measure_mult(case_t *c, PetscInt repeat)
{
    times_t   times = {.ratio = 0.0};
    PetscReal size, apart;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(c->A[0], &c->x, &c->y[0]));
    PetscCall(VecDuplicate(c->y[0], &c->y[1]));
    PetscCall(VecSetRandom(c->x, NULL));
    PetscCall(compare(mult, c, repeat, &times));
    PetscCall(VecNorm(c->y[0], NORM_2, &size));
    PetscCall(VecAXPY(c->y[1], -1.0, c->y[0]));
    PetscCall(VecNorm(c->y[1], NORM_2, &apart));
    PetscCall(report("MatMult", 1, &times, apart / size, 0));
    PetscCall(VecDestroy(&c->x));
    PetscCall(VecDestroy(&c->y[0]));
    PetscCall(VecDestroy(&c->y[1]));
    PetscFunctionReturn(0);
}

static PetscErrorCode measure_products(case_t *c, PetscInt columns, PetscInt repeat)
{
    PetscFunctionBeginUser;
    PetscCall(make_block(c->A[0], columns, &c->B));
    for (c->type = MATPRODUCT_AB; c->type <= MATPRODUCT_AtB; c->type++) {
        times_t times = {.ratio = 0.0};
        double  error;

        for (int side = 0; side < 2; side++) {
            PetscCall(product(c->type, c->A[side], c->B, MAT_INITIAL_MATRIX, &c->C[side]));
        }
        PetscCall(compare(mat_mult, c, repeat, &times));
        PetscCall(difference(c->C, &error));
        PetscCall(report(c->type == MATPRODUCT_AB ? "MatMatMult" : "MatTransposeMatMult", columns,
                         &times, error, 0));
        PetscCall(MatDestroy(&c->C[0]));
        PetscCall(MatDestroy(&c->C[1]));
    }
    PetscCall(MatDestroy(&c->B));
    PetscFunctionReturn(0);
}

/* Conjugate gradients with the default block preconditioner. */
static PetscErrorCode measure_solve(case_t *c, PetscInt columns)
{
    times_t  times = {.ratio = 0.0};
    double   error;
    PetscInt steps[2];

    PetscFunctionBeginUser;
    PetscCall(make_block(c->A[0], columns, &c->B));
    for (int side = 0; side < 2; side++) {
        PetscCall(MatDuplicate(c->B, MAT_DO_NOT_COPY_VALUES, &c->C[side]));
        PetscCall(KSPCreate(PETSC_COMM_WORLD, &c->ksp[side]));
        PetscCall(KSPSetOperators(c->ksp[side], c->A[side], c->A[side]));
        PetscCall(KSPSetType(c->ksp[side], KSPCG));
        PetscCall(KSPSetTolerances(c->ksp[side], 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 10000));
        PetscCall(KSPSetFromOptions(c->ksp[side]));
    }
    PetscCall(compare(mat_solve, c, 21, &times));
    for (int side = 0; side < 2; side++) {
        PetscCall(KSPGetTotalIterations(c->ksp[side], &steps[side]));
        PetscCall(KSPDestroy(&c->ksp[side]));
    }
    PetscCall(difference(c->C, &error));
    PetscCall(report("KSPMatSolve", columns, &times, error, steps[0]));
    PetscCheck(steps[0] == steps[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%d iterations with aij, %d with spmmdist", (int)steps[0], (int)steps[1]);
    PetscCall(MatDestroy(&c->C[0]));
    PetscCall(MatDestroy(&c->C[1]));
    PetscCall(MatDestroy(&c->B));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt  nx = 60, columns[MOST] = {1, 2, 4, 8, 16, 32}, count = MOST, repeat = 21;
    PetscBool is_box = PETSC_FALSE, solves = PETSC_FALSE, has_columns;
    case_t    c = {0};

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &is_box, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solves, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-columns", columns, &count, &has_columns));
    count = has_columns ? count : 6;
    PetscCall(make_cube(nx, is_box, &c.A[0]));
    PetscCall(MatConvert(c.A[0], "spmmdist", MAT_INITIAL_MATRIX, &c.A[1]));
    PetscCall(measure_mult(&c, repeat));
    for (PetscInt i = 0; i < count; i++) {
        PetscCall(measure_products(&c, columns[i], repeat));
    }
    if (solves) {
        PetscCall(measure_solve(&c, 4));
    }
    PetscCall(MatDestroy(&c.A[0]));
    PetscCall(MatDestroy(&c.A[1]));
    PetscCall(PetscFinalize());
    return EXIT_SUCCESS;
}
