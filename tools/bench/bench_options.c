/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scalar.h"
#include "driver_parse.h"
#include "plan/create/tuning_options.h"

static int usage(driver_job_t *job, const char *option, const char *text)
{
    return driver_fail(job, DRIVER_USAGE, "--%s does not take \"%s\"; see --help", option, text);
}

/* Is it fit for a cell or a comment of the table? */
static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if (iscntrl((unsigned char)*text)) {
            return false;
        }
    }
    return true;
}

static int add(const char *name, bool generated, bench_options_t *options)
{
    if (options->n_inputs == BENCH_MANY) {
        (void)fprintf(stderr, "spmm_bench: more than %d matrices in one run\n", BENCH_MANY);
        return BENCH_USAGE;
    }
    if (!is_printable(name)) {
        (void)fprintf(stderr, "spmm_bench: the name of a matrix has a tab, a newline or the like, "
                              "which the table has no place for\n");
        return BENCH_USAGE;
    }
    options->input[options->n_inputs++] = (bench_input_t){name, generated};
    return BENCH_GOOD;
}

/* What reads matrices has printed its own sentence. */
static int add_file(driver_job_t *job, const char *text, void *to)
{
    (void)job;
    return add(text, false, to);
}

static int add_spec(driver_job_t *job, const char *text, void *to)
{
    (void)job;
    return add(text, true, to);
}

static int parse_widths(driver_job_t *job, const char *text, void *to)
{
    bench_options_t *o = to;

    o->n_widths = tool_read_widths(text, 1, o->width, BENCH_MANY);
    return o->n_widths > 0 ? BENCH_GOOD : usage(job, "columns", text);
}

static int parse_engines(driver_job_t *job, const char *text, void *to)
{
    bench_options_t *options = to;
    char            *rest;

    free(options->engine_text);
    options->n_engines   = 0;
    options->engine_text = strdup(text);
    if (options->engine_text == NULL) {
        return driver_fail(job, DRIVER_OTHER, "out of memory");
    }
    for (char *name = strtok_r(options->engine_text, ",", &rest); name != NULL;
         name       = strtok_r(NULL, ",", &rest)) {
        if (options->n_engines == BENCH_MANY) {
            return usage(job, "engines", text);
        }
        options->engine[options->n_engines++] = name;
    }
    return options->n_engines > 0 ? BENCH_GOOD : usage(job, "engines", text);
}

/* Would the table overwrite a matrix? */
static bool is_input(const bench_options_t *options, const char *path)
{
    struct stat of_path, of_input;

    if (stat(path, &of_path) != 0 || !S_ISREG(of_path.st_mode)) {
        return false;
    }
    for (int k = 0; k < options->n_inputs; k++) {
        if (!options->input[k].generated && stat(options->input[k].name, &of_input) == 0 &&
            of_input.st_dev == of_path.st_dev && of_input.st_ino == of_path.st_ino) {
            return true;
        }
    }
    return false;
}

/* What only all options together say. */
static int settle(driver_job_t *job, bench_options_t *o)
{
    if (o->n_inputs == 0) {
        return driver_fail(job, DRIVER_USAGE, "no matrix: give --matrix FILE or --generate SPEC");
    }
    if (o->out != NULL && is_input(o, o->out)) {
        return driver_fail(job, DRIVER_USAGE, "--out would overwrite the matrix %s", o->out);
    }
    if (o->note != NULL && !is_printable(o->note)) {
        return driver_fail(job, DRIVER_USAGE, "--note is one line");
    }
    if (o->compute == SPMM_COMPUTE_AUTO) { /* as SPMM_COMPUTE_AUTO is documented */
        o->compute = spmmi_is_64f(o->type) ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
    }
    if (o->no_baseline && o->baseline != SPMM_TYPE_AUTO) {
        return driver_fail(job, DRIVER_USAGE, "give --baseline or --no-baseline");
    }
    if (o->baseline == SPMM_TYPE_AUTO) {
        o->baseline = o->type;
    }
    return BENCH_GOOD;
}

