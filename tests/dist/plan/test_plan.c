/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 4 AS nodes ENV SPMM_TEST_RANKS_PER_NODE=2 */
/* test: RANKS 1 2 4 DEVICE cuda */
/* test: RANKS 4 DEVICE cuda AS cuda_nodes ENV SPMM_TEST_RANKS_PER_NODE=2 */
/** @file test_plan.c
 *  Products of whole plans against the dense FP64 product: op, types, layout, partition, engine,
 *  order of rows, schedule, width and factors, from one table; every engine in every mode over the
 *  range of its type; and mistakes.  test_mixed.c draws the options that are not here.
 */
#include "plan_case.h"

/** Order of exchange and products, and parts of columns. */
typedef struct {
    const char *schedule;
    const char *chunks;
} way_t;

typedef struct {
    int64_t n, planned_n, pad;
} width_t;

/** Of A, C and B; AUTO as in the options. */
typedef spmm_type_t types_t[3];

/** Lists that are crossed, each ended by zeros; without one the default is taken. */
typedef struct {
    const char    *name;
    const shape_t *shapes;
    types_t        types[11];
    const char    *ops, *layouts; /* letters */
    const char    *partitions[4], *engines[4], *reorders[5];
    way_t          ways[5];
    width_t        widths[5];
    int            every; /* of the products one in so many, prime to the lengths of the lists */
    product_t      rest;  /* where alpha is 0, factors are drawn */
} sweep_t;

static const shape_t square[] = {{61, 61, 5, 17}, {0}};
/* Ranks without rows, blocks without entries, more rows than columns and the other way. */
static const shape_t shapes[] = {{50, 23, 4, -1},
                                 {23, 70, 4, 5},
                                 {2, 2, 1, -1},
                                 {1, 90, 2, -1},
                                 {90, 1, 2, -1},
                                 {30, 30, 0, -1},
                                 {0, 0, 0, -1},
                                 {0, 12, 0, -1},
                                 {12, 0, 0, -1},
                                 {64, 64, 40, 0},
                                 {33, 33, 1, -1},
                                 {2, 3, 1, -1},
                                 {0}};
static const shape_t orders[] = {{130, 130, 7, 17}, {70, 41, 6, -1}, {3, 3, 2, -1}, {0}};
static const shape_t full[]   = {{60, 60, 1, -1}, {90, 90, 90, 0}, {0}};
static const shape_t small[]  = {{40, 40, 1, -1}, {0}};

#define WAYS                                                                                       \
    {                                                                                              \
        {"overlap", "1"}, {"overlap", "2"}, {"overlap", "4"},                                      \
        {                                                                                          \
            "merged", "1"                                                                          \
        }                                                                                          \
    }
#define HALFS                                                                                      \
    {                                                                                              \
        {SPMM_R_16F}, {SPMM_R_16BF}, {SPMM_R_16F, SPMM_R_32F},                                     \
        {                                                                                          \
            SPMM_R_16BF, SPMM_R_32F                                                                \
        }                                                                                          \
    }

