# SPDX-License-Identifier: Apache-2.0
# Types of A and B, and of C.
spmm_kernel_instances(cvse
  16f "__half, __half"
  16f_32f "__half, float"
  16bf "__nv_bfloat16, __nv_bfloat16"
  16bf_32f "__nv_bfloat16, float")
