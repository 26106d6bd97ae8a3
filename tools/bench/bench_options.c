/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool_common.h"

const char *bench_cache_text(bench_cache_t cache)
{
    switch (cache) {
    case BENCH_WARM:
        return "warm: one B and C, problems smaller than L2 sit in it";
    case BENCH_ROTATE:
        return "rotate: B and C change with every product, together over twice L2; A may stay";
    case BENCH_FLUSH:
        return "flush: twice the size of L2 is overwritten before every product";
    }
    return "";
}

static int usage(const char *option, const char *text)
{
    (void)fprintf(stderr, "spmm_bench: --%s does not take \"%s\"; see spmm_bench --help\n", option,
                  text);
    return BENCH_USAGE;
}

static int parse_word(const char *option, const char *text, const tool_word_t *words, int *value)
{
    const tool_word_t *found = tool_word_find(words, text);

    if (found == NULL) {
        return usage(option, text);
    }
    *value = found->value;
    return BENCH_GOOD;
}

static int parse_int(const char *option, const char *text, int64_t least, int64_t *value)
{
    return tool_read_int(text, least, value) ? BENCH_GOOD : usage(option, text);
}

static int parse_widths(const char *text, bench_options_t *options)
{
    options->n_widths = tool_read_widths(text, 1, options->width, BENCH_MANY);
    return options->n_widths > 0 ? BENCH_GOOD : usage("columns", text);
}

static int parse_engines(const char *text, bench_options_t *options)
{
    const size_t bytes = strlen(text) + 1;
    char        *rest;

    free(options->engine_text);
    options->n_engines   = 0;
    options->engine_text = malloc(bytes);
    if (options->engine_text == NULL) {
        (void)fprintf(stderr, "spmm_bench: out of memory\n");
        return BENCH_OTHER;
    }
    memcpy(options->engine_text, text, bytes);
    for (char *name = strtok_r(options->engine_text, ",", &rest); name != NULL;
         name       = strtok_r(NULL, ",", &rest)) {
        if (options->n_engines == BENCH_MANY) {
            return usage("engines", text);
        }
        options->engine[options->n_engines++] = name;
    }
    return options->n_engines > 0 ? BENCH_GOOD : usage("engines", text);
}