static const sweep_t sweeps[] = {
    {.name       = "types",
     .shapes     = square,
     .types      = {{SPMM_R_64F},
                    {SPMM_R_32F},
                    {SPMM_R_16F},
                    {SPMM_R_16BF},
                    {SPMM_C_64F},
                    {SPMM_C_32F},
                    {SPMM_R_16F, SPMM_R_32F},
                    {SPMM_R_16BF, SPMM_R_32F},
                    {SPMM_R_64F, SPMM_TYPE_AUTO, SPMM_C_64F},
                    {SPMM_R_32F, SPMM_TYPE_AUTO, SPMM_C_32F}},
     .ops        = "NTH",
     .layouts    = "RC",
     .partitions = {"keep", "block", "auto"},
     .widths     = {{6, 9, 0}},
     .every      = 1},
    {.name       = "shapes",
     .shapes     = shapes,
     .types      = {{SPMM_R_64F}},
     .ops        = "NT",
     .layouts    = "RC",
     .partitions = {"keep", "block", "auto"},
     .widths     = {{70, 70, 2}},
     .every      = 1},
    {.name       = "all rows on one rank, all of B on another",
     .shapes     = shapes,
     .types      = {{SPMM_R_64F}},
     .ops        = "NT",
     .partitions = {"keep", "block", "auto"},
     .widths     = {{1, 1, 0}, {5, 6, 1}},
     .every      = 5,
     .rest       = {.apart = true}},
    {.name       = "32-bit indices",
     .shapes     = shapes,
     .types      = {{SPMM_R_64F}, {SPMM_R_32F}, {SPMM_R_16F}, {SPMM_R_16BF}},
     .ops        = "NT",
     .partitions = {"block", "keep"},
     .widths     = {{5, 5, 0}},
     .every      = 5,
     .rest       = {.narrow = true}},
    {.name       = "engines that convert column-major B and C",
     .shapes     = shapes,
     .types      = {{SPMM_R_32F}},
     .ops        = "NT",
     .layouts    = "C",
     .partitions = {"keep", "block", "auto"},
     .engines    = {"bittcf", "hrpb"},
     .widths     = {{6, 9, 3}, {67, 70, 0}},
     .every      = 5},
    {.name       = "the same in FP64",
     .shapes     = shapes,
     .types      = {{SPMM_R_64F}},
     .ops        = "NT",
     .layouts    = "C",
     .partitions = {"keep", "block", "auto"},
     .engines    = {"dmma"},
     .widths     = {{6, 9, 3}, {67, 70, 0}},
     .every      = 5},
    {.name       = "orders of rows",
     .shapes     = orders,
     .types      = {{SPMM_R_32F}},
     .ops        = "NT",
     .layouts    = "RC",
     .partitions = {"keep", "auto"},
     .engines    = {"auto", "bittcf", "hrpb"},
     .reorders   = {"none", "affinity", "sorted", "auto"},
     .ways       = {{"auto", NULL}, {"overlap", "2"}, {"merged", "1"}},
     .widths     = {{5, 6, 1}},
     .every      = 11},
    {.name       = "schedules",
     .shapes     = square,
     .types      = {{SPMM_R_32F}, {SPMM_C_64F}, {SPMM_R_64F}, {SPMM_C_32F}, {SPMM_R_16F}},
     .ops        = "NTH",
     .layouts    = "RC",
     .partitions = {"keep", "block"},
     .ways       = WAYS,
     .widths     = {{1, 1, 0}, {33, 40, 0}, {128, 128, 5}, {64, 128, 0}},
     .every      = 7},
    {.name   = "shapes of schedules",
     .shapes = shapes,
     .types  = {{SPMM_R_64F}},
     .ways   = WAYS,
     .widths = {{6, 9, 0}},
     .every  = 1},
    {.name    = "16 bits that do not hold sums of a part of a row",
     .shapes  = full,
     .types   = HALFS,
     .ops     = "NTH",
     .layouts = "RC",
     .ways    = WAYS,
     .widths  = {{9, 16, 1}, {8, 16, 3}},
     .every   = 5,
     .rest    = {.values = VALUES_CANCEL}},
    {.name    = "alpha A B beyond the range of FP16, with beta C not",
     .shapes  = small,
     .types   = HALFS,
     .ops     = "NTH",
     .layouts = "RC",
     .ways    = WAYS,
     .widths  = {{9, 16, 1}},
     .every   = 5,
     .rest    = {.values = VALUES_EQUAL, .alpha = 1.0, .beta = -4.0}},
    {.name       = "reproducible",
     .shapes     = shapes,
     .types      = {{SPMM_R_64F},
                    {SPMM_R_32F},
                    {SPMM_R_16F},
                    {SPMM_R_16BF, SPMM_R_32F},
                    {SPMM_C_64F},
                    {SPMM_C_32F},
                    {SPMM_R_64F, SPMM_TYPE_AUTO, SPMM_C_64F}},
     .ops        = "NTH",
     .layouts    = "RC",
     .partitions = {"keep", "block"},
     .widths     = {{6, 9, 2}},
     .every      = 13,
     .rest       = {.o.reproducible = 1}},
    {.name    = "reproducible in 16 bits",
     .shapes  = full,
     .types   = HALFS,
     .ops     = "NTH",
     .layouts = "RC",
     .widths  = {{9, 16, 1}},
     .every   = 1,
     .rest    = {.values = VALUES_CANCEL, .o.reproducible = 1}},
};

