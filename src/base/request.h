/* SPDX-License-Identifier: Apache-2.0 */
/** @file request.h  Requests of MPI, polled: their errors come back, and others run meanwhile. */
#ifndef SPMM_BASE_REQUEST_H
#define SPMM_BASE_REQUEST_H

#include <mpi.h>

/** MPI_Test(), but errors come back in every MPI, not only where the communicator of the request
 *  decides on them.  @param[out] done  0 where it fails */
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status);

/** Between two polls: who has polled for 0.1 ms lets others run on this core, since more ranks than
 *  cores would wait for those that wait.  @param[in,out] polls  from 0 on, of this wait */
void spmmi_let_run(int *polls);

#endif /* SPMM_BASE_REQUEST_H */
