/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/attention/attention.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/candidate.h"
#include "base/scalar.h"
#include "cpu/attention/attention.h"
#include "engine/windows/windows.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/attention/attention.h"
#include "device/device_cuda.h"
#endif

/* Windows of a mask in groups that share rows of K and V: the columns of a group, each once, in
 * panels, and of every window and panel its vectors in chunks of 16 slots.
 *
 * Places of a panel that are equal modulo 8 lie in the same banks of shared memory, and eight
 * slots are read at a time.  So columns are placed so that each window has about as many in every
 * bank, and slots are dealt out so that few of eight are in the same. */

enum { CHUNK = SPMM_ATTENTION_CHUNK, AHEAD = SPMM_ATTENTION_AHEAD, BANKS = 8, WORD = 64 };

/** The group in hand. */
typedef struct {
    const spmm_windows_t *windows;
    int32_t               width, first, count; /**< its windows */
    int32_t               n_words;
    uint64_t             *used;  /**< [n_words] columns of the group, all 0 between groups */
    int32_t              *col;   /**< [columns of the block] the columns, ascending */
    int32_t              *place; /**< [columns of the block] where in its panel each is */
    int32_t               n_cols;
    uint32_t             *slot; /**< [width] of a panel and window */
    int32_t              *at;   /**< [windows of a group] their next vectors */
    int32_t *load; /**< [windows of a group * BANKS] their vectors of a panel by banks */
    int32_t *user; /**< [windows of a group] which use a column */
} group_t;

static spmm_status_t group_alloc(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t           *windows,
                                 const spmm_attention_variant_t *variant, group_t *g)
{
    *g =
        (group_t){.windows = windows, .width = variant->width, .n_words = block->n_cols / WORD + 1};
    SPMM_NEW_ZERO(g->used, g->n_words);
    SPMM_NEW(g->col, block->n_cols);
    SPMM_NEW_ZERO(g->place, block->n_cols);
    SPMM_NEW(g->slot, g->width);
    SPMM_NEW(g->at, variant->windows);
    SPMM_NEW(g->load, (int64_t)variant->windows * BANKS);
    SPMM_NEW(g->user, variant->windows);
    return g->used == NULL || g->col == NULL || g->place == NULL || g->slot == NULL ||
                   g->at == NULL || g->load == NULL || g->user == NULL
               ? spmmi_fail_memory(&env->err, block->n_cols, sizeof *g->col, "groups of a mask")
               : SPMM_OK;
}

static void group_free(group_t *g)
{
    spmmi_free_all(g->used, g->col, g->place, g->slot, g->at, g->load, g->user);
}

/* Which columns do the windows of group @p number use? */
static void group_read(group_t *g, int32_t number, int32_t windows)
{
    const int32_t all = g->windows->n_windows;
    int32_t       n   = 0;

    g->first = number * windows;
    g->count = all - g->first < windows ? all - g->first : windows;
    for (int32_t w = g->first; w < g->first + g->count; w++) {
        const int32_t *col = g->windows->col + g->windows->first[w];

        for (int32_t k = 0; k < g->windows->count[w]; k++) {
            g->used[col[k] / WORD] |= (uint64_t)1 << (col[k] % WORD);
        }
    }
    for (int32_t word = 0; word < g->n_words; word++) {
        for (uint64_t used = g->used[word]; used != 0; used &= used - 1) {
            g->col[n++] = word * WORD + __builtin_ctzll(used);
        }
        g->used[word] = 0;
    }
    g->n_cols = n;
}

/* Which windows of the group use the column?  Columns are asked for in ascending order.
 * @return how many */
static int32_t find_users(group_t *g, int32_t col, int32_t *user)
{
    int32_t n = 0;

    for (int32_t w = 0; w < g->count; w++) {
        const int64_t at = g->windows->first[g->first + w] + g->at[w];

        if (g->at[w] < g->windows->count[g->first + w] && g->windows->col[at] == col) {
            g->at[w]++;
            user[n++] = w;
        }
    }
    return n;
}

