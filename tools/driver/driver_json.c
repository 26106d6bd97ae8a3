/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_doctor.h"
#include "driver_report.h"
#include "driver_scale.h"

#ifndef DRIVER_HAVE_CJSON

int driver_write_json(driver_job_t *job, const driver_options_t *options,
                      const driver_report_t *report, const driver_picture_t *picture)
{
    (void)report;
    (void)picture;
    return driver_fail(job, DRIVER_OTHER, "cannot write %s: spmm_dist was built without cJSON",
                       options->json);
}

int driver_write_checkup(driver_job_t *job, const char *path, const driver_checkup_t *checkup)
{
    (void)checkup;
    return driver_fail(job, DRIVER_OTHER, "cannot write %s: spmm_dist was built without cJSON",
                       path);
}

int driver_write_scale(driver_job_t *job, const driver_options_t *options,
                       const spmm_scale_info_t *info)
{
    (void)info;
    return driver_fail(job, DRIVER_OTHER, "cannot write %s: spmm_dist was built without cJSON",
                       options->json);
}

#else

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"

/* cJSON frees what it could not add and returns NULL; `ok` gathers that, so that a document that
 * lacks a member is never written. */

/** Bytes of the character of UTF-8 that @p at begins with, 0 where it is none (RFC 3629). */
static int utf8_length(const unsigned char *at)
{
    const int length = at[0] < 0x80                    ? 1
                       : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                       : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                       : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                       : 0;

    for (int k = 1; k < length; k++) {
        if ((at[k] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Longer than need be, half of a pair, beyond the last. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) {
        return 0;
    }
    return length;
}

/** A file name is any bytes, JSON is UTF-8: cJSON escapes quotes and control characters and copies
 *  the rest, so what is no character becomes a question mark here. */
static void add_text(cJSON *object, const char *key, const char *text, bool *ok)
{
    const size_t   size = strlen(text) + 1;
    unsigned char *copy = malloc(size);

    if (copy != NULL) {
        memcpy(copy, text, size);
        for (unsigned char *at = copy; *at != '\0';) {
            const int length = utf8_length(at);

            *at = length == 0 ? '?' : *at;
            at += length == 0 ? 1 : length;
        }
    }
    *ok = copy != NULL && cJSON_AddStringToObject(object, key, (const char *)copy) != NULL && *ok;
    free(copy);
}

/** JSON has no NaN and no infinity: they become null. */
static void add_real(cJSON *object, const char *key, double value, bool *ok)
{
    *ok = (isfinite(value) ? cJSON_AddNumberToObject(object, key, value)
                           : cJSON_AddNullToObject(object, key)) != NULL &&
          *ok;
}

/** Exact also above 2^53, which cJSON's numbers are not. */
static void add_int(cJSON *object, const char *key, int64_t value, bool *ok)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    *ok = cJSON_AddRawToObject(object, key, digits) != NULL && *ok;
}

static void add_bool(cJSON *object, const char *key, bool value, bool *ok)
{
    *ok = cJSON_AddBoolToObject(object, key, value) != NULL && *ok;
}

static void add_problem(cJSON *root, const driver_options_t *o, const driver_report_t *r, bool *ok)
{
    cJSON *matrix = cJSON_AddObjectToObject(root, "matrix");
    char   seed[24], digest[24];

    add_text(matrix, "source", o->matrix != NULL ? o->matrix : o->generate, ok);
    (void)snprintf(digest, sizeof digest, "%016" PRIx64, r->matrix.digest);
    if (o->matrix != NULL) {
        add_text(matrix, "digest", digest, ok);
    } else { /* the generator and the seed say what it is */
        *ok = cJSON_AddNullToObject(matrix, "digest") != NULL && *ok;
    }
    add_int(matrix, "rows", r->matrix.rows, ok);
    add_int(matrix, "cols", r->matrix.cols, ok);
    add_int(matrix, "nnz", r->matrix.nnz, ok);
    add_int(root, "columns", o->columns, ok);
    add_text(root, "type", driver_type_name(o->type), ok);
    add_text(root, "compute", driver_compute_name(driver_compute_resolve(o)), ok);
    add_text(root, "layout", o->layout == SPMM_LAYOUT_COL ? "col" : "row", ok);
    add_text(root, "op", driver_op_name(o->op), ok);
    add_real(root, "alpha", o->alpha, ok);
    add_real(root, "beta", o->beta, ok);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, o->seed);
    *ok = cJSON_AddRawToObject(root, "seed", seed) != NULL && *ok;
    add_int(root, "ranks", r->context.size, ok);
    add_int(root, "nodes", r->context.nodes, ok);
    add_text(root, "device", r->context.device, ok);
    add_text(root, "device_name", r->context.device_name, ok);
}

