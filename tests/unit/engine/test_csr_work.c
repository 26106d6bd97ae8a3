/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_csr_work.c
 *  The work items of engine csr-gpu: every entry in exactly one work item and in order, rows cut
 *  only where they are long, rows without entries listed; and how large work items are.
 */
#include "test_main.h"

#include "engine/csr/csr_gpu_work.h"

enum { MOST_ROWS = 600 };

/* Lengths of rows only: the work items do not depend on columns. */
typedef struct {
    spmm_csr_t block;
    int64_t    row_ptr[MOST_ROWS + 1];
    int32_t    row_map[MOST_ROWS];
} rows_t;

static void make_rows(rows_t *r, int32_t n_rows, uint64_t seed, int64_t most, bool mapped)
{
    assert_in_range(n_rows, 0, MOST_ROWS);
    r->block      = (spmm_csr_t){.n_rows = n_rows, .n_cols = INT32_MAX, .row_ptr = r->row_ptr};
    r->row_ptr[0] = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        const uint64_t hash   = spmmi_hash2(seed, i, 0);
        int64_t        length = hash % 4 == 0 ? 0 : spmmi_below(spmmi_mix64(hash), most + 1);

        r->row_ptr[i + 1] = r->row_ptr[i] + (hash % 23 == 3 ? 40 * length : length);
        r->row_map[i]     = 3 * i + 1;
    }
    r->block.row_map = mapped ? r->row_map : NULL;
}

static int32_t row_of_c(const rows_t *r, int32_t i)
{
    return r->block.row_map == NULL ? i : r->row_map[i];
}

/* The rows of C of entries, their ends, and the rows that have none. */
static void check_rows(const rows_t *r, const spmm_csr_work_t *w, int64_t limit)
{
    int32_t empty = 0, split = 0;

    for (int32_t i = 0; i < r->block.n_rows; i++) {
        const int64_t length = r->row_ptr[i + 1] - r->row_ptr[i];
        const bool    cut    = length > 2 * limit;

        if (length == 0) {
            assert_true(empty < w->n_empty);
            assert_int_equal(w->empty[empty++], row_of_c(r, i));
        }
        for (int64_t k = r->row_ptr[i]; k < r->row_ptr[i + 1]; k++) {
            const bool ends = k + 1 == r->row_ptr[i + 1] && !cut;

            assert_int_equal(w->row[k] < 0, ends);
            assert_int_equal(w->row[k] & INT32_MAX, row_of_c(r, i));
        }
        if (cut) {
            assert_true(split < w->n_splits);
            assert_int_equal(w->split[split++].row, row_of_c(r, i));
        }
    }
    assert_int_equal(empty, w->n_empty);
    assert_int_equal(split, w->n_splits);
}

/* Parts of split row s are the whole row, nearly equal, and know it. */
static void check_split(const rows_t *r, const spmm_csr_work_t *w, int32_t s, int64_t limit)
{
    const spmm_csr_split_t *split = &w->split[s];
    const spmm_csr_item_t  *first = &w->item[split->item];
    int64_t                 at = first->entry, least = INT64_MAX, most = 0;

    assert_true(split->n_items >= 2);
    for (int32_t k = 0; k < split->n_items; k++) {
        assert_int_equal(first[k].split, s);
        assert_int_equal(first[k].entry, at);
        at += first[k].n_entries;
        least = first[k].n_entries < least ? first[k].n_entries : least;
        most  = first[k].n_entries > most ? first[k].n_entries : most;
    }
    assert_true(most <= limit && most - least <= 1);
    for (int32_t i = 0; i < r->block.n_rows; i++) {
        if (row_of_c(r, i) == split->row) {
            assert_int_equal(first->entry, r->row_ptr[i]);
            assert_int_equal(at, r->row_ptr[i + 1]);
        }
    }
}

/* Every entry once; work items of whole rows begin and end with a row and have at most their
 * size. */
static void check_cover(const rows_t *r, const spmm_csr_work_t *w, int64_t limit)
{
    const int64_t nnz  = r->row_ptr[r->block.n_rows];
    char         *seen = spmm_test_calloc((size_t)nnz + 1, 1);

    for (int32_t p = 0; p < w->n_items; p++) {
        const spmm_csr_item_t *item = &w->item[p];
        int64_t                ends = 0;

        assert_true(item->n_entries > 0);
        assert_int_equal(item->split == SPMM_CSR_WHOLE, p >= w->n_partial);
        for (int64_t k = item->entry; k < (int64_t)item->entry + item->n_entries; k++) {
            assert_true(k < nnz && seen[k] == 0);
            seen[k] = 1;
            ends += w->row[k] < 0;
        }
        if (p >= w->n_partial) {
            assert_true(item->entry == 0 || w->row[item->entry - 1] < 0 ||
                        (w->row[item->entry - 1] & INT32_MAX) != (w->row[item->entry] & INT32_MAX));
            assert_true(w->row[(int64_t)item->entry + item->n_entries - 1] < 0);
            assert_true(item->n_entries <= (ends == 1 ? 2 * limit : limit + limit / 2));
        }
    }
    for (int64_t k = 0; k < nnz; k++) {
        assert_int_equal(seen[k], 1);
    }
    free(seen);
}

