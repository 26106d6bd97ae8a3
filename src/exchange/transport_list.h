/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each transport: SPMM_TRANSPORT(x) stands for `const spmm_transport_ops_t
 * spmmi_transport_x`.  Included by transport.c alone. */
SPMM_TRANSPORT(nccl)
SPMM_TRANSPORT(nccl_push)
SPMM_TRANSPORT(mpi_device)
SPMM_TRANSPORT(mpi_host)
