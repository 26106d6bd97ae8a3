/* SPDX-License-Identifier: Apache-2.0 */
#include "api/blocks.h"

#include <inttypes.h>

#include "api/context.h"
#include "plan/plan.h"

spmm_status_t spmmi_check_block(const spmm_plan_t *base, const char *name, const void *data,
                                int64_t count)
{
    if (count > 0 && data == NULL) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT, "%s is NULL", name);
    }
    if (count > 0 && !base->device->ops->is_usable(base->device, data)) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT,
                          "%s does not lie in memory of this context's device (%s); see "
                          "spmm_buffer_alloc()",
                          name, base->device->description);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_check_rows(const spmm_plan_t *base, const char *name, const void *data,
                               int64_t rows, int64_t k, int64_t ld)
{
    if (ld < k) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ", must be at least %" PRId64
                          " (row-major, %" PRId64 " columns)",
                          name, ld, k, k);
    }
    if (!spmmi_ld_fits(rows, ld)) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ": no memory is that large", name, ld);
    }
    return spmmi_check_block(base, name, data, rows);
}