/* Elements of a list of at most so many, by the digits of *v: a number below how many there are. */
static int take(int64_t *v, const void *list, size_t size, int most)
{
    static const char zeros[sizeof(shape_t)];
    int               count = 0, k;

    while (count < most && memcmp((const char *)list + (size_t)count * size, zeros, size) != 0) {
        count++;
    }
    count = count > 0 ? count : 1;
    k     = (int)(*v % count);
    *v /= count;
    return k;
}

#define TAKE(v, list) (list)[take(v, list, sizeof(list)[0], (int)(sizeof(list) / sizeof(list)[0]))]

static char take_letter(int64_t *v, const char *letters)
{
    return letters == NULL ? '\0' : letters[take(v, letters, 1, 9)];
}

static const char *word(const char *name)
{
    return name == NULL ? "auto" : name;
}

static product_t product_of(const sweep_t *w, int64_t v, const shape_t **shape, int64_t *left)
{
    static const double betas[] = {0.0, -0.5, 1.0}, alphas[] = {1.5, -1.0};
    static char         tuning[80];
    const int64_t       number = v;
    const spmm_type_t  *types  = TAKE(&v, w->types);
    const char          op     = take_letter(&v, w->ops);
    product_t           p      = w->rest;
    const char         *order;
    way_t               way;
    width_t             width;

    p.type     = types[0];
    p.o.c_type = types[1];
    p.o.b_type = types[2];
    p.o.op     = op == 'T' ? SPMM_OP_T : op == 'H' ? SPMM_OP_H : SPMM_OP_N;
    p.o.layout = take_letter(&v, w->layouts) == 'C' ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
    p.o.engine = TAKE(&v, w->engines);
    order      = TAKE(&v, w->reorders);
    way        = TAKE(&v, w->ways);
    (void)snprintf(tuning, sizeof tuning, "order=%s,schedule=%s,chunks=%s", word(order),
                   word(way.schedule), word(way.chunks));
    p.o.tuning    = tuning;
    width         = TAKE(&v, w->widths);
    p.n           = width.n;
    p.planned_n   = width.planned_n;
    p.pad         = width.pad;
    p.o.partition = TAKE(&v, w->partitions);
    *shape        = &w->shapes[take(&v, w->shapes, sizeof *w->shapes, 99)];
    *left         = v;
    if (p.alpha == 0.0) {
        const bool turns = spmmi_is_complex(p.type);

        p.alpha = alphas[number / w->every % 2] - (turns ? 0.25 * I : 0.0);
        p.beta  = betas[number / w->every % 3] * (turns && number % 2 == 0 ? I : 1.0);
    }
    return p;
}

/* Complex blocks of a real matrix lie by rows, and one format for all rows is for op N by rows. */
static bool goes_together(const product_t *p)
{
    const bool by_rows = p->o.layout == SPMM_LAYOUT_ROW;

    return (p->o.b_type == SPMM_TYPE_AUTO || by_rows) &&
           (strstr(p->o.tuning, "schedule=merged") == NULL || (p->o.op == SPMM_OP_N && by_rows));
}

static void test_products(void **state)
{
    const bool plain = test_context_tuning(NULL)[0] == '\0';

    for (size_t k = 0; k < sizeof sweeps / sizeof sweeps[0]; k++) {
        const int every = sweeps[k].every * (plain || sweeps[k].ways[0].schedule != NULL ? 1 : 7);
        int64_t   left  = 0;
        int       run   = 0;

        for (int64_t v = 0; left == 0; v += every) {
            const shape_t  *shape;
            const product_t p = product_of(&sweeps[k], v, &shape, &left);

            if (left == 0 && goes_together(&p)) {
                plan_case_label("%s, %d", sweeps[k].name, run);
                (void)check_plan(shape, &p);
                run++;
            }
        }
        assert_true(run > (plain ? 10 : 2));
    }
}