/* Long rows before the packed ones, each kind in the order of rows. */
static void check_order(const spmm_csr_work_t *w, int64_t limit)
{
    int32_t p = w->n_partial;

    for (int32_t k = 1; k < w->n_partial; k++) {
        assert_true(w->item[k].entry > w->item[k - 1].entry);
    }
    for (bool longs = true; p + 1 < w->n_items; p++) {
        if (w->item[p + 1].entry < w->item[p].entry) {
            assert_true(longs && w->item[p].n_entries > limit);
            longs = false;
        }
    }
}

/* Packing leaves few small work items: where no row is long, all but the last are more than half
 * full. */
static void check_full(const spmm_csr_work_t *w, int64_t limit, int64_t longest)
{
    for (int32_t p = 0; longest <= limit && p + 1 < w->n_items; p++) {
        assert_true(2 * (int64_t)w->item[p].n_entries > limit);
    }
}

/* A row, or a part of one. */
static void check_single(const spmm_csr_work_t *w)
{
    for (int32_t p = 0; p < w->n_items; p++) {
        const int32_t *row = &w->row[w->item[p].entry];

        for (int32_t k = 0; k + 1 < w->item[p].n_entries; k++) {
            assert_true(row[k] >= 0 && row[k] == (row[k + 1] & INT32_MAX));
        }
    }
}

static void check(const rows_t *r, int64_t limit, bool by_rows)
{
    int64_t         longest = 0;
    spmm_csr_work_t w;

    for (int32_t i = 0; i < r->block.n_rows; i++) {
        const int64_t length = r->row_ptr[i + 1] - r->row_ptr[i];

        longest = length > longest ? length : longest;
    }
    spmm_assert_ok(spmmi_csr_work_create(&spmm_test_env, &r->block, limit, by_rows, 0, 2, &w));
    check_rows(r, &w, limit);
    for (int32_t s = 0; s < w.n_splits; s++) {
        check_split(r, &w, s, limit);
    }
    check_cover(r, &w, limit);
    check_order(&w, limit);
    if (by_rows) {
        check_single(&w);
    } else {
        check_full(&w, limit, longest);
    }
    spmmi_csr_work_free(&w);
    assert_null(w.row);
}

