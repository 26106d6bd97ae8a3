/* SPDX-License-Identifier: Apache-2.0 */
/** @file spmm_dist_petsc.h  A matrix type of PETSc whose products are those of spmm_dist.
 *
 *  A program that loads the plugin, _real or _complex as PETSc is, needs no line of this:
 *
 *      mpirun -n 4 program -dll_append /path/libspmm_dist_petsc_real.so -mat_type spmmdist
 *
 *  A program that links it calls spmm_petsc_register() first.  docs/how-to/petsc.md has the options
 *  and what the type does.
 */
#ifndef SPMM_DIST_PETSC_H
#define SPMM_DIST_PETSC_H

#include <petscmat.h>

#ifdef __cplusplus
extern "C" {
#endif

/** MATAIJ with the products of spmm_dist: "seqaijspmmdist" on one rank, "mpiaijspmmdist" on
 *  several, as MATAIJ is MATSEQAIJ or MATMPIAIJ. */
#define MATSPMMDIST "spmmdist"

/** Make the type known to MatSetType(), MatConvert() and option -mat_type.  Not collective, after
 *  PetscInitialize(); a second call does nothing.
 *  @return as all functions of PETSc */
PETSC_EXTERN PetscErrorCode spmm_petsc_register(void);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_PETSC_H */
