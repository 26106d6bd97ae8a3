/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_options.h"

#include <getopt.h>
#include <math.h>
#include <string.h>

#include "driver_parse.h"

/* Codes of the options without a short form. */
enum {
    OPT_PAD = 256,
    OPT_OBJECTIVE,
    OPT_IMBALANCE,
    OPT_WRITE_PARTITION,
    OPT_REORDER,
    OPT_SCHEDULE,
    OPT_NCCL_CTAS,
    OPT_EXECUTES,
    OPT_GRAPH,
    OPT_DETERMINISTIC,
    OPT_NO_AUTOTUNE,
    OPT_EXACT_NONFINITE,
    OPT_TIMEOUT,
    OPT_PROGRESS,
    OPT_PLOT,
    OPT_DOCTOR,
    OPT_LIST_ENGINES,
    OPT_LIST_TRANSPORTS,
    OPT_LIST_PARTITIONERS,
    OPT_LIST_SCHEDULES
};

static const char short_options[] = ":m:g:s:n:t:c:o:l:a:b:d:e:x:p:w:i:vEj:hV";

static const struct option long_options[] = {
    {"matrix", required_argument, NULL, 'm'},
    {"generate", required_argument, NULL, 'g'},
    {"seed", required_argument, NULL, 's'},
    {"columns", required_argument, NULL, 'n'},
    {"type", required_argument, NULL, 't'},
    {"compute", required_argument, NULL, 'c'},
    {"op", required_argument, NULL, 'o'},
    {"layout", required_argument, NULL, 'l'},
    {"alpha", required_argument, NULL, 'a'},
    {"beta", required_argument, NULL, 'b'},
    {"pad", required_argument, NULL, OPT_PAD},
    {"device", required_argument, NULL, 'd'},
    {"engine", required_argument, NULL, 'e'},
    {"transport", required_argument, NULL, 'x'},
    {"partition", required_argument, NULL, 'p'},
    {"objective", required_argument, NULL, OPT_OBJECTIVE},
    {"imbalance", required_argument, NULL, OPT_IMBALANCE},
    {"write-partition", required_argument, NULL, OPT_WRITE_PARTITION},
    {"reorder", required_argument, NULL, OPT_REORDER},
    {"schedule", required_argument, NULL, OPT_SCHEDULE},
    {"nccl-ctas", required_argument, NULL, OPT_NCCL_CTAS},
    {"executes", required_argument, NULL, OPT_EXECUTES},
    {"graph", no_argument, NULL, OPT_GRAPH},
    {"deterministic", no_argument, NULL, OPT_DETERMINISTIC},
    {"no-autotune", no_argument, NULL, OPT_NO_AUTOTUNE},
    {"exact-nonfinite", no_argument, NULL, OPT_EXACT_NONFINITE},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"warmup", required_argument, NULL, 'w'},
    {"iterations", required_argument, NULL, 'i'},
    {"verify", no_argument, NULL, 'v'},
    {"explain", no_argument, NULL, 'E'},
    {"json", required_argument, NULL, 'j'},
    {"plot", required_argument, NULL, OPT_PLOT},
    {"doctor", no_argument, NULL, OPT_DOCTOR},
    {"progress", no_argument, NULL, OPT_PROGRESS},
    {"list-engines", no_argument, NULL, OPT_LIST_ENGINES},
    {"list-transports", no_argument, NULL, OPT_LIST_TRANSPORTS},
    {"list-partitioners", no_argument, NULL, OPT_LIST_PARTITIONERS},
    {"list-schedules", no_argument, NULL, OPT_LIST_SCHEDULES},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const tool_word_t op_words[]     = {{"n", SPMM_OP_N}, {"t", SPMM_OP_T}, {NULL, 0}};
static const tool_word_t device_words[] = {
    {"auto", SPMM_DEVICE_AUTO},
    {"cpu", SPMM_DEVICE_CPU},
    {"cuda", SPMM_DEVICE_CUDA},
    {NULL, 0},
};

const char *driver_type_name(spmm_type_t type)
{
    return tool_word_name(tool_types, (int)type);
}

const char *driver_compute_name(spmm_compute_t compute)
{
    return tool_word_name(tool_computes, (int)compute);
}

spmm_compute_t driver_compute_resolve(const driver_options_t *options)
{
    if (options->compute != SPMM_COMPUTE_AUTO) {
        return options->compute;
    }
    return options->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
}

