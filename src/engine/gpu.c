/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gpu.h"

#include <stdio.h>

#include "base/scalar.h"

bool spmmi_gpu_supports(const spmm_problem_t *problem, char why[SPMM_WHY])
{
    const spmm_type_t ab = problem->ab_type, c = problem->c_type;
    const bool        half = ab == SPMM_R_16F || ab == SPMM_R_16BF;

    if (c != ab && !(half && c == SPMM_R_32F)) {
        (void)snprintf(why, SPMM_WHY, "needs C of type %s%s for A and B of that type",
                       spmmi_type_name(ab), half ? " or 32f" : "");
        return false;
    }
    if (spmmi_is_64f(ab) != (problem->compute == SPMM_COMPUTE_64F)) {
        (void)snprintf(why, SPMM_WHY, "computes FP64 data in FP64 and all other types in FP32");
        return false;
    }
    return true;
}
