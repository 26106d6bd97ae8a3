/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/attention/attention.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/candidate.h"
#include "base/scalar.h"
#include "cpu/attention/attention.h"
#include "engine/attention/format.h"
#include "engine/tc/windows.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/attention/attention.h"
#include "device/device_cuda.h"
#endif

enum { MOST_K = 128, MOST_GRADIENT_K = 64 }; /* of windows */

static bool asks_for(const spmm_attention_what_t *what, const char *kernel)
{
    return spmmi_candidate_is_named(what->kernel, kernel);
}

/* What keeps windows from it; NULL: nothing. */
static const char *why_no_windows(const spmm_device_t *device, const spmm_attention_what_t *what)
{
    if (spmm_type_size(what->type) != 2) {
        return "needs Q, K and V of type 16f or 16bf";
    }
    if (what->k > MOST_K || what->k % 8 != 0) {
        return "needs heads of 8 to 128 columns, a multiple of 8";
    }
    return device->kind == SPMM_DEVICE_CUDA && device->cc < 80
               ? "needs a GPU of compute capability 8.0 or later"
               : NULL;
}

spmm_status_t spmmi_attender_check(const spmm_device_t *device, const spmm_attention_what_t *what)
{
    spmm_error_t *err   = &device->env->err;
    const bool    named = !spmmi_candidate_is_auto(what->kernel);
    const char   *why   = why_no_windows(device, what);

    if (!spmmi_cpu_attention_supports(what->type)) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "attention is of real matrices: this mask has type %s",
                          spmmi_type_name(what->type));
    }
    if (what->heads < 1 || what->k < 1 || what->heads > INT16_MAX || what->k > INT16_MAX) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "attention of %" PRId64 " heads of %" PRId64
                          " columns: both must be 1 to 32767",
                          what->heads, what->k);
    }
    if (named && !asks_for(what, "rows") && !asks_for(what, "windows")) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "there is no attention kernel \"%.40s\": rows, windows or auto",
                          what->kernel);
    }
    if (asks_for(what, "windows") && why != NULL) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED, "the attention kernel windows %s", why);
    }
    return SPMM_OK;
}

const char *spmmi_attender_kernel(const spmm_attender_t *attender)
{
    return attender->in_windows ? "windows" : "rows";
}

/* Device memory of @p bytes, filled from @p host; *field, a pointer, is set to it. */
static spmm_status_t upload(spmm_attender_t *a, const void *host, size_t bytes, void *field)
{
    void *memory = NULL;

    SPMM_TRY(a->device->ops->alloc_cached(a->device, bytes, &memory));
    a->upload[a->n_uploads++] = memory;
    a->device_bytes += bytes;
    memcpy(field, &memory, sizeof memory);
    return a->device->ops->stage(a->device, memory, host, bytes);
}

#define UPLOAD(a, host, count, field) upload(a, host, (size_t)(count) * sizeof *(host), &(field))

static spmm_status_t upload_rows(spmm_attender_t *a, const spmm_csr_t *block,
                                 const int64_t *row_ptr, const int32_t *col)
{
    a->rows.n_rows = block->n_rows;
    SPMM_TRY(UPLOAD(a, row_ptr, (int64_t)block->n_rows + 1, a->rows.row_ptr));
    return UPLOAD(a, col, a->nnz, a->rows.col);
}

static spmm_status_t upload_windows(spmm_attender_t *a, const spmm_attention_list_t *list)
{
    spmm_attention_windows_t *w = &a->windows;

    w->n_rows   = list->n_rows;
    w->height   = list->variant.height;
    w->windows  = list->variant.windows;
    w->width    = list->variant.width;
    w->n_groups = list->n_groups;
    a->vectors  = list->vectors;
    a->columns  = list->columns;
    SPMM_TRY(UPLOAD(a, list->group, list->n_groups, w->group));
    SPMM_TRY(UPLOAD(a, list->panels, (int64_t)list->n_groups + 1, w->panels));
    SPMM_TRY(UPLOAD(a, list->col, (int64_t)list->n_panels * w->width, w->col));
    SPMM_TRY(UPLOAD(a, list->chunks, (int64_t)list->n_panels * w->windows + 1, w->chunks));
    return UPLOAD(a, list->slot, (list->n_chunks + SPMM_ATTENTION_AHEAD) * SPMM_ATTENTION_CHUNK,
                  w->slot);
}

