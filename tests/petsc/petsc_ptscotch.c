/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc partitions a graph by its PT-Scotch, then a plan one by the library's, in one process:
 * builds of PT-Scotch with indices of different lengths have one name, and only one of them is
 * loaded.
 *
 *     mpirun -n 2 petsc_ptscotch; 77: PETSc has no PT-Scotch
 */
#include <petscmat.h>

#include "../../examples/petsc_case.h"

enum { NX = 12, ROWS = NX * NX * NX };

#ifdef PETSC_HAVE_PTSCOTCH
/* Every part has its share of the rows, within a tenth. */
static PetscErrorCode partition_by_petsc(Mat cube)
{
    Mat             graph;
    MatPartitioning partitioning;
    IS              part;
    PetscInt       *rows;
    int             ranks;

    PetscFunctionBeginUser;
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    PetscCall(MatConvert(cube, MATMPIADJ, MAT_INITIAL_MATRIX, &graph));
    PetscCall(MatPartitioningCreate(PETSC_COMM_WORLD, &partitioning));
    PetscCall(MatPartitioningSetAdjacency(partitioning, graph));
    PetscCall(MatPartitioningSetType(partitioning, MATPARTITIONINGPTSCOTCH));
    PetscCall(MatPartitioningApply(partitioning, &part));
    PetscCall(PetscCalloc1(ranks, &rows));
    PetscCall(ISPartitioningCount(part, ranks, rows));
    for (int p = 0; p < ranks; p++) {
        PetscCheck(labs((long)rows[p] * ranks - ROWS) < ROWS / 10, PETSC_COMM_SELF, PETSC_ERR_LIB,
                   "part %d has %d rows", p, (int)rows[p]);
    }
    PetscCall(PetscFree(rows));
    PetscCall(ISDestroy(&part));
    PetscCall(MatPartitioningDestroy(&partitioning));
    PetscCall(MatDestroy(&graph));
    PetscFunctionReturn(0);
}

static void partition_by_plan(void)
{
    const spmm_context_options_t on_cpu = {.struct_size = sizeof on_cpu, .device = SPMM_DEVICE_CPU};
    spmm_plan_options_t          options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t               *A;
    spmm_plan_t                 *plan;

    options.partition = "ptscotch";
    check(spmm_context_create(PETSC_COMM_WORLD, &on_cpu, &ctx));
    check(spmm_matrix_generate(ctx, "stencil9:nx=40,ny=40,shuffle=1", SPMM_R_64F, 1, &A));
    check(spmm_plan_create(A, 4, &options, &plan));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
}
#endif

int main(int argc, char **argv)
{
#ifdef PETSC_HAVE_PTSCOTCH
    Mat cube;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(make_cube(NX, &cube));
    PetscCall(partition_by_petsc(cube));
    PetscCall(MatDestroy(&cube));
    partition_by_plan();
    PetscCall(PetscFinalize());
    return EXIT_SUCCESS;
#else
    (void)argc;
    (void)argv;
    return 77;
#endif
}
