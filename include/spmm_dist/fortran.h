/* SPDX-License-Identifier: Apache-2.0 */
/** @file fortran.h
 *  Entries for what Fortran cannot pass: an MPI_Comm and a FILE.  The module in spmm_dist.f90,
 *  beside this file, calls them by the names spmm_context_create and spmm_plan_explain, and all
 *  other functions as they are.
 */
#ifndef SPMM_DIST_FORTRAN_H
#define SPMM_DIST_FORTRAN_H

#include "spmm_dist/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** spmm_context_create() on a communicator of Fortran: the integer of module mpi, or component
 *  MPI_VAL of a type(MPI_Comm) of mpi_f08.  An int holds it also where MPI_Fint, Fortran's default
 *  integer, has 64 bits.  Collective.  What is no communicator is SPMM_ERR_ARGUMENT as far as MPI
 *  can tell. */
SPMM_API spmm_status_t spmm_context_create_f(int comm, const spmm_context_options_t *options,
                                             spmm_context_t **ctx);

/** spmm_plan_explain() to the end of the file @p path, "/dev/stdout" for example, which is made
 *  where there is none.  Not collective.
 *  @return SPMM_ERR_IO when it cannot be written */
SPMM_API spmm_status_t spmm_plan_explain_f(const spmm_plan_t *plan, const char *path);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_FORTRAN_H */