/* On CPUs: the rows that windows decode to. */
static spmm_status_t decode(spmm_attender_t *a, const spmm_csr_t *block,
                            const spmm_attention_list_t *list)
{
    spmm_status_t status;
    int64_t      *row_ptr;
    int32_t      *col;

    SPMM_NEW(row_ptr, (int64_t)block->n_rows + 1);
    SPMM_NEW(col, a->nnz);
    if (row_ptr == NULL || col == NULL) {
        status = spmmi_fail_memory(&a->device->env->err, a->nnz, sizeof *col, "a decoded mask");
    } else {
        spmmi_attention_decode(list, row_ptr, col);
        status = upload_rows(a, block, row_ptr, col);
    }
    spmmi_free_all(row_ptr, col);
    return status;
}

/* Shared memory that a thread block can have (CUDA programming guide, technical specifications). */
static int32_t shared_bytes(const spmm_device_t *device)
{
    enum { KIB = 1024, OF_80 = 163 * KIB, OF_86 = 99 * KIB, OF_90 = 227 * KIB };

    if (device->kind == SPMM_DEVICE_CPU || (device->cc >= 90 && device->cc < 120)) {
        return OF_90;
    }
    return device->cc == 80 || device->cc == 87 ? OF_80 : OF_86;
}

/* Columns of a panel: of the widths tried on H200 the fastest for this many windows, two stages of
 * which fit shared memory. */
static int32_t choose_width(const spmm_device_t *device, int32_t windows,
                            const spmm_attention_what_t *what)
{
    const int32_t kept  = what->k <= 64 ? 64 : MOST_K; /* columns that the kernel has room for */
    const int32_t lists = what->turned ? 24 : 8; /* bytes of column and stats, of two stages */
    const int32_t width = (windows > 8 ? 432 : windows > 4 ? 128 : 64) * 64 / kept;
    const int32_t most  = (shared_bytes(device) - 8 * kept) / (8 * kept + lists) / 8 * 8;

    return width < most ? width : most;
}

/* Windows of 16 rows where they have not many more vectors than half of those of 8.  Of a group as
 * many as leave a thread block for each multiprocessor: the more, the fewer loads. */
static spmm_status_t choose_variant(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_attention_what_t *what,
                                    spmm_attention_variant_t    *variant)
{
    spmm_tc_facts_t facts;
    int64_t         used, count;

    SPMM_TRY(spmmi_tc_facts_scan(device->env, block, &facts, &used));
    variant->height =
        !what->turned && (double)facts.pairs[1] < 0.6 * (double)facts.pairs[0] ? 16 : 8;
    variant->windows = variant->height == 8 && what->k <= 64 && !what->turned ? 32 : 16;
    count            = block->n_rows / variant->height;
    while (variant->windows > 4 &&
           10 * (count / variant->windows) * what->heads < 9 * (int64_t)device->n_sm) {
        variant->windows /= 2;
    }
    variant->width = choose_width(device, variant->windows, what);
    return SPMM_OK;
}

static spmm_status_t make_windows(spmm_attender_t *a, const spmm_csr_t *block,
                                  const spmm_attention_what_t *what)
{
    const spmm_device_t     *device = a->device;
    spmm_attention_variant_t variant;
    spmm_attention_list_t    list;
    spmm_status_t            status;

    SPMM_TRY(choose_variant(device, block, what, &variant));
    SPMM_TRY(spmmi_attention_make_list(device->env, block, &variant, device->threads, &list));
    status = upload_windows(a, &list);
    if (status == SPMM_OK && device->kind == SPMM_DEVICE_CPU) {
        status = decode(a, block, &list);
    }
    spmmi_attention_free_list(&list);
    return status;
}

