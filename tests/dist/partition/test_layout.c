/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 9 */
/* Layout maps and translation against the definition, evaluated on all parts. */
#include "partition/layout.h"

#include "base/comm.h"
#include "base/sort.h"
#include "test_main.h"
#include "test_matrix.h"

enum { MAX_RANKS = 64 };

/* How many indices each rank owns at first. */
typedef enum { EVEN, ONLY_LAST, UNEVEN, N_SPLITS } split_t;

typedef enum { RANDOM, ALL_TO_0, REVERSED, STAY, N_RULES } rule_t;

static int32_t part_of(rule_t rule, int64_t index, const int64_t *orig_offset)
{
    const int32_t size  = spmm_test_env.size;
    const int32_t owner = (int32_t)spmmi_owner(orig_offset, size, index);

    switch (rule) {
    case RANDOM:
        return (int32_t)spmmi_below(spmmi_hash2(3, index, 0), size);
    case ALL_TO_0:
        return 0;
    case REVERSED:
        return size - 1 - owner;
    default:
        return owner;
    }
}

static void offsets_of(int64_t n, split_t split, int64_t *offset)
{
    const int size = spmm_test_env.size;

    offset[0] = 0;
    for (int p = 0; p < size; p++) {
        const int64_t end =
            split == EVEN ? n * (p + 1) / size : n * (p + 1) * (p + 1) / size / size;

        offset[p + 1] = split == ONLY_LAST && p < size - 1 ? 0 : end;
    }
}

/* New index of every original one: parts in order, original order within a part. */
static int64_t *define(int64_t n, rule_t rule, const int64_t *orig_offset, int64_t *offset)
{
    int64_t *new_index, next = 0;

    assert_non_null(SPMM_NEW(new_index, n));
    for (int p = 0; p < spmm_test_env.size; p++) {
        offset[p] = next;
        for (int64_t i = 0; i < n; i++) {
            if (part_of(rule, i, orig_offset) == p) {
                new_index[i] = next++;
            }
        }
    }
    offset[spmm_test_env.size] = next;
    return new_index;
}

static int64_t sent_row(const spmm_layout_map_t *map, int64_t k)
{
    return map->keep ? k : map->send_row[k];
}

static void check_map(const spmm_layout_map_t *map, const int64_t *orig_offset,
                      const int64_t *offset, const int64_t *new_index)
{
    const int     size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int64_t first = orig_offset[rank];
    int64_t       k     = 0;

    assert_int_equal(map->n_global, orig_offset[size]);
    assert_int_equal(map->n_orig, orig_offset[rank + 1] - first);
    assert_int_equal(map->n_local, offset[rank + 1] - offset[rank]);
    assert_memory_equal(map->offset, offset, ((size_t)size + 1) * sizeof *offset);
    assert_memory_equal(map->orig_offset, orig_offset, ((size_t)size + 1) * sizeof *offset);
    for (int32_t i = 0; i < map->n_orig && !map->keep; i++) {
        assert_int_equal(map->new_index[i], new_index[first + i]);
    }
    for (int32_t i = 0; i < map->n_local; i++) {
        const int64_t original = spmmi_layout_original(map, i);

        assert_int_equal(new_index[original], offset[rank] + i);
        assert_true(i == 0 || spmmi_layout_original(map, i - 1) < original);
    }
    for (int p = 0; p < size; p++) {
        for (int64_t i = 0; i < map->send_count[p]; i++, k++) {
            const int64_t row = sent_row(map, k);

            assert_in_range(new_index[first + row], offset[p], offset[p + 1] - 1);
            assert_true(i == 0 || sent_row(map, k - 1) < row);
        }
    }
    assert_int_equal(k, map->n_orig);
}

/* Rows sent by the map's lists arrive in the new local order. */
static void check_movement(const spmm_layout_map_t *map)
{
    int64_t *sent, *arrived;

    assert_non_null(SPMM_NEW(sent, map->n_orig));
    assert_non_null(SPMM_NEW(arrived, map->n_local));
    for (int32_t k = 0; k < map->n_orig; k++) {
        sent[k] = map->orig_offset[spmm_test_env.rank] + sent_row(map, k);
    }
    spmm_assert_ok(spmmi_alltoallv(&spmm_test_env, sent, map->send_count, arrived, map->recv_count,
                                   sizeof *sent));
    assert_memory_equal(arrived, map->orig, (size_t)map->n_local * sizeof *arrived);
    spmmi_free_all(sent, arrived);
}