static void add_flow(cJSON *root, const char *key, const spmm_flow_t *flow, bool *ok)
{
    cJSON *object = cJSON_AddObjectToObject(root, key);

    add_int(object, "rows_total", flow->rows, ok);
    add_int(object, "rows_max", flow->rows_max, ok);
    add_int(object, "bytes_total", flow->bytes, ok);
    add_int(object, "bytes_max", flow->bytes_max, ok);
    add_int(object, "messages_total", flow->messages, ok);
    add_int(object, "messages_max", flow->messages_max, ok);
}

static void add_plan(cJSON *root, const driver_report_t *r, bool *ok)
{
    cJSON                   *partition = cJSON_AddObjectToObject(root, "partition");
    cJSON                   *halo      = cJSON_AddObjectToObject(root, "halo");
    cJSON                   *memory    = cJSON_AddObjectToObject(root, "memory");
    const spmm_plan_stats_t *s         = &r->stats;

    add_text(partition, "method", s->partition, ok);
    add_real(partition, "imbalance", s->imbalance, ok);
    add_int(halo, "rows_total", s->halo_rows_total, ok);
    add_int(halo, "rows_max", s->halo_rows_max, ok);
    add_int(halo, "block_rows_total", s->block_halo_rows_total, ok);
    add_int(halo, "allgather_rows_total", s->allgather_rows_total, ok);
    add_int(halo, "bytes_total", r->recv_bytes_total, ok);
    add_flow(root, "within_nodes", &s->within, ok);
    add_flow(root, "between_nodes", &s->between, ok);
    add_int(memory, "host_bytes_max", (int64_t)r->host_bytes_max, ok);
    add_int(memory, "device_bytes_max", (int64_t)r->device_bytes_max, ok);
    add_text(root, "engine", r->engine, ok);
    add_text(root, "halo_engine", r->halo_engine, ok);
    add_text(root, "reordering", s->reordering, ok);
    add_text(root, "schedule", s->schedule, ok);
    add_int(root, "chunks", s->chunks, ok);
    add_text(root, "transport", s->transport != NULL ? s->transport : "", ok);
    add_text(root, "exchange", s->exchange != NULL ? s->exchange : "", ok);
}

/** time.NAME_ms is the largest over ranks; total_ms the median over iterations of the slowest. */
static void add_times(cJSON *root, const driver_options_t *o, const driver_report_t *r, bool *ok)
{
    cJSON *time = cJSON_AddObjectToObject(root, "time");

    add_int(time, "iterations", o->iterations, ok);
    add_real(time, "pack_ms", 1e3 * r->phase[DRIVER_PACK].max, ok);
    add_real(time, "exchange_ms", 1e3 * r->phase[DRIVER_EXCHANGE].max, ok);
    add_real(time, "local_ms", 1e3 * r->phase[DRIVER_LOCAL].max, ok);
    add_real(time, "halo_ms", 1e3 * r->phase[DRIVER_HALO].max, ok);
    add_real(time, "total_ms", 1e3 * r->total_s, ok);
    add_real(time, "input_s", r->input_s, ok);
    add_real(time, "partition_s", r->stats.partition_s, ok);
    add_real(time, "build_s", r->stats.build_s, ok);
    add_real(time, "reorder_s", r->stats.reorder_s, ok);
    add_real(root, "overlap", r->overlap, ok);
    add_real(root, "gflops", r->gflops, ok);
}

