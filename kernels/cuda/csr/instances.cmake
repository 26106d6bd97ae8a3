# SPDX-License-Identifier: Apache-2.0
# Types of A and B, and of C.
spmm_kernel_instances(csr_gpu
  32f "float, float"
  64f "double, double"
  32c "spmmi::Complex<float>, spmmi::Complex<float>"
  64c "spmmi::Complex<double>, spmmi::Complex<double>"
  16f "__half, __half"
  16f_32f "__half, float"
  16bf "__nv_bfloat16, __nv_bfloat16"
  16bf_32f "__nv_bfloat16, float")
