/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_options.h"

#include <math.h>
#include <string.h>

#include "driver_parse.h"

static const tool_word_t op_words[] = {
    {"n", SPMM_OP_N}, {"t", SPMM_OP_T}, {"h", SPMM_OP_H}, {NULL, 0}};
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

const char *driver_op_name(spmm_op_t op)
{
    return tool_word_name(op_words, (int)op);
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
    return options->type == SPMM_R_64F || options->type == SPMM_C_64F ? SPMM_COMPUTE_64F
                                                                      : SPMM_COMPUTE_32F;
}

/* "16,64,256" */
static int parse_scale(driver_job_t *job, const char *text, void *to)
{
    driver_scale_t *scale = to;
    char            copy[DRIVER_SCALE_CASES * 8], *rest = NULL;

    scale->n = 0;
    (void)snprintf(copy, sizeof copy, "%s", text);
    for (char *at = strtok_r(copy, ",", &rest); at != NULL; at = strtok_r(NULL, ",", &rest)) {
        int code;

        if (scale->n == DRIVER_SCALE_CASES) {
            scale->n++;
            break;
        }
        code = driver_parse_int(job, "scale", at, 2, 16384, &scale->ranks[scale->n++]);
        if (code != DRIVER_GOOD) {
            return code;
        }
    }
    if (strlen(text) >= sizeof copy || scale->n > DRIVER_SCALE_CASES) {
        return driver_fail(job, DRIVER_USAGE, "--scale takes at most %d numbers of ranks",
                           (int)DRIVER_SCALE_CASES);
    }
    return scale->n > 0
               ? DRIVER_GOOD
               : driver_fail(job, DRIVER_USAGE, "--scale takes numbers of ranks, as 16,64,256");
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
    if (o->scale.n > 0 && job->size > 1) {
        return driver_fail(job, DRIVER_USAGE,
                           "--scale counts on one rank, and this job has %d: start it without "
                           "mpirun",
                           job->size);
    }
    code = check_name(job, "engine", o->engine, spmm_engine_info);
    if (code == DRIVER_GOOD) {
        code = check_name(job, "transport", o->transport, spmm_transport_info);
    }
    if (code == DRIVER_GOOD && strcmp(o->partition, "keep") != 0) {
        code = check_name(job, "partition", o->partition, spmm_partitioner_info);
    }
    return code;
}

/* Actions that heed few options; the others would be ignored without a word. */
static int check_heeded(driver_job_t *job, const driver_options_t *o,
                        const driver_option_t *options, const bool *given)
{
    const char *action = NULL, *heeded = NULL;

    if (o->action == DRIVER_DOCTOR) {
        action = "doctor";
        heeded = "json,device,timeout";
    } else if (o->action == DRIVER_RUN && o->convert[0] != NULL) {
        action = "convert";
        heeded = "convert,type,seed,device,timeout,progress";
    } else if (o->action == DRIVER_RUN && o->scale.n > 0) {
        action = "scale";
        heeded = "scale,matrix,generate,seed,columns,type,partition,imbalance,tuning,"
                 "ranks-per-node,json";
    }
    for (int k = 0; action != NULL && options[k].name != NULL; k++) {
        if (given[k] && options[k].kind != DRIVER_SET && !tool_is_listed(heeded, options[k].name)) {
            return driver_fail(job, DRIVER_USAGE,
                               "--%s takes no --%s, which it would ignore: leave it out; see "
                               "--help",
                               action, options[k].name);
        }
    }
    return DRIVER_GOOD;
}