static void add_verdict(cJSON *root, const driver_report_t *r, bool *ok)
{
    cJSON *verify;

    if (!r->verified) {
        *ok = cJSON_AddNullToObject(root, "verify") != NULL && *ok;
        return;
    }
    verify = cJSON_AddObjectToObject(root, "verify");
    add_real(verify, "max_error", r->verdict.max_error, ok);
    add_real(verify, "bound", r->tolerance, ok);
    add_bool(verify, "passed", r->passed, ok);
    add_int(verify, "compared", r->verdict.compared, ok);
    add_int(verify, "out_of_range", r->verdict.out_of_range, ok);
}

/** Write @p root to @p path and free it.  @p ok: nothing of it is missing. */
static int write_root(driver_job_t *job, const char *path, cJSON *root, bool ok)
{
    char         *text = ok ? cJSON_Print(root) : NULL;
    spmm_output_t out;
    int           code;

    if (text == NULL) {
        code = driver_fail(job, DRIVER_OTHER, "out of memory for the JSON report");
    } else {
        code = driver_check_write(job, path, spmmi_output_open(&out, path, SPMM_OUTPUT_FOLLOW));
    }
    if (code == DRIVER_GOOD) {
        /* A long text is not kept in the stream: what failed shows here alone. */
        const int error  = fprintf(out.stream, "%s\n", text) < 0 ? errno : 0;
        const int closed = spmmi_output_close(&out, error == 0);

        code = driver_check_write(job, path, error != 0 ? error : closed);
    }
    cJSON_free(text);
    cJSON_Delete(root);
    return code;
}

int driver_write_checkup(driver_job_t *job, const char *path, const driver_checkup_t *checkup)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(root, "checks");
    bool   ok   = list != NULL;

    add_text(root, "version", spmm_version(), &ok);
    add_int(root, "ranks", job->size, &ok);
    for (int k = 0; k < checkup->count && ok; k++) {
        const driver_finding_t *f    = &checkup->finding[k];
        cJSON                  *item = cJSON_CreateObject();

        add_text(item, "topic", f->topic, &ok);
        add_text(item, "state", driver_state_name(f->state), &ok);
        add_text(item, "text", f->text, &ok);
        add_text(item, "advice", f->advice, &ok);
        ok = cJSON_AddItemToArray(list, item) && ok;
    }
    return write_root(job, path, root, ok);
}

int driver_write_scale(driver_job_t *job, const driver_options_t *options,
                       const spmm_scale_info_t *info)
{
    cJSON *root  = cJSON_CreateObject();
    cJSON *cases = cJSON_AddArrayToObject(root, "cases");
    bool   ok    = cases != NULL;

    add_text(root, "version", spmm_version(), &ok);
    add_text(root, "matrix", options->matrix != NULL ? options->matrix : options->generate, &ok);
    add_int(root, "columns", options->columns, &ok);
    add_text(root, "type", driver_type_name(options->type), &ok);
    for (int k = 0; k < options->scale.n && ok; k++) {
        cJSON *item = cJSON_CreateObject();
        cJSON *rows = cJSON_AddArrayToObject(item, "rows");

        add_int(item, "ranks", options->scale.ranks[k], &ok);
        add_int(item, "nodes", info[k].nodes, &ok);
        add_text(item, "partition", info[k].partition, &ok);
        for (int w = 0; w < SCALE_WAYS && ok; w++) {
            const scale_way_t way = driver_scale_way(&info[k], w);
            cJSON            *row = cJSON_CreateObject();

            add_text(row, "exchange", way.exchange, &ok);
            add_flow(row, "between_nodes", way.between, &ok);
            ok = cJSON_AddItemToArray(rows, row) && ok;
        }
        ok = cJSON_AddItemToArray(cases, item) && ok;
    }
    return write_root(job, options->json, root, ok);
}