static const struct option long_options[] = {{"matrix", required_argument, NULL, 'm'},
                                             {"generate", required_argument, NULL, 'g'},
                                             {"matrix-list", required_argument, NULL, 'L'},
                                             {"columns", required_argument, NULL, 'n'},
                                             {"type", required_argument, NULL, 't'},
                                             {"compute", required_argument, NULL, 'c'},
                                             {"yardstick", required_argument, NULL, 'y'},
                                             {"layout", required_argument, NULL, 'l'},
                                             {"engines", required_argument, NULL, 'e'},
                                             {"iterations", required_argument, NULL, 'i'},
                                             {"warmup", required_argument, NULL, 'w'},
                                             {"seed", required_argument, NULL, 's'},
                                             {"reorder", required_argument, NULL, 'R'},
                                             {"executes", required_argument, NULL, 'x'},
                                             {"out", required_argument, NULL, 'o'},
                                             {"note", required_argument, NULL, 'N'},
                                             {"rotate", no_argument, NULL, 'r'},
                                             {"flush", no_argument, NULL, 'f'},
                                             {"also-rotate", no_argument, NULL, 'a'},
                                             {"deterministic", no_argument, NULL, 'd'},
                                             {"no-autotune", no_argument, NULL, 'p'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

/* The words of types, computes and layouts. */
static int parse_kind(int key, bench_options_t *options)
{
    int word = 0, code;

    switch (key) {
    case 't':
        code          = parse_word("type", optarg, tool_types, &word);
        options->type = (spmm_type_t)word;
        return code;
    case 'y':
        code               = parse_word("yardstick", optarg, tool_types, &word);
        options->yardstick = (spmm_type_t)word;
        return code;
    case 'c':
        code             = parse_word("compute", optarg, tool_computes, &word);
        options->compute = (spmm_compute_t)word;
        return code;
    default:
        code            = parse_word("layout", optarg, tool_layouts, &word);
        options->layout = (spmm_layout_t)word;
        return code;
    }
}

static int parse_flag(int key, bench_options_t *options)
{
    switch (key) {
    case 'r':
    case 'f':
        if (options->cache != BENCH_WARM) {
            (void)fprintf(stderr, "spmm_bench: give --rotate or --flush, once\n");
            return BENCH_USAGE;
        }
        options->cache = key == 'r' ? BENCH_ROTATE : BENCH_FLUSH;
        return BENCH_GOOD;
    case 'a':
        options->also_rotate = true;
        return BENCH_GOOD;
    case 'd':
        options->deterministic = true;
        return BENCH_GOOD;
    case 'p':
        options->no_autotune = true;
        return BENCH_GOOD;
    case 'h':
        options->help = true;
        return BENCH_GOOD;
    default:
        return BENCH_USAGE; /* getopt_long has said what */
    }
}

static int parse_one(int key, bench_options_t *options)
{
    int     code   = BENCH_GOOD;
    int64_t number = 0;

    switch (key) {
    case 'm':
    case 'g':
        return bench_options_add(optarg, key == 'g', options);
    case 'L':
        return bench_options_read_list(optarg, options);
    case 'n':
        return parse_widths(optarg, options);
    case 'e':
        return parse_engines(optarg, options);
    case 't':
    case 'y':
    case 'c':
    case 'l':
        return parse_kind(key, options);
    case 'i':
        return parse_int("iterations", optarg, 1, &options->iterations);
    case 'w':
        return parse_int("warmup", optarg, 0, &options->warmup);
    case 's':
        code          = parse_int("seed", optarg, 0, &number);
        options->seed = (uint64_t)number;
        return code;
    case 'R':
        options->reorder = optarg;
        return BENCH_GOOD;
    case 'x':
        return parse_int("executes", optarg, 0, &options->executes);
    case 'o':
        options->out = optarg;
        return BENCH_GOOD;
    case 'N':
        options->note = optarg;
        return BENCH_GOOD;
    default:
        return parse_flag(key, options);
    }
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
static int settle(int argc, char **argv, bench_options_t *options)
{
    if (optind < argc) {
        (void)fprintf(stderr, "spmm_bench: \"%s\" is no option\n", argv[optind]);
        return BENCH_USAGE;
    }
    if (options->n_inputs == 0) {
        (void)fprintf(stderr, "spmm_bench: no matrix: give --matrix FILE, --generate SPEC or "
                              "--matrix-list FILE\n");
        return BENCH_USAGE;
    }
    if (options->out != NULL && is_input(options, options->out)) {
        (void)fprintf(stderr, "spmm_bench: --out would overwrite the matrix %s\n", options->out);
        return BENCH_USAGE;
    }
    if (options->note != NULL && !bench_is_printable(options->note)) {
        (void)fprintf(stderr, "spmm_bench: --note is one line\n");
        return BENCH_USAGE;
    }
    if (options->also_rotate && options->cache != BENCH_WARM) {
        (void)fprintf(stderr, "spmm_bench: --also-rotate stands beside warm caches: leave out "
                              "--rotate and --flush\n");
        return BENCH_USAGE;
    }
    if (options->compute == SPMM_COMPUTE_AUTO) { /* as SPMM_COMPUTE_AUTO is documented */
        options->compute = options->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
    }
    if (options->yardstick == SPMM_TYPE_AUTO) {
        options->yardstick = options->type;
    }
    return BENCH_GOOD;
}

int bench_options_parse(int argc, char **argv, bench_options_t *options)
{
    int key;

    memset(options, 0, sizeof *options);
    options->type       = SPMM_R_32F;
    options->layout     = SPMM_LAYOUT_ROW;
    options->iterations = 20;
    options->warmup     = 3;
    options->seed       = 1;
    options->n_widths   = 3;
    options->width[0]   = 32;
    options->width[1]   = 128;
    options->width[2]   = 512;
    while ((key = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        const int code = parse_one(key, options);

        if (code != BENCH_GOOD) {
            return code;
        }
    }
    return options->help ? BENCH_GOOD : settle(argc, argv, options);
}

void bench_options_free(bench_options_t *options)
{
    free(options->engine_text);
    options->engine_text = NULL;
    free(options->list_text);
    options->list_text = NULL;
}

void bench_print_help(FILE *out)
{
    (void)fprintf(
        out,
        "usage: spmm_bench (--matrix FILE | --generate SPEC | --matrix-list FILE)... [options]\n"
        "Time the engines of spmm_dist on one GPU: one row per matrix, engine and width, and a\n"
        "summary over the matrices.\n\n"
        "  --matrix FILE        .mtx, .mtx.gz, .csr or .smtx; may be given again\n"
        "  --generate SPEC      a generator (spmm_dist --help lists them); may be given again\n"
        "  --matrix-list FILE   one path or generator spec per line; # begins a comment\n"
        "  --columns N,N,...    widths of B and C [32,128,512]\n"
        "  --type TYPE          64f, 32f, 16f or 16bf [32f]\n"
        "  --yardstick TYPE     storage of the cusparse runs that ratios refer to [that of "
        "--type]\n"
        "  --compute MODE       64f, 32f or 32f-fast-tf32 [by type]\n"
        "  --layout LAYOUT      row or col [row]\n"
        "  --engines A,B,...    engines by name; auto: what a plan chooses [all but auto]\n"
        "  --reorder METHOD     order of rows: auto, none, affinity, tiles, rcm or metis [auto]\n"
        "  --executes K         products that will follow; bounds the tuning by auto [1000]\n"
        "  --iterations K       timed products, the median counts [20]\n"
        "  --warmup K           products before them [3]\n"
        "  --rotate             change B and C with every product, over twice L2 in all\n"
        "  --flush              overwrite L2 before every product\n"
        "  --also-rotate        time again with rotating B and C, in a column of its own\n"
        "  --deterministic      bitwise equal results from run to run\n"
        "  --no-autotune        engine auto chooses by the cost model\n"
        "  --seed S             of generated matrices and dense blocks [1]\n"
        "  --out FILE           the same rows as tab-separated values\n"
        "  --note TEXT          a first line of the header\n"
        "  -h, --help           print this help\n\n"
        "The ratio column is the median time of engine cusparse, in the type of --yardstick, over "
        "that\n"
        "of the row's engine; build ms is the host time of making the plan; limit ms is the "
        "modelled\n"
        "lower time on one H200, bench/README.md says how.\n"
        "The error is max |C - ref| / (|A||B|) against an FP64 product on the host, of all rows\n"
        "or of those that 4e8 multiplications allow.\n"
        "What cannot run is reported and left out; only a lost GPU ends the run.\n"
        "exit codes: 0 good, 1 an error above its bound, 2 usage, 3 matrix input, 4 other\n");
}
