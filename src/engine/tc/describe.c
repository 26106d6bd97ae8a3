/* SPDX-License-Identifier: Apache-2.0 */
/** @file describe.c  Why the windows of a format were balanced over warps, or not. */
#include <inttypes.h>

#include "engine/tc/engine.h"

static int32_t longest_of(const spmm_tc_view_t *view)
{
    int32_t longest = 0;

    for (int32_t w = 0; w < view->n_windows; w++) {
        const int32_t blocks = view->block_ptr[w + 1] - view->block_ptr[w];

        longest = blocks > longest ? blocks : longest;
    }
    return longest;
}

/* Acc-SpMM balances where IBD is above 8, cuTeSpMM by waves; here the longest window decides, after
 * a model of the kernel's time: IBD, a mean, does not show one long window among
 * many short ones. */
void spmmi_tc_describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const spmm_tc_engine_t *f    = format;
    const spmm_tc_view_t    view = spmmi_tc_dealt(f);
    const int32_t           n    = view.n_windows;
    const spmm_tc_work_t   *work = &f->work;
    spmm_tc_limits_t        limits;
    double                  mean;
    int32_t                 longest;

    if (f->device->kind == SPMM_DEVICE_CPU || n == 0 || view.block_ptr[n] == 0) {
        return;
    }
    limits  = spmmi_tc_limits(f, n, view.block_ptr[n]);
    mean    = (double)view.block_ptr[n] / n;
    longest = longest_of(&view);
    (void)fprintf(out,
                  "  work of %s: %" PRId32 " windows of %" PRId32
                  " rows, %.1f blocks in the mean, %" PRId32 " in the longest, IBD %.2f\n",
                  f->kind->name, n, view.height, mean, longest, pattern->tc.ibd);
    if (f->kind->waves != NULL) {
        const double waves = f->kind->waves(f->device, &f->problem, n), loads = longest / mean;

        (void)fprintf(out,
                      "  partition_ratio of the longest: num_loads %.2f / num_waves %.2f = %.2f\n",
                      loads, waves, loads / waves);
    }
    if (work->n_team == 0) {
        (void)fprintf(out, "  balanced: no, since none is longer than %" PRId32 " blocks\n",
                      limits.team);
        return;
    }
    (void)fprintf(
        out, "  balanced: yes, %" PRId32 " longer than %" PRId32 " blocks are cut into %" PRId32,
        work->n_splits, limits.cut, work->n_partial);
    if (limits.team < limits.cut) {
        (void)fprintf(out,
                      ", %" PRId32 " others longer than %" PRId32
                      " are shared by the warps of a thread block",
                      work->n_team - work->n_partial, limits.team);
    }
    (void)fprintf(out, "\n");
}