/** An array of whole numbers, which a double holds exactly up to 2^53. */
static cJSON *integers(const int64_t *values, int64_t n, bool *ok)
{
    cJSON *array = cJSON_CreateArray();

    for (int64_t k = 0; k < n && *ok; k++) {
        *ok = cJSON_AddItemToArray(array, cJSON_CreateNumber((double)values[k]));
    }
    *ok = array != NULL && *ok;
    return array;
}

static void add_integers(cJSON *object, const char *key, const int64_t *values, int64_t n, bool *ok)
{
    *ok = cJSON_AddItemToObject(object, key, integers(values, n, ok)) && *ok;
}

static void add_ints(cJSON *object, const char *key, const int *values, int n, bool *ok)
{
    *ok = cJSON_AddItemToObject(object, key, cJSON_CreateIntArray(values, n)) && *ok;
}

/** @p values [rows][columns], an array of arrays. */
static void add_table(cJSON *object, const char *key, const int64_t *values, int rows, int columns,
                      bool *ok)
{
    cJSON *table = cJSON_AddArrayToObject(object, key);

    for (int i = 0; i < rows && *ok; i++) {
        *ok = cJSON_AddItemToArray(table, integers(values + (int64_t)i * columns, columns, ok)) &&
              *ok;
    }
    *ok = table != NULL && *ok;
}

static cJSON *spans_of(const driver_picture_t *x, int rank, bool *ok)
{
    cJSON *array = cJSON_CreateArray();

    for (int k = 0; k < x->n_spans[rank] && *ok; k++) {
        const spmm_span_t *s    = &x->spans[rank * SPMM_MOST_SPANS + k];
        cJSON             *span = cJSON_CreateObject();

        add_text(span, "phase", s->phase, ok);
        add_int(span, "chunk", s->chunk, ok);
        add_real(span, "from_s", s->from_s, ok);
        add_real(span, "to_s", s->to_s, ok);
        *ok = cJSON_AddItemToArray(array, span) && *ok;
    }
    return array;
}

static void add_picture(cJSON *root, const driver_picture_t *x, bool *ok)
{
    cJSON *picture, *spans;

    if (x->ranks == 0) {
        *ok = cJSON_AddNullToObject(root, "picture") != NULL && *ok;
        return;
    }
    picture = cJSON_AddObjectToObject(root, "picture");
    add_integers(picture, "rows", x->row.rows, x->ranks, ok);
    add_integers(picture, "columns", x->col.rows, x->ranks, ok);
    add_ints(picture, "first_row_cell", x->row.first, x->ranks + 1, ok);
    add_ints(picture, "first_column_cell", x->col.first, x->ranks + 1, ok);
    add_table(picture, "cells", x->entries, x->row.cells, x->col.cells, ok);
    add_ints(picture, "nodes", x->node, x->ranks, ok);
    add_table(picture, "traffic", x->traffic, x->ranks, x->ranks, ok);
    spans = cJSON_AddArrayToObject(picture, "spans");
    for (int p = 0; p < x->ranks && *ok; p++) {
        *ok = cJSON_AddItemToArray(spans, spans_of(x, p, ok)) && *ok;
    }
}

int driver_write_json(driver_job_t *job, const driver_options_t *options,
                      const driver_report_t *report, const driver_picture_t *picture)
{
    cJSON *root = cJSON_CreateObject();
    bool   ok   = root != NULL;

    add_text(root, "version", spmm_version(), &ok);
    add_problem(root, options, report, &ok);
    add_plan(root, report, &ok);
    add_times(root, options, report, &ok);
    add_verdict(root, report, &ok);
    add_picture(root, picture, &ok);
    return write_root(job, options->json, root, ok);
}

#endif