int bench_options_parse(int argc, char **argv, bench_options_t *o)
{
    driver_job_t          job       = {.text = ""};
    const driver_option_t options[] = {
        {"matrix", 0, DRIVER_CALL, .to = o, .call = add_file},
        {"generate", 0, DRIVER_CALL, .to = o, .call = add_spec},
        {"columns", 0, DRIVER_CALL, .to = o, .call = parse_widths},
        {"engines", 0, DRIVER_CALL, .to = o, .call = parse_engines},
        {"type", 0, DRIVER_WORD, .to = &o->type, .words = tool_types},
        {"compute", 0, DRIVER_WORD, .to = &o->compute, .words = tool_computes},
        {"baseline", 0, DRIVER_WORD, .to = &o->baseline, .words = tool_types},
        {"layout", 0, DRIVER_WORD, .to = &o->layout, .words = tool_layouts},
        {"iterations", 0, DRIVER_INT, .to = &o->iterations, .least = 1, .most = INT64_MAX},
        {"warmup", 0, DRIVER_INT, .to = &o->warmup, .most = INT64_MAX},
        {"check", 0, DRIVER_INT, .to = &o->check, .least = 1, .most = INT64_MAX},
        {"seed", 0, DRIVER_SEED, .to = &o->seed},
        {"tuning", 0, DRIVER_CALL, .to = &o->tuning, .call = driver_parse_tuning},
        {"executes", 0, DRIVER_INT, .to = &o->executes, .most = INT64_MAX},
        {"out", 0, DRIVER_NAME, .to = &o->out},
        {"note", 0, DRIVER_NAME, .to = &o->note},
        {"no-baseline", 0, DRIVER_FLAG, .to = &o->no_baseline},
        {"also-rotate", 0, DRIVER_FLAG, .to = &o->also_rotate},
        {"deterministic", 0, DRIVER_FLAG, .to = &o->deterministic},
        {"help", 'h', DRIVER_FLAG, .to = &o->help},
        {.name = NULL},
    };
    int code;

    *o   = (bench_options_t){.type       = SPMM_R_32F,
                             .layout     = SPMM_LAYOUT_ROW,
                             .iterations = 20,
                             .warmup     = 3,
                             .check      = 400000000,
                             .seed       = 1,
                             .n_widths   = 3,
                             .width      = {32, 128, 512}};
    code = driver_parse_options(&job, options, argc, argv, NULL);
    if (code == BENCH_GOOD && !o->help) {
        code = settle(&job, o);
    }
    if (job.text[0] != '\0') {
        (void)fprintf(stderr, "spmm_bench: %s\n", job.text);
    }
    return code;
}

void bench_options_free(bench_options_t *options)
{
    free(options->engine_text);
    options->engine_text = NULL;
}

void bench_print_help(FILE *out)
{
    (void)fprintf(
        out,
        "usage: spmm_bench (--matrix FILE | --generate SPEC)... [options]\n"
        "Time the engines of spmm_dist on one GPU: one row per matrix, engine and width.\n\n"
        "  --matrix FILE        .mtx, .mtx.gz, .csr or .smtx; may be given again\n"
        "  --generate SPEC      a generator (spmm_dist --help lists them); may be given again\n"
        "  --columns N,N,...    widths of B and C [32,128,512]\n"
        "  --type TYPE          64f, 32f, 16f, 16bf, complex 64c or 32c [32f]\n"
        "  --baseline TYPE      storage of the cusparse runs that ratios refer to [that of "
        "--type]\n"
        "  --no-baseline        no ratios: engine cusparse runs where --engines names it alone\n"
        "  --compute MODE       64f, 32f or 32f-fast-tf32 [by type]\n"
        "  --layout LAYOUT      row or col [row]\n"
        "  --engines A,B,...    engines by name; auto: what a plan chooses [all but auto]\n"
        "  --tuning KEY=VALUE,...  as the option of plans:\n");
    spmmi_tuning_options_help(out, 23);
    (void)fprintf(
        out,
        "  --executes K         products that will follow; bounds the tuning by auto [1000]\n"
        "  --iterations K       timed products, the median counts [20]\n"
        "  --warmup K           products before them [3]\n"
        "  --check K            multiplications of the FP64 reference at most [400000000]\n"
        "  --also-rotate        time again with other B and C in every product, over twice L2 in\n"
        "                       all, in a column of its own\n"
        "  --deterministic      bitwise equal results from run to run\n"
        "  --seed S             of generated matrices and dense blocks [1]\n"
        "  --out FILE           the same rows as tab-separated values, when all are measured\n"
        "  --note TEXT          a first line of the header\n"
        "  -h, --help           print this help\n\n"
        "The ratio column is the median time of engine cusparse, in the type of --baseline, over "
        "that\n"
        "of the row's engine; build ms is the host time of making the plan.\n"
        "The error is max |C - ref| / (|A||B|) against an FP64 product on the host, of all rows\n"
        "or of those that --check allows.\n"
        "What cannot run is reported and left out; only a lost GPU ends the run.\n"
        "exit codes: 0 good, 2 usage, 3 matrix input, 4 other, 5 an error above its bound\n");
}