/* Sums of 16 bits that cancel, by each transport that may be used. */
static void test_transports(void **state)
{
    const sweep_t         sweep = {.shapes  = full,
                                   .types   = HALFS,
                                   .ops     = "NTH",
                                   .layouts = "RC",
                                   .ways    = WAYS,
                                   .widths  = {{9, 16, 1}},
                                   .every   = 5,
                                   .rest    = {.values = VALUES_CANCEL, .may_refuse = true}};
    spmm_component_info_t info  = {.struct_size = sizeof info};

    for (int t = 0; spmm_transport_info(t, &info) == SPMM_OK; t++) {
        int made = 0;

        for (int64_t v = 0; v < 4 * 3 * 2 * 4; v += sweep.every) {
            const shape_t *shape;
            int64_t        left;
            product_t      p = product_of(&sweep, v, &shape, &left);

            p.o.transport = info.name;
            made += goes_together(&p) && check_plan(shape, &p);
        }
        print_message("%d plans over %s\n", made, info.name);
        assert_true(made > 10 || strcmp(info.name, "mpi-host") != 0);
    }
}

/* Every engine in every mode that it takes: over the range of the type, with Inf and NaN in B, with
 * denormals, with alpha = 0, and with equal bits from plan to plan. */
static void test_engines(void **state)
{
    static const struct {
        spmm_type_t    type;
        spmm_compute_t compute;
    } modes[]                         = {{SPMM_R_64F, SPMM_COMPUTE_64F},
                                         {SPMM_R_32F, SPMM_COMPUTE_32F},
                                         {SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32},
                                         {SPMM_R_16F, SPMM_COMPUTE_32F},
                                         {SPMM_R_16BF, SPMM_COMPUTE_32F}};
    static const product_t products[] = {
        {.alpha = 1.0, .values = VALUES_WIDE},
        {.alpha = -0.75, .beta = 2.0, .values = VALUES_WIDE, .o.layout = SPMM_LAYOUT_COL},
        {.alpha = 1.0, .beta = -1.0, .values = VALUES_WIDE, .o.op = SPMM_OP_T},
        {.alpha = 1.0, .values = VALUES_SPOILED},
        {.alpha = 1.0, .beta = 1.0, .values = VALUES_SPOILED, .o.op = SPMM_OP_T},
        {.alpha = 1.0, .values = VALUES_DENORMAL},
        {.alpha = 0.0, .values = VALUES_WIDE},
        {.alpha = 0.0, .beta = -2.0, .values = VALUES_WIDE},
        {.alpha = 2.0, .beta = 1e-60, .values = VALUES_WIDE}, /* in FP32 0: C is not read */
        {.alpha = 1.0, .values = VALUES_WIDE, .o.deterministic = 1},
        {.alpha  = 1.0,
         .beta   = 1.0,
         .values = VALUES_WIDE,
         .o      = {.op = SPMM_OP_T, .deterministic = 1}}};
    const shape_t         shape = {90, 90, 6, 40};
    spmm_component_info_t info  = {.struct_size = sizeof info};

    for (size_t k = 0; k < sizeof products / sizeof products[0]; k++) {
        for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
            int found = 0;

            for (int e = 0; spmm_engine_info(e, &info) == SPMM_OK; e++) {
                product_t p = products[k];

                p.type              = modes[m].type;
                p.n                 = 37;
                p.pad               = 3;
                p.may_refuse        = true;
                p.o.compute         = modes[m].compute;
                p.o.engine          = info.name;
                p.o.tuning          = "order=none,measure=no";
                p.o.exact_nonfinite = p.values == VALUES_SPOILED; /* or padding gets NaN */
                found += info.built && check_plan(&shape, &p);
            }
            assert_true(found > 0);
        }
    }
}

/* Nothing that was allocated for a context, matrices and plans outlives them. */
static void test_no_leak(void **state)
{
    const shape_t shape = {61, 61, 5, 17};
    int64_t       live;

    close_context();
    live = spmmi_alloc_get_stats().live;
    open_context();
    (void)check_plan(
        &shape,
        &(product_t){.type  = SPMM_R_32F,
                     .n     = 3,
                     .alpha = 1.0,
                     .o     = {.op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL, .partition = "auto"}});
    close_context();
    assert_true(spmmi_alloc_get_stats().live == live);
}

PLAN_TESTS(test_products, test_transports, test_engines, test_no_leak);
