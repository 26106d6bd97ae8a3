/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each partitioner: SPMM_PARTITIONER(x) stands for `const spmm_partitioner_t
 * spmmi_partitioner_x`, in the order they are listed. */
SPMM_PARTITIONER(keep)
SPMM_PARTITIONER(block)
SPMM_PARTITIONER(metis)
SPMM_PARTITIONER(ptscotch)
SPMM_PARTITIONER(auto)
SPMM_PARTITIONER(one)
SPMM_PARTITIONER(file)