/* The bank with a place left in which @p n windows have least. */
static int32_t best_bank(const group_t *g, const int32_t filled[BANKS], const int32_t *user,
                         int32_t n)
{
    int64_t least = INT64_MAX;
    int32_t best  = 0;

    for (int32_t b = 0; b < BANKS; b++) {
        int64_t load = 0;

        for (int32_t k = 0; k < n; k++) {
            load += g->load[user[k] * BANKS + b];
        }
        load = load * g->width + filled[b];
        if (filled[b] < g->width / BANKS && load < least) {
            least = load;
            best  = b;
        }
    }
    return best;
}

/* Give the columns their places. */
static void group_place(group_t *g)
{
    int32_t filled[BANKS] = {0};

    memset(g->at, 0, (size_t)g->count * sizeof *g->at);
    for (int32_t k = 0; k < g->n_cols; k++) {
        const int32_t n = find_users(g, g->col[k], g->user);
        int32_t       b;

        if (k % g->width == 0) {
            memset(filled, 0, sizeof filled);
            memset(g->load, 0, (size_t)g->count * BANKS * sizeof *g->load);
        }
        b           = best_bank(g, filled, g->user, n);
        g->place[k] = filled[b]++ * BANKS + b;
        for (int32_t u = 0; u < n; u++) {
            g->load[g->user[u] * BANKS + b]++;
        }
    }
}

/* The vectors of a window in a panel, from *at on, into g->slot.
 * @return how many */
static int32_t read_panel(const group_t *g, int32_t window, int32_t panel, int32_t *at)
{
    const int32_t   first = panel * g->width, left = g->n_cols - first;
    const int32_t   end  = left < g->width ? left : g->width;
    const int32_t  *col  = g->windows->col + g->windows->first[window];
    const uint32_t *rows = g->windows->rows + g->windows->first[window];
    int32_t         n    = 0;

    for (int32_t k = 0; k < end && *at < g->windows->count[window]; k++) {
        if (g->col[first + k] == col[*at]) {
            g->slot[n++] = (uint32_t)g->place[first + k] | rows[*at] << SPMM_ATTENTION_BITS;
            (*at)++;
        }
    }
    return n;
}

/* Deal @p n vectors out to chunks, eight slots after eight: each time from the bank that the eight
 * have least of, and of these from that which has most left. */
static void deal(const uint32_t *from, int32_t n, int32_t empty, uint32_t *to)
{
    const int32_t eights      = (n + CHUNK - 1) / CHUNK * (CHUNK / BANKS);
    int32_t       left[BANKS] = {0}, last[BANKS], rest = n;

    for (int32_t b = 0; b < BANKS; b++) {
        last[b] = n;
    }
    for (int32_t k = 0; k < n; k++) {
        left[from[k] % BANKS]++;
    }
    for (int32_t e = 0; e < eights; e++) {
        const int32_t here         = (rest + eights - e - 1) / (eights - e);
        int32_t       taken[BANKS] = {0};

        for (int32_t s = 0; s < BANKS; s++) {
            int32_t best = -1;

            for (int32_t b = 0; b < BANKS && s < here; b++) {
                if (left[b] > 0 && (best < 0 || taken[b] < taken[best] ||
                                    (taken[b] == taken[best] && left[b] > left[best]))) {
                    best = b;
                }
            }
            to[e * BANKS + s] = (uint32_t)empty;
            if (best >= 0) {
                do { /* the last one of the bank that is not yet taken */
                    last[best]--;
                } while ((int32_t)(from[last[best]] % BANKS) != best);
                to[e * BANKS + s] = from[last[best]];
                taken[best]++;
                left[best]--;
            }
        }
        rest -= here;
    }
}

/** Which group has how many columns. */
typedef struct {
    int32_t group, columns;
} length_t;

static int longest_first(const void *a, const void *b)
{
    const length_t *x = a, *y = b;

    return x->columns != y->columns ? (x->columns < y->columns) - (x->columns > y->columns)
                                    : (x->group > y->group) - (x->group < y->group);
}

