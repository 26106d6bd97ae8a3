/* SPDX-License-Identifier: Apache-2.0 */
#include "device/check.h"

#include <inttypes.h>

#include "base/scalar.h"
#include "spmm_dist/context.h"

static bool is_empty(const spmm_extent_t *x)
{
    return x->lines == 0 || x->line == 0;
}

/* Behind the last byte of a block that is not empty. */
static uintptr_t end_of(const spmm_extent_t *x)
{
    return x->at + (x->lines - 1) * x->apart + x->line;
}

bool spmmi_extents_overlap(const spmm_extent_t *a, const spmm_extent_t *b)
{
    const spmm_extent_t *low = a->at <= b->at ? a : b, *high = low == a ? b : a;
    size_t               apart, into;

    if (is_empty(a) || is_empty(b) || end_of(low) <= high->at) {
        return false;
    }
    if (low->lines == 1 && high->lines == 1) { /* of a single line `apart` means nothing */
        return true;
    }
    if (low->lines > 1 && high->lines > 1 && low->apart != high->apart) {
        return true;
    }
    apart = low->lines > 1 ? low->apart : high->apart;
    into  = (high->at - low->at) % apart;
    return into < low->line || into + high->line > apart;
}

/* GPUs read and write complex numbers whole. */
static spmm_status_t check_begin(const spmm_device_t *device, const char *name, const void *data,
                                 spmm_type_t type)
{
    const bool   parts = device->kind == SPMM_DEVICE_CPU;
    const size_t size  = spmm_type_size(parts ? spmmi_part_type(type) : type);

    return (uintptr_t)data % size == 0
               ? SPMM_OK
               : spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                            "%s begins at %p: an element lies at a multiple of %zu bytes", name,
                            data, size);
}

spmm_status_t spmmi_check_block(const spmm_device_t *device, const char *name, const void *data,
                                int64_t count, spmm_type_t type)
{
    if (count > 0 && data == NULL) {
        return spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT, "%s is NULL", name);
    }
    if (count > 0 && !device->ops->is_usable(device, data)) {
        return spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                          "%s does not lie in memory of this context's device (%s); see "
                          "spmm_buffer_alloc()",
                          name, device->description);
    }
    return count > 0 ? check_begin(device, name, data, type) : SPMM_OK;
}

spmm_status_t spmmi_check_rows(const spmm_device_t *device, const char *name, const void *data,
                               int64_t rows, int64_t k, int64_t ld, spmm_type_t type)
{
    if (ld < k) {
        return spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ", must be at least %" PRId64
                          " (row-major, %" PRId64 " columns)",
                          name, ld, k, k);
    }
    if (!spmmi_ld_fits(rows, ld)) {
        return spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                          "ld of %s is %" PRId64 ": no memory is that large", name, ld);
    }
    return spmmi_check_block(device, name, data, rows, type);
}

spmm_extent_t spmmi_extent_of(const void *data, int64_t lines, int64_t length, int64_t ld,
                              spmm_type_t type)
{
    const size_t size = spmm_type_size(type);

    return (spmm_extent_t){.at    = (uintptr_t)data,
                           .lines = (size_t)lines,
                           .line  = (size_t)length * size,
                           .apart = (size_t)ld * size};
}

spmm_status_t spmmi_check_apart(const spmm_device_t *device, const char *written,
                                const spmm_extent_t *a, const char *other, const spmm_extent_t *b)
{
    return spmmi_extents_overlap(a, b)
               ? spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                            "%s overlaps %s: give it memory of its own", written, other)
               : SPMM_OK;
}
