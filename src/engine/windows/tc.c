/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows/tc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "device/device_cuda.h"
#endif

static spmm_tc_limits_t tc_limits(const spmm_tc_engine_t *f, int32_t n_windows, int32_t blocks);
static spmm_tc_view_t   tc_dealt(const spmm_tc_engine_t *f);

/* Why the windows of a format were balanced over warps, or not. */

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
    const spmm_tc_view_t    view = tc_dealt(f);
    const int32_t           n    = view.n_windows;
    const spmm_tc_work_t   *work = &f->work;
    spmm_tc_limits_t        limits;
    double                  mean;
    int32_t                 longest;

    if (f->device->kind == SPMM_DEVICE_CPU || n == 0 || view.block_ptr[n] == 0) {
        return;
    }
    limits  = tc_limits(f, n, view.block_ptr[n]);
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

/* The arrays of a format on a device, and what the host keeps of them. */

/* The pointer of an array to host memory: it may point to any type. */
static void *host_of(const spmm_tc_engine_t *f, const spmm_tc_let_go_t *array)
{
    void *host;

    memcpy(&host, (const char *)f + array->pointer, sizeof host);
    return host;
}

static void set_host(spmm_tc_engine_t *f, const spmm_tc_let_go_t *array, void *host)
{
    memcpy((char *)f + array->pointer, &host, sizeof host);
}

void spmmi_tc_let_go(spmm_tc_engine_t *f, size_t pointer, const void *device, size_t bytes,
                     spmm_tc_need_t need, spmm_status_t *status)
{
    if (*status == SPMM_OK && f->n_let_go == SPMM_TC_LET_GO) {
        *status = spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL,
                             "format %s lets more than %d arrays go; raise SPMM_TC_LET_GO",
                             f->kind->name, SPMM_TC_LET_GO);
    }
    if (*status == SPMM_OK) {
        f->let_go[f->n_let_go++] =
            (spmm_tc_let_go_t){.pointer = pointer, .device = device, .bytes = bytes, .need = need};
    }
}

void *spmmi_tc_upload_values(spmm_tc_engine_t *f, size_t pointer, size_t bytes, spmm_tc_need_t need,
                             spmm_status_t *status)
{
    f->values        = (spmm_tc_let_go_t){.pointer = pointer, .bytes = bytes};
    f->values.device = spmmi_upload(&f->uploads, host_of(f, &f->values), bytes, 0, status);
    spmmi_tc_let_go(f, pointer, f->values.device, bytes, need, status);
    return (void *)(uintptr_t)f->values.device;
}

/* Copy values that refill() wrote. */
static spmm_status_t tc_write_values(const spmm_tc_engine_t *f)
{
    return spmmi_device_write(f->device, (void *)(uintptr_t)f->values.device,
                              host_of(f, &f->values), f->values.bytes);
}

void spmmi_tc_drop(spmm_tc_engine_t *f)
{
    for (int k = 0; k < f->n_let_go; k++) {
        spmmi_free(host_of(f, &f->let_go[k]));
        set_host(f, &f->let_go[k], NULL);
    }
}

spmm_status_t spmmi_tc_bring_back(spmm_tc_engine_t *f)
{
    spmm_status_t status = SPMM_OK;

    for (int k = 0; k < f->n_let_go && status == SPMM_OK; k++) {
        const spmm_tc_let_go_t *array = &f->let_go[k];
        void                   *host;

        if (array->need == SPMM_TC_GONE) {
            continue;
        }
        host = array->need == SPMM_TC_BLANK ? spmmi_alloc_zero(1, array->bytes)
                                            : spmmi_alloc(1, array->bytes);
        set_host(f, array, host);
        if (host == NULL) {
            status = spmmi_fail_memory(&f->device->env->err, 1, array->bytes,
                                       "an array of a format while its values change");
        } else if (array->need == SPMM_TC_BACK) {
            status = f->device->ops->fetch(f->device, host, array->device, array->bytes);
        }
    }
    if (status != SPMM_OK) {
        spmmi_tc_drop(f);
    }
    return status;
}

/* Bytes of arrays that were let go. */
static size_t tc_let_go_bytes(const spmm_tc_engine_t *f)
{
    size_t bytes = 0;

    for (int k = 0; k < f->n_let_go; k++) {
        bytes += f->let_go[k].bytes;
    }
    return bytes;
}

static void *format_of(const spmm_tc_engine_t *f)
{
    return (char *)(uintptr_t)f + f->kind->format;
}

static spmm_tc_view_t view_of(const spmm_tc_engine_t *f)
{
    return f->kind->view((const char *)f + f->kind->arrays);
}