static spmm_status_t make_format(spmm_attender_t *a, const spmm_csr_t *block,
                                 const spmm_attention_what_t *what)
{
    const bool on_gpu = a->device->kind == SPMM_DEVICE_CUDA;

    a->in_windows = asks_for(what, "windows") ||
                    (on_gpu && !asks_for(what, "rows") && why_no_windows(a->device, what) == NULL);
    a->gradient_windows = a->in_windows && what->gradients && what->k <= MOST_GRADIENT_K;
    a->in_windows       = what->turned ? a->gradient_windows : a->in_windows;
    if (a->in_windows) {
        SPMM_TRY(make_windows(a, block, what));
    }
    if (!a->in_windows || (on_gpu && what->gradients && !a->gradient_windows)) {
        SPMM_TRY(upload_rows(a, block, block->row_ptr, block->col_idx));
    }
    if (block->row_map != NULL) {
        SPMM_TRY(UPLOAD(a, block->row_map, block->n_rows, a->rows.row_map));
        a->windows.row_map = a->rows.row_map;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_attender_create(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_attention_what_t *what, spmm_attender_t *attender)
{
    spmm_attender_t made = {.device = device, .nnz = spmmi_csr_nnz(block)};
    spmm_status_t   status;

    made.vectors = made.columns = made.nnz;
    status                      = make_format(&made, block, what);
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    if (status != SPMM_OK) {
        spmmi_attender_free(&made);
        return status;
    }
    *attender = made;
    return SPMM_OK;
}

void spmmi_attender_free(spmm_attender_t *attender)
{
    for (int k = 0; k < attender->n_uploads; k++) {
        attender->device->ops->release(attender->device, attender->upload[k]);
    }
    memset(attender, 0, sizeof *attender);
}

#ifdef SPMM_HAVE_CUDA
/* Enqueue with a CUDA launcher. */
#define RUN_CUDA(device, launch)                                                                   \
    do {                                                                                           \
        if ((device)->kind == SPMM_DEVICE_CUDA) {                                                  \
            SPMM_TRY(spmmi_cuda_use(device));                                                      \
            return spmmi_cuda_check(device, launch, "the kernel attention");                       \
        }                                                                                          \
    } while (0)
#else
#define RUN_CUDA(device, launch) (void)stream
#endif

spmm_status_t spmmi_attender_run(const spmm_attender_t *attender, const spmm_attention_args_t *args,
                                 spmm_stream_t stream)
{
    spmm_attention_args_t mine = *args;

    mine.threads = attender->device->threads;
    RUN_CUDA(attender->device,
             attender->in_windows
                 ? spmmi_cuda_attention_windows(&attender->windows, &mine, (cudaStream_t)stream)
                 : spmmi_cuda_attention_rows(&attender->rows, &mine, (cudaStream_t)stream));
    spmmi_cpu_attention(&attender->rows, &mine);
    return SPMM_OK;
}

spmm_status_t spmmi_attender_stats(const spmm_device_t *device, const spmm_attention_stats_t *args,
                                   spmm_stream_t stream)
{
    spmm_attention_stats_t mine = *args;

    mine.threads = device->threads;
    RUN_CUDA(device, spmmi_cuda_attention_stats(&mine, (cudaStream_t)stream));
    spmmi_cpu_attention_stats(&mine);
    return SPMM_OK;
}

spmm_status_t spmmi_attender_query(const spmm_attender_t           *attender,
                                   const spmm_attention_gradient_t *args, spmm_stream_t stream)
{
    spmm_attention_gradient_t mine = *args;

    mine.threads = attender->device->threads;
    RUN_CUDA(
        attender->device,
        attender->gradient_windows
            ? spmmi_cuda_attention_query_windows(&attender->windows, &mine, (cudaStream_t)stream)
            : spmmi_cuda_attention_query(&attender->rows, &mine, (cudaStream_t)stream));
    spmmi_cpu_attention_query(&attender->rows, &mine);
    return SPMM_OK;
}

spmm_status_t spmmi_attender_key(const spmm_attender_t           *attender,
                                 const spmm_attention_gradient_t *args, spmm_stream_t stream)
{
    spmm_attention_gradient_t mine = *args;

    mine.threads = attender->device->threads;
    RUN_CUDA(attender->device,
             attender->gradient_windows
                 ? spmmi_cuda_attention_key_windows(&attender->windows, &mine, (cudaStream_t)stream)
                 : spmmi_cuda_attention_key(&attender->rows, &mine, (cudaStream_t)stream));
    spmmi_cpu_attention_key(&attender->rows, &mine);
    return SPMM_OK;
}
