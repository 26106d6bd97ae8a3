/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  Panels of windows that share rows of B on tensor cores; on CPUs decoded and
 *  multiplied. */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/panel/cost.h"
#include "engine/panel/facts.h"
#include "engine/panel/format.h"
#include "engine/tc/engine.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/panel/panel.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t    base;
    spmm_panel_t        format;
    spmm_panel_arrays_t arrays;        /**< of format */
    spmm_panel_arrays_t device_arrays; /**< the copy */
} panel_t;

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    panel_t *f = (panel_t *)base;

    SPMM_TRY(spmmi_panel_create(base->device->env, block,
                                spmmi_pattern_windows(base->problem.pattern), base->device->threads,
                                &f->format));
    f->arrays = spmmi_panel_arrays(&f->format);
    return SPMM_OK;
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    panel_t                   *f     = (panel_t *)base;
    const spmm_panel_arrays_t *a     = &f->arrays;
    spmm_panel_arrays_t       *to    = &f->device_arrays;
    const size_t               index = sizeof(int32_t), panels = (size_t)a->n_panels + 1;
    const size_t               windows = (size_t)a->n_windows + 1;
    const size_t               packed  = (size_t)a->window_start[windows - 1] * SPMM_PANEL_UNIT;
    spmm_status_t              status  = SPMM_OK;

    *to              = *a;
    to->panel_step   = spmmi_tc_upload(base, a->panel_step, panels * index, 0, &status);
    to->window_start = spmmi_tc_upload(base, a->window_start, windows * index, 0, &status);
    to->col          = spmmi_tc_upload(base, a->col, (size_t)f->format.n_cols * index, 0, &status);
    to->packed       = spmmi_tc_upload_values(base, offsetof(panel_t, format.packed), packed,
                                              SPMM_TC_BACK, &status);
    return status;
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    const panel_t *f = (const panel_t *)base;

    return spmmi_cuda_panel_mm(&f->device_arrays, base->device->n_sm, args,
                               (cudaStream_t)args->x.stream);
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_panel_preload(), "loading the kernels of panels");
}
#endif

static const spmm_tc_kind_t kind = {
    .name   = "panel",
    .kernel = "the kernel panel_mm",
    .size   = sizeof(panel_t),
    .format = offsetof(panel_t, format),
    .arrays = offsetof(panel_t, arrays),
    .create = create,
    .free   = spmmi_panel_free,
    .refill = spmmi_panel_refill,
    .held   = spmmi_panel_held,
    .view   = spmmi_panel_view,
    .upload = upload,
    .launch = SPMM_TC_ON_CUDA(launch),
};

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    return spmmi_tc_build(&kind, block, problem, device, format);
}

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    if (!spmmi_tc_supports(problem, device, SPMM_R_32F, why)) {
        return false;
    }
    if (device->kind != SPMM_DEVICE_CPU && device->cc < 90) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU of compute capability 9.0 or later");
        return false;
    }
    return true;
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    if (device->kind != SPMM_DEVICE_CPU && pattern->nnz > 0 &&
        !spmmi_panel_may_win(pattern, problem)) {
        return INFINITY; /* by name alone */
    }
    return spmmi_tc_cost(pattern, problem, device, spmmi_panel_terms);
}

static void describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const panel_t      *p = format;
    const spmm_panel_t *f = &p->format;

    if (p->base.device->kind == SPMM_DEVICE_CPU || f->n_panels == 0) {
        return;
    }
    (void)fprintf(out,
                  "  work of panel: %" PRId32 " panels of %d windows of %d rows, %" PRId64
                  " rows of B for %" PRId64 " of windows\n",
                  f->n_panels, SPMM_PANEL_WINDOWS, SPMM_PANEL_HEIGHT, f->n_cols,
                  pattern->tc.pairs[1]);
}

const spmm_engine_ops_t spmmi_engine_panel = {
    .name        = "panel",
    .description = "panels of windows that share rows of B in shared memory; FP32 and TF32",
    .built       = true,
    .preload     = SPMM_TC_ON_CUDA(preload),
    .facts       = &spmmi_panel_pattern_facts,
    .supports    = supports,
    .cost        = cost,
    .terms       = spmmi_panel_terms,
    .build       = build,
    .refill      = spmmi_tc_refill,
    .execute     = spmmi_tc_execute,
    .follows     = true,
    .describe    = describe,
    .bytes       = spmmi_tc_bytes,
    .destroy     = spmmi_tc_destroy,
};
