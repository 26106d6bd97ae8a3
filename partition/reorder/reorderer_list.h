/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each method: SPMM_REORDERER(x) stands for `const spmm_reorderer_t
 * spmmi_reorderer_x`, whose name is "x", in the order they are listed. */
SPMM_REORDERER(none)
SPMM_REORDERER(affinity)
SPMM_REORDERER(sorted)