/* Sums of work items, which no one reads before they are written. */
static spmm_status_t alloc_partial(spmm_tc_engine_t *f, int32_t height)
{
    const size_t  row    = (size_t)height * spmm_type_size(spmmi_accum_type(f->problem.c_type));
    spmm_status_t status = SPMM_OK;
    size_t        bytes;

    if (!spmmi_size_mul((size_t)f->work.n_partial * (size_t)f->problem.n, row, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, f->work.n_partial, row,
                                 "sums of work items");
    }
    f->work.partial = spmmi_upload_room(&f->uploads, bytes, &status);
    return status;
}

/* The windows that kernels deal out: panels() of its kind or view(). */
static spmm_tc_view_t tc_dealt(const spmm_tc_engine_t *f)
{
    return f->kind->panels == NULL ? view_of(f) : f->kind->panels(f);
}

/* Limits of its kind for @p n_windows with @p blocks. */
static spmm_tc_limits_t tc_limits(const spmm_tc_engine_t *f, int32_t n_windows, int32_t blocks)
{
    if (f->kind->limits_made != NULL) {
        return f->kind->limits_made(f, blocks);
    }
    return f->kind->limits == NULL ? (spmm_tc_limits_t){.team = INT32_MAX, .cut = INT32_MAX}
                                   : f->kind->limits(f->device, &f->problem, n_windows, blocks);
}

static spmm_status_t upload_work(spmm_tc_engine_t *f)
{
    const spmm_tc_view_t view   = tc_dealt(f);
    const int32_t        blocks = view.block_ptr[view.n_windows];
    spmm_status_t        status = SPMM_OK;
    spmm_tc_items_t      items;

    SPMM_TRY(spmmi_tc_items_create(f->device->env, view.n_windows, view.block_ptr, view.starts,
                                   tc_limits(f, view.n_windows, blocks), &items));
    f->work       = (spmm_tc_work_t){.n_items   = items.n_items,
                                     .n_partial = items.n_partial,
                                     .n_team    = items.n_team,
                                     .n_sm      = f->device->n_sm,
                                     .n_splits  = items.n_splits};
    f->work.item  = SPMM_UPLOAD(&f->uploads, items.item, items.n_items, &status);
    f->work.split = SPMM_UPLOAD(&f->uploads, items.split, items.n_splits, &status);
    spmmi_tc_items_free(&items);
    return status == SPMM_OK ? alloc_partial(f, view.height) : status;
}

static spmm_status_t upload(spmm_tc_engine_t *f, int32_t n_rows)
{
    spmm_status_t status = f->kind->upload(f);

    if (f->row_map != NULL) {
        f->device_row_map = SPMM_UPLOAD(&f->uploads, f->row_map, n_rows, &status);
    }
    SPMM_TRY(status);
    SPMM_TRY(upload_work(f));
    SPMM_TRY(f->device->ops->stream_sync(f->device, NULL));
    spmmi_free(f->row_map);
    f->row_map = NULL;
    spmmi_tc_drop(f);
    return SPMM_OK;
}

spmm_status_t spmmi_tc_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                             const spmm_problem_t *problem, const spmm_device_t *device,
                             void **format)
{
    const spmm_tc_kind_t *kind = engine->kind;
    spmm_tc_engine_t     *f    = spmmi_alloc_zero(1, kind->size);
    const bool            gpu  = device->kind != SPMM_DEVICE_CPU;
    spmm_pattern_t        own  = {.n_rows = 0};
    size_t                host, held;
    spmm_status_t         status;

    if (f == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, kind->size, "a tensor-core engine");
    }
    f->kind           = kind;
    f->device         = device;
    f->uploads.device = device;
    f->problem        = *problem;
    status            = spmmi_tc_copy_row_map(device->env, block, &f->row_map);
    if (status == SPMM_OK && gpu && spmmi_pattern_windows(problem->pattern) == NULL) {
        status             = spmmi_pattern_measure(device->env, block, &own);
        f->problem.pattern = &own;
    }
    if (status == SPMM_OK) {
        status = kind->create(f, block);
    }
    spmmi_pattern_free(&own);
    if (status == SPMM_OK && gpu) {
        status = upload(f, block->n_rows);
    }
    if (status != SPMM_OK) {
        spmmi_tc_destroy(f);
        return status;
    }
    f->problem.pattern = NULL;       /* borrowed during the call */
    spmmi_tc_bytes(f, &host, &held); /* what was copied to the device has left the host */
    spmmi_log(device->env, "format %s: %zu bytes on the host, %zu on the device", kind->name, host,
              held);
    *format = f;
    return SPMM_OK;
}

