/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/generate/generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cpu/cpu_kernels.h"

void spmmi_shuffle_init(spmm_shuffle_t *shuffle, int64_t n, uint64_t seed, uint64_t stream)
{
    int bits = 0;

    while (bits < 63 && (int64_t)((uint64_t)1 << bits) < n) {
        bits++;
    }
    shuffle->n         = n;
    shuffle->low_bits  = bits - bits / 2;
    shuffle->low_mask  = ((uint64_t)1 << shuffle->low_bits) - 1;
    shuffle->high_mask = ((uint64_t)1 << (bits / 2)) - 1;
    for (int round = 0; round < SPMM_SHUFFLE_ROUNDS; round++) {
        shuffle->key[round] = spmmi_hash2(seed, (int64_t)stream, round);
    }
}

/* No generator is asked for more entries than this: 24 TiB of them. */
static const int64_t max_entries = (int64_t)1 << 40;

static const spmm_spec_key_t shuffle_key = {"shuffle", false, true, 0.0, 0, 1};

/* A word of the spec. */
typedef struct {
    const char *text;
    size_t      length;
} word_t;

/* Longest word of a spec that a sentence repeats. */
enum { QUOTED = 60, LIST_TEXT = 160 };

static int quoted(word_t word)
{
    return word.length > QUOTED ? QUOTED : (int)word.length;
}

/* The word up to one of @p ends; *rest stands on that character or on the final NUL. */
static word_t cut(const char *text, const char *ends, const char **rest)
{
    const word_t word = {text, strcspn(text, ends)};

    *rest = text + word.length;
    return word;
}

static bool equal(word_t word, const char *name)
{
    return strlen(name) == word.length && memcmp(word.text, name, word.length) == 0;
}

/* Append to a list in words; a list too long for its text is cut. */
static void append(char *list, const char *name)
{
    const size_t used = strlen(list);

    (void)snprintf(list + used, LIST_TEXT - used, "%s%s", used == 0 ? "" : ", ", name);
}

static spmm_status_t fail_kind(spmm_error_t *err, word_t name)
{
    char list[LIST_TEXT] = "";

    for (int k = 0; k < spmmi_n_generator_kinds; k++) {
        append(list, spmmi_generator_kinds[k]->name);
    }
    return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                      "there is no generator \"%.*s\"; there are %s, written kind:key=value,...",
                      quoted(name), name.text, list);
}

static spmm_status_t fail_key(spmm_error_t *err, const spmm_generator_kind_t *kind, word_t name)
{
    char list[LIST_TEXT] = "";

    for (int k = 0; kind->key[k].name != NULL; k++) {
        append(list, kind->key[k].name);
    }
    append(list, shuffle_key.name);
    return spmmi_fail(err, SPMM_ERR_ARGUMENT, "generator %s has no key \"%.*s\"; it has %s",
                      kind->name, quoted(name), name.text, list);
}

/* Digits only; false on anything else and on overflow. */
static bool parse_whole(word_t text, int64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.text[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(*value, (int64_t)10, value) ||
            __builtin_add_overflow(*value, (int64_t)(c - '0'), value)) {
            return false;
        }
    }
    return text.length > 0;
}

/* Digits with at most one point, 15 digits in all: their quotient by a power of ten is then
 * rounded once. */
static bool parse_real(word_t text, double *value)
{
    int64_t digits = 0, scale = 1;
    int     n_digits = 0;
    bool    point    = false;

    for (size_t i = 0; i < text.length; i++) {
        const char c = text.text[i];

        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9' || ++n_digits > 15) {
            return false;
        }
        digits = 10 * digits + (c - '0');
        scale *= point ? 10 : 1;
    }
    *value = (double)digits / (double)scale;
    return n_digits > 0;
}

/* @p pair is all of `key=value`, for the sentence. */
static spmm_status_t parse_value(spmm_error_t *err, const spmm_spec_key_t *key, word_t pair,
                                 word_t text, spmm_spec_value_t *value)
{
    if (value->given) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "\"%.*s\": %s is given twice", quoted(pair),
                          pair.text, key->name);
    }
    value->given = true;
    if (key->real ? parse_real(text, &value->real) && value->real >= (double)key->least &&
                        value->real <= (double)key->most
                  : parse_whole(text, &value->whole) && value->whole >= key->least &&
                        value->whole <= key->most) {
        return SPMM_OK;
    }
    return spmmi_fail(err, SPMM_ERR_ARGUMENT, "\"%.*s\": %s is a %s from %" PRId64 " to %" PRId64,
                      quoted(pair), pair.text, key->name,
                      key->real ? "decimal fraction" : "whole number", key->least, key->most);
}

