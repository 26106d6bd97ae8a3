/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/sort.h"
#include "orders.h"

/* 128 hashes in bands that find rows of a similarity (Jaccard) of 0.2 and more; pairs below are
 * dropped, as DTC-SpMM does. */
enum { BANDS = 42, BAND_ROWS = 3 };
static const double least_similarity = 0.2;

typedef struct {
    const spmm_csr_t *block;
    uint64_t         *key;  /**< [n_rows] of a band */
    int64_t          *row;  /**< [n_rows] rows by key */
    uint64_t         *rank; /**< [room] pairs: how unlike, owned */
    int64_t          *pair; /**< [room] row << 32 | other row, owned */
    int64_t           n_pairs, room;
    int32_t          *parent, *size, *last, *next; /**< [n_rows] of clusters: lists of their rows */
} lsh_t;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x7fb5d329728ea185ULL;
    x ^= x >> 27;
    x *= 0x81dadef4bc2dd44dULL;
    return x ^ x >> 33;
}

/* The least hashes of the columns of each row, of one band, as one key; rows without entries have
 * keys of their own. */
static void hash_band(lsh_t *l, int band)
{
    const spmm_csr_t *b = l->block;

    for (int32_t i = 0; i < b->n_rows; i++) {
        uint64_t key = mix((uint64_t)i + 1);

        for (int h = 0; h < BAND_ROWS && b->row_ptr[i + 1] > b->row_ptr[i]; h++) {
            const uint64_t seed  = mix((uint64_t)(band * BAND_ROWS + h + 1) << 32);
            uint64_t       least = UINT64_MAX;

            for (int64_t k = b->row_ptr[i]; k < b->row_ptr[i + 1]; k++) {
                const uint64_t value = mix((uint64_t)b->col_idx[k] ^ seed);

                least = value < least ? value : least;
            }
            key = mix((h == 0 ? 0 : key) ^ least);
        }
        l->key[i] = key;
        l->row[i] = i;
    }
}

static double similarity(const spmm_csr_t *b, int64_t i, int64_t j)
{
    int64_t p = b->row_ptr[i], q = b->row_ptr[j], common = 0;

    while (p < b->row_ptr[i + 1] && q < b->row_ptr[j + 1]) {
        const int32_t c = b->col_idx[p], d = b->col_idx[q];

        common += c == d;
        p += c <= d;
        q += d <= c;
    }
    return (double)common /
           (double)(b->row_ptr[i + 1] - b->row_ptr[i] + b->row_ptr[j + 1] - b->row_ptr[j] - common);
}

static spmm_status_t add_pair(spmm_env_t *env, lsh_t *l, int64_t i, int64_t j)
{
    const double alike = similarity(l->block, i, j);

    if (alike < least_similarity) {
        return SPMM_OK;
    }
    if (l->n_pairs == l->room) {
        uint64_t *rank = spmmi_realloc(l->rank, 2 * l->room, sizeof *l->rank);
        int64_t  *pair;

        l->rank = rank == NULL ? l->rank : rank;
        pair    = spmmi_realloc(l->pair, 2 * l->room, sizeof *l->pair);
        l->pair = pair == NULL ? l->pair : pair;
        if (rank == NULL || pair == NULL) {
            return spmmi_fail_memory(&env->err, 2 * l->room, 16, "pairs of rows");
        }
        l->room *= 2;
    }
    l->rank[l->n_pairs]   = (uint64_t)((1.0 - alike) * 1e15);
    l->pair[l->n_pairs++] = i << 32 | j;
    return SPMM_OK;
}

/* Rows with one key, each with the next. */
static spmm_status_t find_pairs(spmm_env_t *env, lsh_t *l)
{
    spmm_status_t status = SPMM_OK;

    for (int band = 0; band < BANDS && status == SPMM_OK; band++) {
        hash_band(l, band);
        status = spmmi_sort_u64_with(env, l->key, l->row, l->block->n_rows);
        for (int32_t k = 1; k < l->block->n_rows && status == SPMM_OK; k++) {
            if (l->key[k] == l->key[k - 1]) {
                status = add_pair(env, l, l->row[k - 1], l->row[k]);
            }
        }
    }
    return status;
}

static int32_t find(int32_t *parent, int32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v         = parent[v];
    }
    return v;
}

/* Clusters that the most similar pairs join, of at most @p most rows, each in one piece. */
static void cluster(lsh_t *l, int32_t most, int32_t *order)
{
    const int32_t n   = l->block->n_rows;
    int32_t       out = 0;

    for (int32_t i = 0; i < n; i++) {
        l->parent[i] = l->last[i] = i;
        l->size[i]                = 1;
        l->next[i]                = -1;
    }
    for (int64_t k = 0; k < l->n_pairs; k++) {
        int32_t a = find(l->parent, (int32_t)(l->pair[k] >> 32));
        int32_t b = find(l->parent, (int32_t)(uint32_t)l->pair[k]);

        if (a != b && l->size[a] + l->size[b] <= most) {
            const int32_t to = a < b ? a : b, from = a < b ? b : a;

            l->parent[from] = to;
            l->size[to] += l->size[from];
            l->next[l->last[to]] = from;
            l->last[to]          = l->last[from];
        }
    }
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = l->parent[i] == i ? i : -1; j >= 0; j = l->next[j]) {
            order[out++] = j;
        }
    }
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int32_t most, int32_t *order)
{
    const int32_t n = block->n_rows;
    lsh_t         l = {.block = block, .room = 2 * (int64_t)n + 1};
    spmm_status_t status;

    SPMM_NEW(l.key, n);
    SPMM_NEW(l.row, n);
    SPMM_NEW(l.rank, l.room);
    SPMM_NEW(l.pair, l.room);
    SPMM_NEW(l.parent, n);
    SPMM_NEW(l.size, n);
    SPMM_NEW(l.last, n);
    SPMM_NEW(l.next, n);
    status = l.key == NULL || l.row == NULL || l.rank == NULL || l.pair == NULL ||
                     l.parent == NULL || l.size == NULL || l.last == NULL || l.next == NULL
                 ? spmmi_fail_memory(&env->err, n, 64, "clusters of rows")
                 : find_pairs(env, &l);
    if (status == SPMM_OK) {
        status = spmmi_sort_u64_with(env, l.rank, l.pair, l.n_pairs);
    }
    if (status == SPMM_OK) {
        cluster(&l, most, order);
    }
    spmmi_free_all(l.key, l.row, l.rank, l.pair, l.parent, l.size, l.last, l.next);
    return status;
}

static spmm_status_t run_16(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    (void)threads;
    return run(env, block, 16, order);
}

static spmm_status_t run_64(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    (void)threads;
    return run(env, block, 64, order);
}

const spmm_reorderer_t bench_order_lsh16 = {
    .name = "lsh16", .description = "clusters of 16 rows (DTC-SpMM)", .built = true, .run = run_16};
const spmm_reorderer_t bench_order_lsh64 = {
    .name = "lsh64", .description = "clusters of 64 rows", .built = true, .run = run_64};
