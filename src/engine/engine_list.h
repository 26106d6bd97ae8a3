/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each engine: SPMM_ENGINE(x) stands for `const spmm_engine_ops_t spmmi_engine_x`, in
 * the order ties are broken.  Included by engine.c alone. */
SPMM_ENGINE(cusparse)
SPMM_ENGINE(csr_cpu)
SPMM_ENGINE(csr_gpu)
SPMM_ENGINE(strips)
SPMM_ENGINE(bittcf)
SPMM_ENGINE(hrpb)
SPMM_ENGINE(dmma)
SPMM_ENGINE(cvse)
SPMM_ENGINE(bcsr)
SPMM_ENGINE(bcsr_sp24)
SPMM_ENGINE(dense)