/* One `key=value`; *rest is left behind it. */
static spmm_status_t parse_pair(spmm_error_t *err, spmm_generator_t *generator,
                                spmm_spec_value_t *shuffle, const char **rest)
{
    const spmm_generator_kind_t *kind = generator->kind;
    const word_t                 pair = cut(*rest, ",", rest);
    const char                  *at;
    const word_t                 name = cut(pair.text, "=,", &at);
    word_t                       text;
    int                          k = 0;

    if (*at != '=') {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "\"%.*s\" is not of the form key=value in the spec of generator %s",
                          quoted(pair), pair.text, kind->name);
    }
    text = (word_t){at + 1, pair.length - name.length - 1};
    if (equal(name, shuffle_key.name)) {
        return parse_value(err, &shuffle_key, pair, text, shuffle);
    }
    while (kind->key[k].name != NULL && !equal(name, kind->key[k].name)) {
        k++;
    }
    if (kind->key[k].name == NULL) {
        return fail_key(err, kind, name);
    }
    return parse_value(err, &kind->key[k], pair, text, &generator->value[k]);
}

static spmm_status_t fill_fallbacks(spmm_error_t *err, spmm_generator_t *generator)
{
    const spmm_generator_kind_t *kind = generator->kind;

    for (int k = 0; kind->key[k].name != NULL; k++) {
        spmm_spec_value_t *value = &generator->value[k];

        if (value->given) {
            continue;
        }
        if (!kind->key[k].optional) {
            return spmmi_fail(err, SPMM_ERR_ARGUMENT, "generator %s needs %s=", kind->name,
                              kind->key[k].name);
        }
        value->whole = (int64_t)kind->key[k].fallback;
        value->real  = kind->key[k].fallback;
    }
    return SPMM_OK;
}

static spmm_status_t parse_keys(spmm_error_t *err, const char *rest, spmm_generator_t *generator)
{
    spmm_spec_value_t shuffle = {0};

    while (*rest != '\0') { /* on ':' or ',', which an item must follow */
        rest++;
        SPMM_TRY(parse_pair(err, generator, &shuffle, &rest));
    }
    generator->shuffle = shuffle.whole != 0;
    return fill_fallbacks(err, generator);
}

spmm_status_t spmmi_spec_parse(spmm_error_t *err, const char *spec, uint64_t seed,
                               spmm_generator_t *generator)
{
    const char *rest;
    word_t      name;
    int64_t     entries;

    *generator = (spmm_generator_t){0};
    if (spec == NULL) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "the generator spec is NULL");
    }
    name = cut(spec, ":", &rest);
    for (int k = 0; k < spmmi_n_generator_kinds; k++) {
        if (equal(name, spmmi_generator_kinds[k]->name)) {
            generator->kind = spmmi_generator_kinds[k];
        }
    }
    if (generator->kind == NULL) {
        return fail_kind(err, name);
    }
    generator->seed = spmmi_mix64(~seed);
    SPMM_TRY(parse_keys(err, rest, generator));
    SPMM_TRY(generator->kind->shape(err, generator));
    if (__builtin_mul_overflow(generator->n_units, generator->most, &entries) ||
        entries > max_entries) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "\"%.120s\" asks for up to %" PRId64 " times %" PRId64
                          " entries; at most 2^40 in all can be generated",
                          spec, generator->n_units, generator->most);
    }
    return SPMM_OK;
}

const spmm_generator_kind_t *const spmmi_generator_kinds[] = {
    &spmmi_generator_rmat,      &spmmi_generator_uniform,   &spmmi_generator_banded,
    &spmmi_generator_stencil5,  &spmmi_generator_stencil7,  &spmmi_generator_stencil9,
    &spmmi_generator_stencil27, &spmmi_generator_molecules, &spmmi_generator_pruned,
    &spmmi_generator_xdys,
};
const int spmmi_n_generator_kinds = sizeof spmmi_generator_kinds / sizeof *spmmi_generator_kinds;

/* A rank's units are cut into this many runs of about equal length for its threads. */
enum { N_RUNS = 512 };

/* Fewer entries than this are not worth waking threads for. */
enum { PARALLEL_ENTRIES = 1 << 15 };