spmm_status_t spmmi_tc_refill(void *format, const void *values)
{
    spmm_tc_engine_t *f   = format;
    const bool        cpu = f->device->kind == SPMM_DEVICE_CPU;
    spmm_status_t     status;

    if (!cpu && f->kind->refill_device != NULL) {
        return f->kind->refill_device(f, values);
    }
    SPMM_TRY(spmmi_tc_bring_back(f));
    f->kind->refill(format_of(f), values, f->device->threads);
    if (cpu) {
        return SPMM_OK;
    }
    status = f->kind->upload_values != NULL ? f->kind->upload_values(f) : tc_write_values(f);
    spmmi_tc_drop(f);
    return status;
}

spmm_status_t spmmi_tc_execute(void *format, const spmm_operands_t *x)
{
    const spmm_tc_engine_t *f    = format;
    const bool              cpu  = f->device->kind == SPMM_DEVICE_CPU;
    const spmm_tc_mm_args_t args = {.x       = *x,
                                    .row_map = cpu ? f->row_map : f->device_row_map,
                                    .compute = f->problem.compute,
                                    .threads = f->device->threads};

    if (cpu) {
        const spmm_tc_view_t view = view_of(f);

        spmmi_cpu_tc_mm(&view, &args);
        return SPMM_OK;
    }
#ifdef SPMM_HAVE_CUDA
    SPMM_TRY(spmmi_cuda_use(f->device));
    return spmmi_cuda_check(f->device, (cudaError_t)f->kind->launch(f, &args), f->kind->kernel);
#else
    return spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL, "format %s on a GPU without CUDA",
                      f->kind->name);
#endif
}

void spmmi_tc_bytes(const void *format, size_t *host, size_t *device)
{
    const spmm_tc_engine_t *f = format;

    *host = f->kind->size + f->kind->held(format_of(f)) - tc_let_go_bytes(f) +
            (f->row_map == NULL ? 0 : (size_t)view_of(f).n_rows * sizeof *f->row_map);
    *device = f->uploads.bytes;
}

void spmmi_tc_destroy(void *format)
{
    spmm_tc_engine_t *f = format;

    if (f == NULL) {
        return;
    }
    spmmi_uploads_free(&f->uploads);
    f->kind->free(format_of(f));
    spmmi_free_all(f->row_map, f);
}

bool spmmi_tc_supports(const spmm_problem_t *problem, const spmm_device_t *device, spmm_type_t type,
                       char why[SPMM_WHY])
{
    if (problem->ab_type != type || problem->c_type != type) {
        (void)snprintf(why, SPMM_WHY, "needs A, B and C of type %s", spmmi_type_name(type));
        return false;
    }
    if (problem->layout != SPMM_LAYOUT_ROW) {
        (void)snprintf(why, SPMM_WHY, "multiplies row-major blocks");
        return false;
    }
    if (device->kind != SPMM_DEVICE_CPU && device->cc < 80) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU of compute capability 8.0 or later");
        return false;
    }
    return true;
}

bool spmmi_tc_supports_half(const spmm_problem_t *problem, const spmm_device_t *device,
                            char why[SPMM_WHY])
{
    spmm_problem_t same = *problem;

    if (problem->ab_type != SPMM_R_16F && problem->ab_type != SPMM_R_16BF) {
        (void)snprintf(why, SPMM_WHY, "needs A and B of type 16f or 16bf");
        return false;
    }
    if (problem->c_type != problem->ab_type && problem->c_type != SPMM_R_32F) {
        (void)snprintf(why, SPMM_WHY, "needs C of type %s or 32f for A and B of type %s",
                       spmmi_type_name(problem->ab_type), spmmi_type_name(problem->ab_type));
        return false;
    }
    same.c_type = problem->ab_type;
    return spmmi_tc_supports(&same, device, problem->ab_type, why);
}

/* What CSR moves on CPUs, and the bit arithmetic that finds every entry once per 32 columns:
 * 2.5 ns of a thread, measured with spmm_dist on stencil27 of 40^3 points, one thread of the
 * development machine, n = 1.  From 32 columns on the two were about as fast there (0.8 .. 1.2),
 * since a window's sums stay in L1; the model does not count on it. */
int spmmi_tc_cpu_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double start = 1e-6, decode = 2.5e-9; /* s; the first keeps empty blocks behind too */
    const double size = (double)spmm_type_size(problem->ab_type);
    const double n = (double)problem->n, nnz = (double)pattern->nnz;

    terms[0] = (spmm_cost_term_t){"start", 1.0, start};
    terms[1] = (spmm_cost_term_t){"decode", 1.0, nnz * ceil(n / 32.0) * decode / device->threads};
    terms[2] =
        (spmm_cost_term_t){"entries", 1.0, nnz * (4.0 + size + 0.5 * n * size) / device->mem_bw};
    terms[3] = (spmm_cost_term_t){
        "rows", 1.0, (double)pattern->n_rows * (sizeof(int64_t) + 2.0 * n * size) / device->mem_bw};
    return 4;
}
