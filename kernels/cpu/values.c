/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.c  Values of a matrix to the places of a format. */
#include <string.h>

#include "base/scalar.h"
#include "cpu/cpu_kernels.h"

void spmmi_cpu_place_values(const spmm_place_args_t *args)
{
    const size_t      size = args->elem_size;
    const spmm_type_t type = size == 2 * sizeof(double) ? SPMM_C_64F : SPMM_C_32F;

#pragma omp parallel for num_threads(spmmi_cpu_team(args->threads))
    for (int64_t i = 0; i < args->count; i++) {
        if (args->source[i] >= 0) {
            char *const to = (char *)args->to + (size_t)i * size;

            memcpy(to, (const char *)args->from + (size_t)args->source[i] * size, size);
            if (args->conjugate) {
                spmmi_conjugate(type, to, 1);
            }
        }
    }
}