static void test_cover(void **state)
{
    static const int32_t n_rows[] = {0, 1, 2, 17, 600};
    static const int64_t limits[] = {1, 2, 7, 64, 1000, INT32_MAX};
    const int64_t        live     = spmmi_alloc_get_stats().live;
    rows_t               r;

    for (int k = 0; k < 5 * 6 * 4; k++) {
        make_rows(&r, n_rows[k % 5], (uint64_t)k, 3 * (k % 4) * (k % 4), k % 3 == 0);
        check(&r, limits[k / 5 % 6], false);
        check(&r, limits[k / 5 % 6], true);
    }
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

/* Tiles have consecutive rows, as many as they say and no more than may be; with split rows they
 * are all rows, each once; the empty ones are told. */
static void check_tiles(const rows_t *r, int64_t limit, int32_t most)
{
    char            seen[MOST_ROWS] = {0};
    spmm_csr_work_t w;

    spmm_assert_ok(spmmi_csr_work_create(&spmm_test_env, &r->block, limit, false, most, 2, &w));
    check_rows(r, &w, limit);
    for (int32_t s = 0; s < w.n_splits; s++) {
        check_split(r, &w, s, limit);
        seen[w.split[s].row]++;
    }
    for (int32_t p = w.n_partial; p < w.n_items; p++) {
        const spmm_csr_item_t *item  = &w.item[p];
        const int32_t          first = item->row & INT32_MAX;
        bool                   empty = false;

        assert_in_range(-item->split, 1, most);
        assert_int_equal(r->row_ptr[first], item->entry);
        assert_int_equal(r->row_ptr[first - item->split], (int64_t)item->entry + item->n_entries);
        for (int32_t i = first; i < first - item->split; i++) {
            empty = empty || r->row_ptr[i] == r->row_ptr[i + 1];
            seen[i]++;
        }
        assert_int_equal(item->row < 0, empty);
    }
    for (int32_t i = 0; i < r->block.n_rows; i++) {
        assert_int_equal(seen[i], 1);
    }
    spmmi_csr_work_free(&w);
}

static void test_tiles(void **state)
{
    static const int32_t n_rows[] = {0, 1, 2, 17, 600};
    static const int64_t limits[] = {1, 7, 64, 1000};
    static const int32_t most[]   = {1, 4, 32, 128};
    rows_t               r;

    for (int k = 0; k < 5 * 4 * 4 * 2; k++) {
        make_rows(&r, n_rows[k % 5], (uint64_t)k, k < 80 ? 3 : 27, false);
        check_tiles(&r, limits[k / 5 % 4], most[k / 20 % 4]);
    }
}

/* Lengths at, just below and just above where work items and rows are cut. */
static void test_limits(void **state)
{
    static const int64_t lengths[] = {0,  32, 31, 1, 33, 63,  64,   65, 0, 96, 97,
                                      16, 17, 32, 1, 64, 129, 6400, 1,  5, 0};
    const int32_t        n         = sizeof lengths / sizeof lengths[0];
    rows_t               r;

    make_rows(&r, n, 1, 1, true);
    for (int32_t i = 0; i < n; i++) {
        r.row_ptr[i + 1] = r.row_ptr[i] + lengths[i];
    }
    for (int64_t limit = 30; limit < 34; limit++) {
        check(&r, limit, false);
        check(&r, limit, true);
        check(&r, 100 * limit, false);
    }
}

static void check_too_many(rows_t *r, int64_t limit)
{
    spmm_csr_work_t w;

    spmm_assert_refused(spmmi_csr_work_create(&spmm_test_env, &r->block, limit, false, 0, 1, &w),
                        w.row, SPMM_ERR_RANGE, NULL);
}

/* Entries, and work items. */
static void test_too_many(void **state)
{
    rows_t r;

    make_rows(&r, 2, 1, 1, false);
    r.row_ptr[1] = UINT32_MAX;
    r.row_ptr[2] = (int64_t)UINT32_MAX + 1;
    check_too_many(&r, 64);
    r.row_ptr[2] = UINT32_MAX;
    check_too_many(&r, 1);
}

static spmm_status_t create(void *r)
{
    spmm_csr_work_t     w;
    const spmm_status_t status =
        spmmi_csr_work_create(&spmm_test_env, &((rows_t *)r)->block, 4, false, 0, 1, &w);

    assert_int_equal(w.row == NULL, status != SPMM_OK);
    spmmi_csr_work_free(&w);
    return status;
}

static void test_memory(void **state)
{
    rows_t r;

    make_rows(&r, 50, 3, 20, false);
    assert_true(spmm_test_sweep(create, &r, -1, SPMM_OK) > 3);
}

/* The limit for a block of MOST_ROWS rows of @p length entries, and the work items by it. */
static int64_t limit_of(spmm_type_t type, int64_t length, int64_t n, int64_t used_cols, bool alone,
                        int64_t *items)
{
    rows_t          r;
    spmm_csr_work_t w;
    int64_t         limit;

    make_rows(&r, MOST_ROWS, 1, 1, false);
    for (int32_t i = 0; i < MOST_ROWS; i++) {
        r.row_ptr[i + 1] = r.row_ptr[i] + length;
    }
    r.block.type = type;
    limit        = spmmi_csr_work_limit(&r.block, n, used_cols, 4, alone, 0);
    spmm_assert_ok(spmmi_csr_work_create(&spmm_test_env, &r.block, limit, false, 0, 2, &w));
    *items = w.n_items;
    spmmi_csr_work_free(&w);
    return limit;
}

/* Small products in the shortest work items, larger ones in one wave of four multiprocessors, and
 * in work items that no longer grow. */
static void test_limit(void **state)
{
    const int64_t few = 1000;
    int64_t       items, limit;

    for (int64_t length = 10; length < 20; length++) { /* 5 or 4 thread blocks are resident */
        limit = limit_of(SPMM_R_32F, length, 128, few, true, &items);
        assert_in_range(limit, MOST_ROWS * length / 20, MOST_ROWS * length / 15);
        assert_in_range(items, 15, 20);
        limit = limit_of(SPMM_R_64F, length, 64, few, true, &items);
        assert_in_range(limit, MOST_ROWS * length / 16, MOST_ROWS * length / 12);
        assert_in_range(items, 12, 16);
        (void)limit_of(SPMM_R_64F, length, 33, few, true, &items);
        assert_in_range(items, 12, 16);
        (void)limit_of(SPMM_R_32F, length, 33, few, true, &items); /* may go one by one */
        assert_in_range(items, 12, 16);
        (void)limit_of(SPMM_R_32F, length, 34, few, true, &items);
        assert_in_range(items, 12, 16);
    }
    assert_in_range(limit_of(SPMM_R_32F, 10, 256, few, true, &items), 600, 720); /* two slices */
    assert_in_range(items, 8, 10);
    assert_int_equal(limit_of(SPMM_R_32F, 20, 512, 20000, true, &items), 400);
    assert_int_equal(items, 30);
}

/* Several waves: beside exchanges; B is larger than L2, too many slices, one column, too many
 * entries.  Then L2 has no room for B, but for a slice of it: more work items than are resident for
 * each of four; and not for a slice: short work items, of wide rows the shortest. */
static void test_limits_of_waves(void **state)
{
    static const struct {
        spmm_type_t type;
        int64_t     length, n, used_cols;
        bool        alone;
        int64_t     limit;
    } list[] = {{SPMM_R_32F, 0, 32, 1000, true, 256},
                {SPMM_R_32F, 2, 32, 1000, true, 256},
                {SPMM_R_32F, 2, 128, 1000, true, 128},
                {SPMM_R_32F, 20, 128, 1000, false, 200},
                {SPMM_R_64F, 20, 64, 1000, false, 200},
                {SPMM_R_64F, 20, 128, 40000, true, 400},
                {SPMM_R_32F, 10, 640, 1000, true, 500},
                {SPMM_R_32F, 200, 1, 1000, true, 2000},
                {SPMM_R_32F, 100, 128, 1000, true, 1000},
                {SPMM_R_32F, 10000, 128, 1000, true, 1024},
                {SPMM_R_32F, 100000, 32, 1000, true, 4096},
                {SPMM_R_64F, 100000, 32, 1000, true, 2048},
                {SPMM_R_16F, 100000, 1000000, 1000, true, 1024},
                {SPMM_R_32F, 20, 512, 10000, true, 800},
                {SPMM_R_32F, 8, 512, 20000, true, 192},
                {SPMM_R_32F, 100, 128, 300000, true, 1000},
                {SPMM_R_32F, 100, 128, 350000, true, 500},
                {SPMM_R_32F, 100, 32, 400000, true, 500},
                {SPMM_R_32F, 100, 128, 400000, true, 333},
                {SPMM_R_32F, 100, 256, 400000, false, 333},
                {SPMM_R_64F, 100, 128, 400000, true, 333}};
    int64_t items;

    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++) {
        assert_int_equal(limit_of(list[k].type, list[k].length, list[k].n, list[k].used_cols,
                                  list[k].alone, &items),
                         list[k].limit);
    }
}

