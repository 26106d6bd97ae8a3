# SPDX-License-Identifier: Apache-2.0
# Type of A, B and C, and the compute mode.
spmm_kernel_instances(bittcf
  tf32 "float, SPMM_COMPUTE_32F_FAST_TF32"
  32f "float, SPMM_COMPUTE_32F"
  64f "double, SPMM_COMPUTE_64F"
  tf32c "spmmi::Complex<float>, SPMM_COMPUTE_32F_FAST_TF32"
  32c "spmmi::Complex<float>, SPMM_COMPUTE_32F"
  64c "spmmi::Complex<double>, SPMM_COMPUTE_64F")
