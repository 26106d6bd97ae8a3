/* SPDX-License-Identifier: Apache-2.0 */
#include "dist_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver_parse.h"
#include "plan/create/tuning_options.h"

void dist_print_help(FILE *out)
{
    (void)fputs(
        "usage: mpirun -n GPUS bench_dist (--matrix FILE | --generate SPEC)... [options]\n"
        "Time distributed products against NCCL allgather + cuSPARSE and needed rows + cuSPARSE "
        "on\n"
        "the same partition, in the same run: one row for each matrix, width and variant.\n\n"
        "  --columns N,N,...    columns of B and C [128]\n"
        "  --type TYPE          64f, 32f, 16f or 16bf [32f]\n"
        "  --compute MODE       64f, 32f or 32f-fast-tf32 [by type]\n"
        "  --partition METHOD   of every matrix without a file below [block]\n"
        "  --partition-dir DIR  take DIR/NAME.RANKS.part or .part.gz where it is there; NAME is "
        "the\n"
        "                       file's without its ending, or the spec with - for : and ,\n"
        "  --variant LIST       a plan to time: auto, or any of engine=, transport=, graph=1 and\n"
        "                       keys of option tuning with commas between; may be given again\n"
        "                       [auto]\n",
        out);
    spmmi_tuning_options_help(out, 23);
    (void)fputs(
        "  --no-baselines       time the variants only\n"
        "  --iterations K       timed products, the median counts [20]\n"
        "  --executes K         products in which the variants' plan time is to pay [1000]\n"
        "  --set NAME           first column of every row [-]\n"
        "  --out FILE, --append write or add to FILE instead of the standard output\n\n"
        "bench/README.md describes the columns.\n"
        "exit codes: 0 good, 2 usage, 3 matrix input, 4 other, 5 an error above its bound\n",
        out);
}

static int refuse(driver_job_t *job, const char *option, const char *text)
{
    return driver_fail(job, DRIVER_USAGE, "--%s does not take \"%.100s\"; see bench_dist --help",
                       option, text);
}

static int parse_widths(driver_job_t *job, const char *text, void *to)
{
    dist_options_t *o = to;

    o->n_widths = tool_read_widths(text, 1, o->width, DIST_MANY);
    return o->n_widths > 0 ? DRIVER_GOOD : refuse(job, "columns", text);
}

static int set_key(driver_job_t *job, dist_variant_t *v, const char *key, const char *value)
{
    if (strcmp(key, "engine") == 0) {
        v->engine = value;
    } else if (strcmp(key, "transport") == 0) {
        v->transport = value;
    } else if (strcmp(key, "graph") == 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)) {
        v->graph = value[0] == '1';
    } else {
        const size_t used = strlen(v->keys);

        (void)snprintf(v->keys + used, sizeof v->keys - used, "%s%s=%s", used > 0 ? "," : "", key,
                       value);
        return driver_parse_tuning(job, v->keys, &v->tuning);
    }
    return DRIVER_GOOD;
}

static int add_variant(driver_job_t *job, const char *text, void *to)
{
    dist_options_t *o = to;
    dist_variant_t *v;
    char           *rest;

    if (o->n_variants == DIST_MANY || strlen(text) >= DIST_TEXT) {
        return refuse(job, "variant", text);
    }
    v       = &o->variant[o->n_variants++];
    v->name = text;
    if (strcmp(text, "auto") == 0) {
        return DRIVER_GOOD;
    }
    memcpy(v->text, text, strlen(text) + 1);
    for (char *word = strtok_r(v->text, ",", &rest); word != NULL;
         word       = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');
        int   code;

        if (value == NULL) {
            return refuse(job, "variant", text);
        }
        *value++ = '\0';
        code     = set_key(job, v, word, value);
        if (code != DRIVER_GOOD) {
            return code;
        }
    }
    return DRIVER_GOOD;
}