/* Slices of tiles are narrow: more than thread blocks are resident on three multiprocessors, and no
 * wave has work items of all. */
static void test_limit_of_few(void **state)
{
    const int64_t few = 100;
    rows_t        r;

    make_rows(&r, MOST_ROWS, 1, 1, false);
    for (int32_t i = 0; i < MOST_ROWS; i++) {
        r.row_ptr[i + 1] = r.row_ptr[i] + (i < 100 ? 20 : 0);
    }
    r.block.type = SPMM_R_16F;
    for (int n_sm = 1; n_sm <= 3; n_sm++) {
        assert_int_equal(spmmi_csr_work_limit(&r.block, 1024, few, n_sm, true, SPMM_CSR_TILE / 2),
                         spmmi_csr_work_limit(&r.block, 1024, few, n_sm, false, SPMM_CSR_TILE / 2));
    }
}

/* ps that the model gives an element of column-major C. */
static double element_ps(bool mapped, bool in_order)
{
    const spmm_pattern_t pattern = {
        .n_rows = 5000, .n_cols = 5000, .c_rows = 5000, .mapped = mapped, .nnz = 50000};
    const spmm_problem_t problem = {.ab_type  = SPMM_R_64F,
                                    .c_type   = SPMM_R_64F,
                                    .compute  = SPMM_COMPUTE_64F,
                                    .layout   = SPMM_LAYOUT_MIXED,
                                    .n        = 32,
                                    .in_order = in_order};
    const spmm_device_t  device  = {
          .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 3.35e12};
    spmm_cost_term_t terms[SPMM_COST_TERMS];
    const int        n = spmmi_csr_gpu_terms(&pattern, &problem, &device, terms);

    for (int k = 0; k < n; k++) {
        if (strcmp(terms[k].name, "columns") == 0) {
            return terms[k].constant;
        }
    }
    return 0.0;
}

/* Rows that go to others of C, and those whose entries are added in their order, have no tiles, and
 * the model knows. */
static void test_model_of_tiles(void **state)
{
    assert_true(element_ps(false, false) == 1.0);
    assert_true(element_ps(true, false) > 2.0);
    assert_true(element_ps(false, true) > 2.0);
}

SPMM_TESTS(test_cover, test_tiles, test_limits, test_too_many, test_memory, test_limit,
           test_limits_of_waves, test_limit_of_few, test_model_of_tiles);