static void check_translate(const spmm_layout_map_t *map, const int64_t *new_index)
{
    /* Ranks ask for different numbers of indices, with repetitions, in no order; one for none. */
    const int64_t n     = map->n_global;
    const int64_t count = n == 0 || spmm_test_env.rank == 1 ? 0 : 3 * n + spmm_test_env.rank;
    int64_t      *index;

    assert_non_null(SPMM_NEW(index, count));
    for (int64_t i = 0; i < count; i++) {
        index[i] = spmmi_below(spmmi_hash2(9, i, spmm_test_env.rank), n);
    }
    spmm_assert_ok(spmmi_layout_translate(&spmm_test_env, map, count, index));
    for (int64_t i = 0; i < count; i++) {
        const int64_t original = spmmi_below(spmmi_hash2(9, i, spmm_test_env.rank), n);

        assert_int_equal(index[i], new_index[original]);
    }
    spmmi_free(index);
}

static int32_t *local_parts(rule_t rule, const int64_t *orig_offset)
{
    const int64_t first = orig_offset[spmm_test_env.rank];
    const int64_t count = orig_offset[spmm_test_env.rank + 1] - first;
    int32_t      *part;

    assert_non_null(SPMM_NEW(part, count));
    for (int64_t i = 0; i < count; i++) {
        part[i] = part_of(rule, first + i, orig_offset);
    }
    return part;
}

static void check_layout(int64_t n, split_t split, rule_t rule, bool keep)
{
    int64_t           orig_offset[MAX_RANKS + 1], offset[MAX_RANKS + 1], *new_index;
    int32_t          *part;
    spmm_layout_map_t map;

    assert_true(spmm_test_env.size <= MAX_RANKS);
    offsets_of(n, split, orig_offset);
    part      = local_parts(rule, orig_offset);
    new_index = define(n, rule, orig_offset, offset);
    spmm_assert_ok(spmmi_layout_map_create(&spmm_test_env, orig_offset, part, keep, &map));
    assert_int_equal(map.keep, keep);
    check_map(&map, orig_offset, offset, new_index);
    if (keep) { /* nothing to list until it is asked for */
        assert_true(map.orig == NULL && map.new_index == NULL && map.send_row == NULL);
    }
    spmm_assert_ok(spmmi_layout_list(&spmm_test_env, &map));
    check_map(&map, orig_offset, offset, new_index);
    check_movement(&map);
    check_translate(&map, new_index);
    spmmi_layout_map_free(&map);
    assert_null(map.orig);
    spmmi_free_all(part, new_index);
}

static void test_layouts(void **state)
{
    const int64_t sizes[] = {0, 1, 3, 100, 1000};

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (split_t split = EVEN; split < N_SPLITS; split++) {
            for (rule_t rule = RANDOM; rule < N_RULES; rule++) {
                check_layout(sizes[s], split, rule, false);
            }
            check_layout(sizes[s], split, STAY, true);
        }
    }
}

static void test_bad_index(void **state)
{
    const int64_t     bad[] = {-1, 50};
    int64_t           orig_offset[MAX_RANKS + 1];
    int32_t          *part;
    spmm_layout_map_t map;

    offsets_of(50, EVEN, orig_offset);
    part = local_parts(RANDOM, orig_offset);
    spmm_assert_ok(spmmi_layout_map_create(&spmm_test_env, orig_offset, part, false, &map));
    for (size_t b = 0; b < 2; b++) {
        int64_t index[2] = {49, spmm_test_env.rank == 0 ? bad[b] : 0};

        spmm_assert_error(spmmi_layout_translate(&spmm_test_env, &map, 2, index), SPMM_ERR_INTERNAL,
                          NULL);
    }
    spmmi_layout_map_free(&map);
    spmmi_free(part);
}

/* Stable, and the companions follow their keys. */
static void test_sort_with(void **state)
{
    enum { N = 5000 };
    static uint64_t key[N];
    static int64_t  from[N];

    for (int wide = 0; wide < 2; wide++) {
        for (int64_t i = 0; i < N; i++) {
            key[i]  = wide ? spmmi_hash2(1, i % 900, 0) : spmmi_hash2(1, i, 0) % 300;
            from[i] = i;
        }
        spmm_assert_ok(spmmi_sort_u64_with(&spmm_test_env, key, from, N));
        for (int64_t i = 0; i < N; i++) {
            assert_true(key[i] == (wide ? spmmi_hash2(1, from[i] % 900, 0)
                                        : spmmi_hash2(1, from[i], 0) % 300));
            assert_true(i == 0 || key[i - 1] < key[i] ||
                        (key[i - 1] == key[i] && from[i - 1] < from[i]));
        }
    }
}

SPMM_TESTS(test_layouts, test_bad_index, test_sort_with);
