/* SPDX-License-Identifier: Apache-2.0 */
#include "dist_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool_common.h"

static const struct option long_options[] = {{"matrix", required_argument, NULL, 'm'},
                                             {"generate", required_argument, NULL, 'g'},
                                             {"columns", required_argument, NULL, 'n'},
                                             {"type", required_argument, NULL, 't'},
                                             {"compute", required_argument, NULL, 'c'},
                                             {"partition", required_argument, NULL, 'p'},
                                             {"partition-dir", required_argument, NULL, 'd'},
                                             {"variant", required_argument, NULL, 'v'},
                                             {"engine", required_argument, NULL, 'e'},
                                             {"transport", required_argument, NULL, 'x'},
                                             {"schedule", required_argument, NULL, 'S'},
                                             {"reorder", required_argument, NULL, 'R'},
                                             {"graph", no_argument, NULL, 'G'},
                                             {"no-baselines", no_argument, NULL, 'b'},
                                             {"warmup", required_argument, NULL, 'w'},
                                             {"iterations", required_argument, NULL, 'i'},
                                             {"seed", required_argument, NULL, 's'},
                                             {"nccl-ctas", required_argument, NULL, 'C'},
                                             {"executes", required_argument, NULL, 'E'},
                                             {"set", required_argument, NULL, 'k'},
                                             {"out", required_argument, NULL, 'o'},
                                             {"append", no_argument, NULL, 'a'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

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
        "  --variant LIST       a plan to time: auto, or any of engine=, transport=, schedule=,\n"
        "                       reorder= and graph=1 with commas between; may be given again "
        "[auto]\n"
        "  --engine, --transport, --schedule, --reorder NAME, --graph\n"
        "                       the same for all variants that do not say\n"
        "  --no-baselines       time the variants only\n"
        "  --iterations K       timed products, the median counts [20]\n"
        "  --warmup K           products before them [5]\n"
        "  --seed S             of generated matrices and B [0]\n"
        "  --executes K         products in which the variants' plan time is to pay [1000]\n"
        "  --nccl-ctas K        most thread blocks of the library's exchange over NCCL\n"
        "  --set NAME           first column of every row [-]\n"
        "  --out FILE, --append write or add to FILE instead of the standard output\n\n"
        "bench/README.md describes the columns.\n"
        "exit codes: 0 good, 1 an error above its bound, 2 usage, 3 matrix input, 4 other\n",
        out);
}

static int refuse(driver_job_t *job, const char *option, const char *text)
{
    return driver_fail(job, DRIVER_USAGE, "--%s does not take \"%.100s\"; see bench_dist --help",
                       option, text);
}

static int parse_int(driver_job_t *job, const char *option, const char *text, int64_t least,
                     int64_t *value)
{
    return tool_read_int(text, least, value) ? DRIVER_GOOD : refuse(job, option, text);
}

static int parse_widths(driver_job_t *job, const char *text, dist_options_t *o)
{
    o->n_widths = tool_read_widths(text, 1, o->width, DIST_MANY);
    return o->n_widths > 0 ? DRIVER_GOOD : refuse(job, "columns", text);
}

static int set_key(driver_job_t *job, dist_variant_t *v, const char *key, const char *value)
{
    if (strcmp(key, "engine") == 0) {
        v->engine = value;
    } else if (strcmp(key, "transport") == 0) {
        v->transport = value;
    } else if (strcmp(key, "schedule") == 0) {
        v->schedule = value;
    } else if (strcmp(key, "reorder") == 0) {
        v->reorder = value;
    } else if (strcmp(key, "graph") == 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)) {
        v->graph = value[0] == '1';
    } else {
        return refuse(job, "variant", key);
    }
    return DRIVER_GOOD;
}