static int parse_product(driver_job_t *job, int code, const char *arg, driver_options_t *o)
{
    int word = 0;
    int status;

    switch (code) {
    case 'n':
        return driver_parse_int(job, "columns", arg, 1, INT32_MAX, &o->columns);
    case 't':
        status  = driver_parse_word(job, "type", arg, tool_types, &word);
        o->type = (spmm_type_t)word;
        return status;
    case 'c':
        status     = driver_parse_word(job, "compute", arg, tool_computes, &word);
        o->compute = (spmm_compute_t)word;
        return status;
    case 'o':
        status = driver_parse_word(job, "op", arg, op_words, &word);
        o->op  = (spmm_op_t)word;
        return status;
    case 'l':
        status    = driver_parse_word(job, "layout", arg, tool_layouts, &word);
        o->layout = (spmm_layout_t)word;
        return status;
    case 'a':
        return driver_parse_real(job, "alpha", arg, -HUGE_VAL, &o->alpha);
    case 'b':
        return driver_parse_real(job, "beta", arg, -HUGE_VAL, &o->beta);
    default:
        return driver_parse_int(job, "pad", arg, 0, INT32_MAX, &o->pad);
    }
}

static int parse_plan(driver_job_t *job, int code, const char *arg, driver_options_t *o)
{
    static const tool_word_t objectives[] = {{"vol", 0}, {"cut", 1}, {NULL, 0}};

    int word = 0;
    int status;

    switch (code) {
    case 'd':
        status    = driver_parse_word(job, "device", arg, device_words, &word);
        o->device = (spmm_device_kind_t)word;
        return status;
    case 'e':
        o->engine = arg;
        break;
    case 'x':
        o->transport = arg;
        break;
    case 'p':
        o->partition = arg;
        break;
    case OPT_OBJECTIVE:
        o->objective = arg;
        return driver_parse_word(job, "objective", arg, objectives, &word);
    case OPT_IMBALANCE:
        return driver_parse_real(job, "imbalance", arg, 1.0, &o->imbalance);
    case OPT_WRITE_PARTITION:
        o->write_partition = arg;
        break;
    case OPT_REORDER:
        o->reorder = arg;
        break;
    case OPT_SCHEDULE:
        o->schedule = arg;
        break;
    case OPT_NCCL_CTAS:
        return driver_parse_int(job, "nccl-ctas", arg, 0, 64, &o->nccl_ctas);
    case OPT_EXECUTES:
        return driver_parse_int(job, "executes", arg, 0, INT64_MAX, &o->executes);
    case OPT_DETERMINISTIC:
        o->deterministic = true;
        break;
    case OPT_NO_AUTOTUNE:
        o->no_autotune = true;
        break;
    case OPT_EXACT_NONFINITE:
        o->exact_nonfinite = true;
        break;
    case OPT_GRAPH:
        o->graph = true;
        break;
    default:
        return driver_parse_real(job, "timeout", arg, 0.0, &o->timeout_s);
    }
    return DRIVER_GOOD;
}

static int parse_run(driver_job_t *job, int code, const char *arg, driver_options_t *o)
{
    switch (code) {
    case 'm':
        o->matrix = arg;
        break;
    case 'g':
        o->generate = arg;
        break;
    case 's':
        return driver_parse_seed(job, "seed", arg, &o->seed);
    case 'w':
        return driver_parse_int(job, "warmup", arg, 0, 1000000, &o->warmup);
    case 'i':
        return driver_parse_int(job, "iterations", arg, 1, 1000000, &o->iterations);
    case 'v':
        o->verify = true;
        break;
    case 'E':
        o->explain = true;
        break;
    case OPT_PROGRESS:
        o->progress = true;
        break;
    case OPT_PLOT:
        o->plot = arg;
        break;
    default:
        o->json = arg;
#ifndef DRIVER_HAVE_CJSON
        return driver_fail(job, DRIVER_OTHER,
                           "--json is not available: spmm_dist was built without cJSON; install it "
                           "(libcjson-dev) and configure again");
#endif
    }
    return DRIVER_GOOD;
}