/* Groups in order, and the first panel of each. */
static spmm_status_t order_groups(spmm_env_t *env, group_t *g, spmm_attention_list_t *list)
{
    length_t *length;
    int64_t   panels = 0;

    if (SPMM_NEW(length, list->n_groups) == NULL) {
        return spmmi_fail_memory(&env->err, list->n_groups, sizeof *length, "groups of a mask");
    }
    for (int32_t k = 0; k < list->n_groups; k++) {
        group_read(g, k, list->variant.windows);
        length[k] = (length_t){.group = k, .columns = g->n_cols};
        list->columns += g->n_cols;
        panels += (g->n_cols + g->width - 1) / g->width;
    }
    if (panels > INT32_MAX / (list->variant.width + list->variant.windows)) {
        spmmi_free(length);
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a mask with %" PRId64 " panels of %d columns on rank %d: use more ranks",
                          panels, (int)list->variant.width, env->rank);
    }
    qsort(length, (size_t)list->n_groups, sizeof *length, longest_first);
    list->panels[0] = 0;
    for (int32_t k = 0; k < list->n_groups; k++) {
        list->group[k]      = length[k].group;
        list->panels[k + 1] = list->panels[k] + (length[k].columns + g->width - 1) / g->width;
    }
    list->n_panels = list->panels[list->n_groups];
    spmmi_free(length);
    return SPMM_OK;
}

/* Chunks of group number @p k of the list, or with @p fill what is in them. */
static void take_group(group_t *g, spmm_attention_list_t *list, int32_t k, bool fill)
{
    const int32_t n  = list->panels[k + 1] - list->panels[k];
    int32_t      *to = list->chunks + (int64_t)list->panels[k] * list->variant.windows;

    group_read(g, list->group[k], list->variant.windows);
    if (fill) {
        int32_t *const col = list->col + (int64_t)list->panels[k] * g->width;

        group_place(g);
        for (int32_t c = 0; c < n * g->width; c++) {
            col[c] = -1;
        }
        for (int32_t c = 0; c < g->n_cols; c++) {
            col[c / g->width * g->width + g->place[c]] = g->col[c];
        }
    }
    for (int32_t w = 0; w < list->variant.windows; w++) {
        int32_t at = 0;

        for (int32_t p = 0; p < n; p++) {
            const int32_t count = w < g->count ? read_panel(g, g->first + w, p, &at) : 0;

            if (fill) {
                deal(g->slot, count, g->width,
                     list->slot + (int64_t)to[w * (int64_t)n + p] * CHUNK);
            } else {
                to[w * (int64_t)n + p] = (count + CHUNK - 1) / CHUNK;
                list->vectors += count;
            }
        }
    }
}

/* Numbers of chunks to first ones. */
static spmm_status_t add_up(spmm_env_t *env, spmm_attention_list_t *list)
{
    const int64_t n = (int64_t)list->n_panels * list->variant.windows;

    for (int64_t k = 0; k <= n; k++) {
        const int32_t count = k < n ? list->chunks[k] : 0;

        list->chunks[k] = (int32_t)list->n_chunks;
        list->n_chunks += count;
        if (list->n_chunks > INT32_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "a mask with more than 2^31 chunks of vectors on rank %d: use more "
                              "ranks",
                              env->rank);
        }
    }
    return SPMM_OK;
}