static int read_options(driver_job_t *job, int argc, char **argv, driver_options_t *o)
{
    const driver_option_t options[] = {
        {"matrix", 'm', DRIVER_NAME, .to = &o->matrix},
        {"generate", 'g', DRIVER_NAME, .to = &o->generate},
        {"seed", 's', DRIVER_SEED, .to = &o->seed},
        {"columns", 'n', DRIVER_INT, .to = &o->columns, .least = 1, .most = INT32_MAX},
        {"type", 't', DRIVER_WORD, .to = &o->type, .words = tool_types},
        {"compute", 'c', DRIVER_WORD, .to = &o->compute, .words = tool_computes},
        {"op", 'o', DRIVER_WORD, .to = &o->op, .words = op_words},
        {"layout", 'l', DRIVER_WORD, .to = &o->layout, .words = tool_layouts},
        {"alpha", 'a', DRIVER_REAL, .to = &o->alpha, .from = -HUGE_VAL},
        {"beta", 'b', DRIVER_REAL, .to = &o->beta, .from = -HUGE_VAL},
        {"pad", 0, DRIVER_INT, .to = &o->pad, .most = INT32_MAX},
        {"device", 'd', DRIVER_WORD, .to = &o->device, .words = device_words},
        {"engine", 'e', DRIVER_NAME, .to = &o->engine},
        {"transport", 'x', DRIVER_NAME, .to = &o->transport},
        {"partition", 'p', DRIVER_NAME, .to = &o->partition},
        {"imbalance", 0, DRIVER_REAL, .to = &o->imbalance, .from = 1.0},
        {"write-partition", 0, DRIVER_NAME, .to = &o->write_partition},
        {"tuning", 0, DRIVER_CALL, .to = &o->tuning, .call = driver_parse_tuning},
        {"halo-type", 0, DRIVER_WORD, .to = &o->halo_type, .words = tool_types},
        {"nccl-ctas", 0, DRIVER_INT, .to = &o->nccl_ctas, .most = 64},
        {"ranks-per-node", 0, DRIVER_INT, .to = &o->ranks_per_node, .most = INT32_MAX},
        {"executes", 0, DRIVER_INT, .to = &o->executes, .most = INT64_MAX},
        {"graph", 0, DRIVER_FLAG, .to = &o->graph},
        {"deterministic", 0, DRIVER_FLAG, .to = &o->deterministic},
        {"reproducible", 0, DRIVER_FLAG, .to = &o->reproducible},
        {"exact-nonfinite", 0, DRIVER_FLAG, .to = &o->exact_nonfinite},
        {"timeout", 0, DRIVER_REAL, .to = &o->timeout_s},
        {"warmup", 'w', DRIVER_INT, .to = &o->warmup, .most = 1000000},
        {"iterations", 'i', DRIVER_INT, .to = &o->iterations, .least = 1, .most = 1000000},
        {"verify", 'v', DRIVER_FLAG, .to = &o->verify},
        {"explain", 'E', DRIVER_FLAG, .to = &o->explain},
        {"json", 'j', DRIVER_NAME, .to = &o->json},
        {"scale", 0, DRIVER_CALL, .to = &o->scale, .call = parse_scale},
        {"doctor", 0, DRIVER_SET, .to = &o->action, .least = DRIVER_DOCTOR},
        {"convert", 0, DRIVER_PAIR, .to = &o->convert},
        {"progress", 0, DRIVER_FLAG, .to = &o->progress},
        {"list-engines", 0, DRIVER_SET, .to = &o->action, .least = DRIVER_LIST_ENGINES},
        {"list-transports", 0, DRIVER_SET, .to = &o->action, .least = DRIVER_LIST_TRANSPORTS},
        {"list-partitioners", 0, DRIVER_SET, .to = &o->action, .least = DRIVER_LIST_PARTITIONERS},
        {"help", 'h', DRIVER_SET, .to = &o->action, .least = DRIVER_HELP},
        {"version", 'V', DRIVER_SET, .to = &o->action, .least = DRIVER_VERSION},
        {.name = NULL},
    };

    bool      given[DRIVER_OPTIONS] = {false};
    const int code                  = driver_parse_options(job, options, argc, argv, given);

    return code == DRIVER_GOOD ? check_heeded(job, o, options, given) : code;
}

int driver_options_parse(driver_job_t *job, int argc, char **argv, driver_options_t *o)
{
    int code;

    *o = (driver_options_t){
        .columns    = 64,
        .type       = SPMM_TYPE_AUTO,
        .layout     = SPMM_LAYOUT_ROW,
        .partition  = "auto",
        .alpha      = 1.0,
        .warmup     = 2,
        .iterations = 10,
    };
    if (argc == 1) { /* the first run of a new user */
        o->generate = "stencil9:nx=400,ny=400,shuffle=1";
        o->verify   = true;
    }
    code = read_options(job, argc, argv, o);
    if (o->scale.n > 0) {
        o->device = SPMM_DEVICE_CPU; /* which counts */
    }
    if (code == DRIVER_GOOD && o->convert[0] != NULL && o->action == DRIVER_RUN) {
        o->action = DRIVER_CONVERT; /* keeps the type of the values where none is asked for */
        o->matrix = o->convert[0];
    } else if (o->type == SPMM_TYPE_AUTO) {
        o->type = SPMM_R_64F;
    }
#ifndef DRIVER_HAVE_CJSON
    if (code == DRIVER_GOOD && o->json != NULL) {
        code = driver_fail(job, DRIVER_OTHER,
                           "--json is not available: spmm_dist was built without cJSON; install it "
                           "(libcjson-dev) and configure again");
    }
#endif
    return code == DRIVER_GOOD && o->action == DRIVER_RUN ? check_run(job, o) : code;
}