static int parse_one(driver_job_t *job, int code, char **argv, driver_options_t *o)
{
    switch (code) {
    case 'h':
        o->action = DRIVER_HELP;
        return DRIVER_GOOD;
    case 'V':
        o->action = DRIVER_VERSION;
        return DRIVER_GOOD;
    case OPT_DOCTOR:
        o->action = DRIVER_DOCTOR;
        return DRIVER_GOOD;
    case OPT_LIST_ENGINES:
        o->action = DRIVER_LIST_ENGINES;
        return DRIVER_GOOD;
    case OPT_LIST_TRANSPORTS:
        o->action = DRIVER_LIST_TRANSPORTS;
        return DRIVER_GOOD;
    case OPT_LIST_PARTITIONERS:
        o->action = DRIVER_LIST_PARTITIONERS;
        return DRIVER_GOOD;
    case OPT_LIST_SCHEDULES:
        o->action = DRIVER_LIST_SCHEDULES;
        return DRIVER_GOOD;
    case ':':
        return driver_fail(job, DRIVER_USAGE, "%s needs a value; see --help", argv[optind - 1]);
    case '?': /* optopt of a known long option: it was given a value it does not take */
        if (optopt > 0 && optopt < OPT_PAD && strchr(short_options, optopt) == NULL) {
            return driver_fail(job, DRIVER_USAGE, "unknown option '-%c'; see --help", optopt);
        }
        return driver_fail(job, DRIVER_USAGE,
                           "unknown, ambiguous or misused option '%s'; see --help",
                           argv[optind - 1]);
    case 'n':
    case 't':
    case 'c':
    case 'o':
    case 'l':
    case 'a':
    case 'b':
    case OPT_PAD:
        return parse_product(job, code, optarg, o);
    case 'm':
    case 'g':
    case 's':
    case 'w':
    case 'i':
    case 'v':
    case 'E':
    case 'j':
    case OPT_PLOT:
    case OPT_PROGRESS:
        return parse_run(job, code, optarg, o);
    default:
        return parse_plan(job, code, optarg, o);
    }
}

/** Is @p name, up to a colon, one of the components that @p describe tells of? */
static int check_name(driver_job_t *job, const char *option, const char *name,
                      spmm_status_t (*describe)(int, spmm_component_info_t *))
{
    spmm_component_info_t info  = {sizeof info, NULL, NULL, 0};
    const size_t          bytes = name == NULL ? 0 : strcspn(name, ":");

    if (name == NULL || strcmp(name, "auto") == 0) {
        return DRIVER_GOOD;
    }
    for (int i = 0; describe(i, &info) == SPMM_OK; i++) {
        if (strlen(info.name) == bytes && strncmp(info.name, name, bytes) == 0) {
            return DRIVER_GOOD;
        }
    }
    return driver_fail(job, DRIVER_USAGE, "--%s does not know '%s'; see --list-%ss", option, name,
                       strcmp(option, "partition") == 0 ? "partitioner" : option);
}

static int check_run(driver_job_t *job, const driver_options_t *o)
{
    int code;

    if ((o->matrix == NULL) == (o->generate == NULL)) {
        return driver_fail(job, DRIVER_USAGE,
                           "give one of --matrix FILE and --generate SPEC; see --help");
    }
    if (o->matrix != NULL && o->matrix[0] == '\0') {
        return driver_fail(job, DRIVER_USAGE, "--matrix needs the name of a file; see --help");
    }
    code = check_name(job, "engine", o->engine, spmm_engine_info);
    if (code == DRIVER_GOOD) {
        code = check_name(job, "transport", o->transport, spmm_transport_info);
    }
    if (code == DRIVER_GOOD && strcmp(o->partition, "keep") != 0) {
        code = check_name(job, "partition", o->partition, spmm_partitioner_info);
    }
    if (code == DRIVER_GOOD) {
        code = check_name(job, "schedule", o->schedule, spmm_schedule_info);
    }
    return code;
}

int driver_options_parse(driver_job_t *job, int argc, char **argv, driver_options_t *options)
{
    int status = DRIVER_GOOD;
    int code;

    *options = (driver_options_t){
        .columns    = 64,
        .type       = SPMM_R_64F,
        .layout     = SPMM_LAYOUT_ROW,
        .partition  = "auto",
        .alpha      = 1.0,
        .warmup     = 2,
        .iterations = 10,
    };
    opterr = 0; /* one sentence of our own, on one rank */
    while (status == DRIVER_GOOD &&
           (code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        status = parse_one(job, code, argv, options);
    }
    if (status == DRIVER_GOOD && optind < argc) {
        status =
            driver_fail(job, DRIVER_USAGE, "unexpected argument '%s'; see --help", argv[optind]);
    }
    if (status == DRIVER_GOOD && options->action == DRIVER_RUN) {
        status = check_run(job, options);
    }
    return status;
}