static int add_variant(driver_job_t *job, const char *text, dist_options_t *o)
{
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

/** What the options that every variant takes say; `name` is unused. */
static int parse_common(driver_job_t *job, int key, dist_variant_t *common)
{
    switch (key) {
    case 'e':
        return set_key(job, common, "engine", optarg);
    case 'x':
        return set_key(job, common, "transport", optarg);
    case 'S':
        return set_key(job, common, "schedule", optarg);
    case 'R':
        return set_key(job, common, "reorder", optarg);
    case 'G':
        return set_key(job, common, "graph", "1");
    default:
        return driver_fail(job, DRIVER_USAGE, "wrong usage; see bench_dist --help");
    }
}

static int parse_word(driver_job_t *job, const char *option, const tool_word_t *words, int *value)
{
    const tool_word_t *found = tool_word_find(words, optarg);

    if (found == NULL) {
        return refuse(job, option, optarg);
    }
    *value = found->value;
    return DRIVER_GOOD;
}

static int parse_number(driver_job_t *job, int key, dist_options_t *o)
{
    int64_t seed = 0;
    int     word = 0, code;

    switch (key) {
    case 'n':
        return parse_widths(job, optarg, o);
    case 't':
        code    = parse_word(job, "type", tool_types, &word);
        o->type = (spmm_type_t)word;
        return code;
    case 'c':
        code       = parse_word(job, "compute", tool_computes, &word);
        o->compute = (spmm_compute_t)word;
        return code;
    case 'w':
        return parse_int(job, "warmup", optarg, 0, &o->warmup);
    case 'C':
        return parse_int(job, "nccl-ctas", optarg, 0, &o->nccl_ctas);
    case 'E':
        return parse_int(job, "executes", optarg, 0, &o->executes);
    case 'i':
        return parse_int(job, "iterations", optarg, 1, &o->iterations);
    default:
        code    = parse_int(job, "seed", optarg, 0, &seed);
        o->seed = (uint64_t)seed;
        return code;
    }
}

static int parse_one(driver_job_t *job, int key, dist_options_t *o, dist_variant_t *common)
{
    switch (key) {
    case 'm':
    case 'g':
        return add_input(job, optarg, key == 'g', o);
    case 'v':
        return add_variant(job, optarg, o);
    case 'p':
        o->partition = optarg;
        return DRIVER_GOOD;
    case 'd':
        o->partition_dir = optarg;
        return DRIVER_GOOD;
    case 'k':
        o->set = optarg;
        return DRIVER_GOOD;
    case 'o':
        o->out = optarg;
        return DRIVER_GOOD;
    case 'a':
        o->append = true;
        return DRIVER_GOOD;
    case 'b':
        o->baselines = false;
        return DRIVER_GOOD;
    case 'h':
        o->help = true;
        return DRIVER_GOOD;
    default:
        return strchr("ntcwisCE", key) != NULL ? parse_number(job, key, o)
                                               : parse_common(job, key, common);
    }
}

static int settle(driver_job_t *job, int argc, char **argv, dist_options_t *o,
                  const dist_variant_t *common)
{
    if (optind < argc) {
        return driver_fail(job, DRIVER_USAGE, "\"%.100s\" is no option; see bench_dist --help",
                           argv[optind]);
    }
    if (o->n_inputs == 0) {
        return driver_fail(job, DRIVER_USAGE, "no matrix: give --matrix FILE or --generate SPEC");
    }
    if (o->n_variants == 0) {
        (void)add_variant(job, "auto", o);
    }
    for (int v = 0; v < o->n_variants; v++) {
        dist_variant_t *to = &o->variant[v];

        to->engine    = to->engine != NULL ? to->engine : common->engine;
        to->transport = to->transport != NULL ? to->transport : common->transport;
        to->schedule  = to->schedule != NULL ? to->schedule : common->schedule;
        to->reorder   = to->reorder != NULL ? to->reorder : common->reorder;
        to->graph     = to->graph || common->graph;
    }
    return DRIVER_GOOD;
}

int dist_options_parse(driver_job_t *job, int argc, char **argv, dist_options_t *o)
{
    dist_variant_t common = {.name = NULL};
    int            key;

    *o     = (dist_options_t){.n_widths   = 1,
                              .width      = {128},
                              .type       = SPMM_R_32F,
                              .partition  = "block",
                              .set        = "-",
                              .warmup     = 5,
                              .iterations = 20,
                              .baselines  = true};
    opterr = job->rank == 0;
    while ((key = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        const int code = parse_one(job, key, o, &common);

        if (code != DRIVER_GOOD) {
            return code;
        }
    }
    return o->help ? DRIVER_GOOD : settle(job, argc, argv, o, &common);
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