static int add_input(driver_job_t *job, const char *name, bool generated, dist_options_t *o)
{
    if (o->n_inputs == DIST_MANY || name[0] == '\0') {
        return refuse(job, generated ? "generate" : "matrix", name);
    }
    o->input[o->n_inputs++] = (dist_input_t){name, generated};
    return DRIVER_GOOD;
}

static int add_file(driver_job_t *job, const char *text, void *to)
{
    return add_input(job, text, false, to);
}

static int add_spec(driver_job_t *job, const char *text, void *to)
{
    return add_input(job, text, true, to);
}

/* What only all options together say. */
static int settle(driver_job_t *job, dist_options_t *o)
{
    if (o->n_inputs == 0) {
        return driver_fail(job, DRIVER_USAGE, "no matrix: give --matrix FILE or --generate SPEC");
    }
    if (o->n_variants == 0) {
        (void)add_variant(job, "auto", o);
    }
    return DRIVER_GOOD;
}

int dist_options_parse(driver_job_t *job, int argc, char **argv, dist_options_t *o)
{
    bool                  alone     = false;
    const driver_option_t options[] = {
        {"matrix", 0, DRIVER_CALL, .to = o, .call = add_file},
        {"generate", 0, DRIVER_CALL, .to = o, .call = add_spec},
        {"columns", 0, DRIVER_CALL, .to = o, .call = parse_widths},
        {"type", 0, DRIVER_WORD, .to = &o->type, .words = tool_types},
        {"compute", 0, DRIVER_WORD, .to = &o->compute, .words = tool_computes},
        {"partition", 0, DRIVER_NAME, .to = &o->partition},
        {"partition-dir", 0, DRIVER_NAME, .to = &o->partition_dir},
        {"variant", 0, DRIVER_CALL, .to = o, .call = add_variant},
        {"no-baselines", 0, DRIVER_FLAG, .to = &alone},
        {"iterations", 0, DRIVER_INT, .to = &o->iterations, .least = 1, .most = INT64_MAX},
        {"executes", 0, DRIVER_INT, .to = &o->executes, .most = INT64_MAX},
        {"set", 0, DRIVER_NAME, .to = &o->set},
        {"out", 0, DRIVER_NAME, .to = &o->out},
        {"append", 0, DRIVER_FLAG, .to = &o->append},
        {"help", 'h', DRIVER_FLAG, .to = &o->help},
        {.name = NULL},
    };
    int code;

    *o           = (dist_options_t){.n_widths   = 1,
                                    .width      = {128},
                                    .type       = SPMM_R_32F,
                                    .partition  = "block",
                                    .set        = "-",
                                    .iterations = 20};
    code         = driver_parse_options(job, options, argc, argv, NULL);
    o->baselines = !alone;
    return code == DRIVER_GOOD && !o->help ? settle(job, o) : code;
}

void dist_partition_of(const dist_options_t *o, const dist_input_t *input, int ranks, char *text)
{
    static const char *const endings[] = {".gz", ".mtx", ".csr"};
    const char              *slash     = strrchr(input->name, '/');
    char                     name[DIST_TEXT / 4];

    (void)snprintf(name, sizeof name, "%s",
                   input->generated || slash == NULL ? input->name : slash + 1);
    for (char *c = name; input->generated && *c != '\0'; c++) {
        *c = *c == ':' || *c == ',' ? '-' : *c;
    }
    for (int e = 0; !input->generated && e < 3; e++) {
        const size_t length = strlen(name), cut = strlen(endings[e]);

        if (length > cut && strcmp(name + length - cut, endings[e]) == 0) {
            name[length - cut] = '\0';
        }
    }
    for (int packed = 1; packed >= 0 && o->partition_dir != NULL && ranks > 1; packed--) {
        (void)snprintf(text, DIST_TEXT, "file:%.250s/%s.%d.part%s", o->partition_dir, name, ranks,
                       packed ? ".gz" : "");
        if (access(text + strlen("file:"), R_OK) == 0) {
            return;
        }
    }
    (void)snprintf(text, DIST_TEXT, "%.250s", o->partition);
}