/* This rank's share of the work. */
typedef struct {
    const spmm_generator_t *generator;
    spmm_sink_t             sink;             /* what every run starts from */
    int64_t                 unit[N_RUNS + 1]; /* run r makes units [r] .. [r + 1] - 1 */
    int64_t                 at[N_RUNS + 1];   /* where its entries go */
} work_t;

static void cut_runs(const spmm_env_t *env, work_t *work)
{
    const int64_t n = work->generator->n_units, share = n / env->size, extra = n % env->size;
    const int64_t first = share * env->rank + (env->rank < extra ? env->rank : extra);

    spmmi_even_offsets(share + (env->rank < extra), N_RUNS, work->unit);
    for (int r = 0; r <= N_RUNS; r++) {
        work->unit[r] += first;
    }
}

/* Entries of each run into at[r + 1], then summed up. */
static void count_runs(work_t *work, int team)
{
    const spmm_generator_t *g = work->generator;

    work->at[0] = 0;
    /* most times units is below 2^40 */
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(team) if (g->most * g->n_units > PARALLEL_ENTRIES)
    for (int r = 0; r < N_RUNS; r++) {
        spmm_sink_t sink = {0};

        for (int64_t unit = work->unit[r]; !g->exact && unit < work->unit[r + 1]; unit++) {
            g->kind->emit(g, unit, &sink);
        }
        work->at[r + 1] = g->exact ? (work->unit[r + 1] - work->unit[r]) * g->most : sink.count;
    }
    for (int r = 0; r < N_RUNS; r++) {
        work->at[r + 1] += work->at[r];
    }
}

static void fill_runs(const work_t *work, int team, spmm_entry_t *entry)
{
    const spmm_generator_t *g = work->generator;

#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(team) if (work->at[N_RUNS] > PARALLEL_ENTRIES)
    for (int r = 0; r < N_RUNS; r++) {
        spmm_sink_t sink = work->sink;

        sink.entry = entry + work->at[r];
        for (int64_t unit = work->unit[r]; unit < work->unit[r + 1]; unit++) {
            g->kind->emit(g, unit, &sink);
        }
    }
}

/* This rank's entries; local. */
static spmm_status_t make_entries(spmm_env_t *env, const spmm_generator_t *g, spmm_entries_t *list)
{
    const int      team = spmmi_cpu_team(env->threads);
    work_t         work = {.generator = g};
    spmm_shuffle_t row, col;

    if (g->shuffle) {
        spmmi_shuffle_init(&row, g->rows, g->seed, 1);
        spmmi_shuffle_init(&col, g->cols, g->seed, g->rows == g->cols ? 1 : 2);
        work.sink = (spmm_sink_t){.row = &row, .col = &col};
    }
    cut_runs(env, &work);
    count_runs(&work, team);
    list->count = list->capacity = work.at[N_RUNS];
    if (SPMM_NEW(list->entry, list->count) == NULL) {
        return spmmi_fail_memory(&env->err, list->count, sizeof *list->entry, "generated entries");
    }
    fill_runs(&work, team, list->entry);
    return SPMM_OK;
}

/* The rows must find room on the ranks before any time is spent on them. */
static spmm_status_t check_size(spmm_env_t *env, const spmm_generator_t *g)
{
    const int64_t most = (int64_t)env->size * INT32_MAX;

    if (g->rows > most || g->cols > most) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a matrix of %" PRId64 " x %" PRId64
                          " leaves some of %d ranks more than 2147483647 rows or columns; use more "
                          "ranks",
                          g->rows, g->cols, env->size);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_matrix_from_spec(spmm_env_t *env, const char *spec, spmm_type_t type,
                                     uint64_t seed, spmm_matrix_t **A)
{
    spmm_generator_t generator;
    spmm_entries_t   list = {0};
    spmm_status_t    status;

    status = spmmi_agree(env, spmmi_spec_parse(&env->err, spec, seed, &generator));
    if (status == SPMM_OK) {
        status = check_size(env, &generator);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, make_entries(env, &generator, &list));
    }
    if (status == SPMM_OK) {
        status = spmmi_assemble(env, generator.rows, generator.cols, &list, SPMM_DUPLICATES_DROP,
                                seed, type == SPMM_TYPE_AUTO ? SPMM_R_64F : type, A);
    }
    spmmi_entries_free(&list);
    return status;
}