static spmm_status_t fill_list(spmm_env_t *env, group_t *g, spmm_attention_list_t *list)
{
    SPMM_NEW(list->group, list->n_groups);
    SPMM_NEW(list->panels, (int64_t)list->n_groups + 1);
    if (list->group == NULL || list->panels == NULL) {
        return spmmi_fail_memory(&env->err, list->n_groups, sizeof *list->group,
                                 "groups of a mask");
    }
    SPMM_TRY(order_groups(env, g, list));
    SPMM_NEW(list->col, (int64_t)list->n_panels * g->width);
    SPMM_NEW(list->chunks, (int64_t)list->n_panels * list->variant.windows + 1);
    if (list->col == NULL || list->chunks == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)list->n_panels * g->width, sizeof *list->col,
                                 "panels of a mask");
    }
    for (int32_t k = 0; k < list->n_groups; k++) {
        take_group(g, list, k, false);
    }
    SPMM_TRY(add_up(env, list));
    if (SPMM_NEW(list->slot, (list->n_chunks + AHEAD) * CHUNK) == NULL) {
        return spmmi_fail_memory(&env->err, (list->n_chunks + AHEAD) * CHUNK, sizeof *list->slot,
                                 "the vectors of a mask");
    }
    for (int32_t k = 0; k < list->n_groups; k++) {
        take_group(g, list, k, true);
    }
    for (int s = 0; s < AHEAD * CHUNK; s++) { /* is read ahead, and not used */
        list->slot[list->n_chunks * CHUNK + s] = (uint32_t)g->width;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_attention_make_list(spmm_env_t *env, const spmm_csr_t *block,
                                        const spmm_attention_variant_t *variant, int threads,
                                        spmm_attention_list_t *list)
{
    spmm_attention_list_t made = {.variant = *variant, .n_rows = block->n_rows};
    spmm_windows_t        windows;
    group_t               g;
    spmm_status_t         status;

    SPMM_TRY(spmmi_windows_create(env, block, variant->height, threads, &windows));
    made.n_groups =
        windows.n_windows / variant->windows + (windows.n_windows % variant->windows != 0);
    status = group_alloc(env, block, &windows, variant, &g);
    if (status == SPMM_OK) {
        status = fill_list(env, &g, &made);
    }
    group_free(&g);
    spmmi_windows_free(&windows);
    if (status != SPMM_OK) {
        spmmi_attention_free_list(&made);
        return status;
    }
    *list = made;
    return SPMM_OK;
}

void spmmi_attention_free_list(spmm_attention_list_t *list)
{
    spmmi_free_all(list->group, list->panels, list->col, list->chunks, list->slot);
    memset(list, 0, sizeof *list);
}

/* From windows and panels back to rows. */

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Columns of row r of window w of group number @p k of the list.
 * @return how many; col may be NULL */
static int64_t decode_row(const spmm_attention_list_t *list, int32_t k, int32_t w, int32_t r,
                          int32_t *col)
{
    const int32_t  n = list->panels[k + 1] - list->panels[k];
    const int32_t *first =
        list->chunks + (int64_t)list->panels[k] * list->variant.windows + (int64_t)w * n;
    int64_t count = 0;

    for (int32_t p = 0; p < n; p++) {
        const int32_t *of_panel = list->col + (int64_t)(list->panels[k] + p) * list->variant.width;

        for (int64_t s = first[p] * (int64_t)CHUNK; s < first[p + 1] * (int64_t)CHUNK; s++) {
            if ((list->slot[s] >> (SPMM_ATTENTION_BITS + r) & 1u) != 0) {
                if (col != NULL) {
                    col[count] = of_panel[list->slot[s] & ((1u << SPMM_ATTENTION_BITS) - 1)];
                }
                count++;
            }
        }
    }
    return count;
}

void spmmi_attention_decode(const spmm_attention_list_t *list, int64_t *row_ptr, int32_t *col)
{
    const int32_t height = list->variant.height, rows = height * list->variant.windows;

    row_ptr[0] = 0;
    for (int fill = 0; fill < 2; fill++) {
        for (int32_t k = 0; k < list->n_groups; k++) {
            for (int32_t q = 0; q < rows && list->group[k] * rows + q < list->n_rows; q++) {
                const int32_t  i  = list->group[k] * rows + q;
                int32_t *const to = fill != 0 ? col + row_ptr[i] : NULL;
                const int64_t  n  = decode_row(list, k, q / height, q % height, to);

                if (fill != 0) {
                    qsort(to, (size_t)n, sizeof *to, ascending);
                } else {
                    row_ptr[i + 1] = n;
                }
            }
        }
        for (int32_t i = 0; i < list->n_rows && fill == 0; i++) {
            row_ptr[i + 1] += row_ptr[i];
        }
    }
}

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

static spmm_status_t upload_rows(spmm_attender_t *a, const spmm_csr_t *block,
                                 const int64_t *row_ptr, const int32_t *col)
{
    spmm_status_t status = SPMM_OK;

    a->rows.n_rows  = block->n_rows;
    a->rows.row_ptr = SPMM_UPLOAD(&a->uploads, row_ptr, (int64_t)block->n_rows + 1, &status);
    a->rows.col     = SPMM_UPLOAD(&a->uploads, col, a->nnz, &status);
    return status;
}

static spmm_status_t upload_windows(spmm_attender_t *a, const spmm_attention_list_t *list)
{
    spmm_attention_windows_t *w      = &a->windows;
    spmm_uploads_t           *up     = &a->uploads;
    spmm_status_t             status = SPMM_OK;

    w->n_rows   = list->n_rows;
    w->height   = list->variant.height;
    w->windows  = list->variant.windows;
    w->width    = list->variant.width;
    w->n_groups = list->n_groups;
    a->vectors  = list->vectors;
    a->columns  = list->columns;
    w->group    = SPMM_UPLOAD(up, list->group, list->n_groups, &status);
    w->panels   = SPMM_UPLOAD(up, list->panels, (int64_t)list->n_groups + 1, &status);
    w->col      = SPMM_UPLOAD(up, list->col, (int64_t)list->n_panels * w->width, &status);
    w->chunks   = SPMM_UPLOAD(up, list->chunks, (int64_t)list->n_panels * w->windows + 1, &status);
    w->slot     = SPMM_UPLOAD(up, list->slot, (list->n_chunks + AHEAD) * CHUNK, &status);
    return status;
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
    const int32_t lists = what->transposed ? 24 : 8; /* bytes of column and stats, of two stages */
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
        !what->transposed && (double)facts.pairs[1] < 0.6 * (double)facts.pairs[0] ? 16 : 8;
    variant->windows = variant->height == 8 && what->k <= 64 && !what->transposed ? 32 : 16;
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
    const bool    on_gpu = a->device->kind == SPMM_DEVICE_CUDA;
    spmm_status_t status = SPMM_OK;

    a->in_windows = asks_for(what, "windows") ||
                    (on_gpu && !asks_for(what, "rows") && why_no_windows(a->device, what) == NULL);
    a->gradient_windows = a->in_windows && what->gradients && what->k <= MOST_GRADIENT_K;
    a->in_windows       = what->transposed ? a->gradient_windows : a->in_windows;
    if (a->in_windows) {
        SPMM_TRY(make_windows(a, block, what));
    }
    if (!a->in_windows || (on_gpu && what->gradients && !a->gradient_windows)) {
        SPMM_TRY(upload_rows(a, block, block->row_ptr, block->col_idx));
    }
    if (block->row_map != NULL) {
        a->rows.row_map    = SPMM_UPLOAD(&a->uploads, block->row_map, block->n_rows, &status);
        a->windows.row_map = a->rows.row_map;
    }
    return status;
}

spmm_status_t spmmi_attender_create(const spmm_device_t *device, const spmm_csr_t *block,
                                    const spmm_attention_what_t *what, spmm_attender_t *attender)
{
    spmm_attender_t made = {
        .device = device, .nnz = spmmi_csr_nnz(block), .uploads.device = device};
    spmm_status_t status;

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
    spmmi_uploads_free(&attender->uploads);
    memset(attender, 0, sizeof *attender);
}

spmm_status_t spmmi_attender_run(const spmm_attender_t *attender, const spmm_attention_args_t *args,
                                 spmm_stream_t stream)
{
    spmm_attention_args_t mine = *args;

    mine.threads = attender->device->threads;
    SPMM_RUN_CUDA(
        attender->device, "the kernel attention",
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
    SPMM_RUN_CUDA(device, "the kernel attention",
                  spmmi_cuda_attention_stats(&mine, (cudaStream_t)stream));
    spmmi_cpu_attention_stats(&mine);
    return SPMM_OK;
}

spmm_status_t spmmi_attender_query(const spmm_attender_t           *attender,
                                   const spmm_attention_gradient_t *args, spmm_stream_t stream)
{
    spmm_attention_gradient_t mine = *args;

    mine.threads = attender->device->threads;
    SPMM_RUN_CUDA(
        attender->device, "the kernel attention",
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
    SPMM_RUN_CUDA(
        attender->device, "the kernel attention",
        attender->gradient_windows
            ? spmmi_cuda_attention_key_windows(&attender->windows, &mine, (cudaStream_t)stream)
            : spmmi_cuda_attention_key(&attender->rows, &mine, (cudaStream_t)stream));
    spmmi_cpu_attention_key(&attender->rows, &mine);
    return SPMM_OK;
}
