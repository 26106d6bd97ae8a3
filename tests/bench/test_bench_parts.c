/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 LABEL driver NEEDS SPMM_BUILD_TOOLS INCLUDE tools/bench
 *      LINK spmm_tools spmm_internal
 *      SOURCES tools/bench/bench_limit.c tools/bench/bench_list.c tools/bench/bench_options.c
 *          tools/bench/bench_report.c */
/* The parts of spmm_bench that need no GPU: options, the modelled limit, rows and summary. */
#include <getopt.h>

#include "test_main.h"

#include "bench_limit.h"
#include "bench_report.h"

enum { ARGUMENTS = 16 };

/* bench_options_parse() of words with blanks between them. */
static int parse(const char *line, bench_options_t *options)
{
    static char text[512];
    char       *argv[ARGUMENTS + 1] = {(char[]){"spmm_bench"}};
    char       *rest                = NULL;
    int         argc                = 1;

    assert_true(strlen(line) < sizeof text);
    strcpy(text, line);
    for (char *word = strtok_r(text, " ", &rest); word != NULL && argc < ARGUMENTS;
         word       = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    optind = 1;
    return bench_options_parse(argc, argv, options);
}

static void test_options(void **state)
{
    static bench_options_t o;

    assert_int_equal(BENCH_GOOD, parse("--matrix a.mtx --generate rmat:scale=3 --columns 7,64 "
                                       "--engines auto,hrpb --also-rotate --note hello",
                                       &o));
    assert_int_equal(2, o.n_inputs);
    assert_false(o.input[0].generated);
    assert_true(o.input[1].generated);
    assert_int_equal(2, o.n_widths);
    assert_int_equal(64, o.width[1]);
    assert_int_equal(2, o.n_engines);
    assert_string_equal("auto", o.engine[0]);
    assert_string_equal("hello", o.note);
    assert_true(o.also_rotate);
    assert_false(o.no_autotune);
    assert_int_equal(BENCH_WARM, o.cache);
    assert_int_equal(SPMM_COMPUTE_32F, o.compute);
    bench_options_free(&o);

    assert_int_equal(BENCH_GOOD, parse("--matrix a.mtx --type 64f --flush --no-autotune", &o));
    assert_true(o.no_autotune);
    assert_int_equal(SPMM_COMPUTE_64F, o.compute);
    assert_int_equal(BENCH_FLUSH, o.cache);
    assert_int_equal(BENCH_GOOD, parse("--matrix a.mtx --compute 32f-fast-tf32", &o));
    assert_int_equal(SPMM_COMPUTE_32F_FAST_TF32, o.compute);
    assert_int_equal(SPMM_R_32F, o.yardstick);
    assert_int_equal(BENCH_GOOD, parse("--matrix a.mtx --type 16f --yardstick 32f", &o));
    assert_int_equal(SPMM_R_16F, o.type);
    assert_int_equal(SPMM_R_32F, o.yardstick);
    assert_int_equal(BENCH_GOOD, parse("--help", &o));
    assert_true(o.help);
}

static void test_refused_options(void **state)
{
    static const char *const refused[] = {
        "",
        "--matrix a.mtx --columns 32,",
        "--matrix a.mtx --columns 0",
        "--matrix a.mtx --columns x",
        "--matrix a.mtx --iterations 0",
        "--matrix a.mtx --warmup -1",
        "--matrix a.mtx --seed 1.5",
        "--matrix a.mtx --type 8f",
        "--matrix a.mtx --compute tf32",
        "--matrix a.mtx --yardstick fast",
        "--matrix a.mtx --layout diagonal",
        "--matrix a.mtx --engines ,",
        "--matrix a.mtx --rotate --flush",
        "--matrix a.mtx --rotate --also-rotate",
        "--matrix a.mtx --flush --also-rotate",
        "--matrix a.mtx --no-such-option",
        "--matrix a.mtx stray",
        "--matrix a\tb.mtx",
        "--generate rmat:scale=3\n",
        "--matrix a.mtx --note one\ntwo",
        "--matrix",
        "--matrix-list /no/such/file",
        "--matrix-list /",
    };
    static bench_options_t o;

    opterr = 0;
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        if (parse(refused[k], &o) != BENCH_USAGE) {
            fail_msg("accepted: %s", refused[k]);
        }
        bench_options_free(&o);
    }
}

/* @p text in a file of its own; its path is valid until the next call. */
static const char *write_file(const char *text, size_t size)
{
    static char path[] = "/tmp/spmm_bench_XXXXXX";
    int         fd;
    FILE       *file;

    strcpy(path + sizeof path - 7, "XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    file = fdopen(fd, "w");
    assert_non_null(file);
    assert_int_equal(size, fwrite(text, 1, size, file));
    assert_int_equal(0, fclose(file));
    return path;
}

static void test_matrix_list(void **state)
{
    static const char list[] = "# a comment\n"
                               "\n"
                               "  /data/a b.mtx.gz\t# one\r\n"
                               "rmat:scale=4,degree=2\n"
                               "./odd:name.csr\n"
                               "plain.csr";
    static const struct {
        const char *name;
        bool        generated;
    } expected[] = {{"/data/a b.mtx.gz", false},
                    {"rmat:scale=4,degree=2", true},
                    {"./odd:name.csr", false},
                    {"plain.csr", false}};
    static bench_options_t o;
    const char            *path = write_file(list, sizeof list - 1);
    char                   line[256];

    (void)snprintf(line, sizeof line, "--matrix first.mtx --matrix-list %s", path);
    assert_int_equal(BENCH_GOOD, parse(line, &o));
    assert_int_equal(5, o.n_inputs);
    for (int k = 0; k < 4; k++) {
        assert_string_equal(expected[k].name, o.input[k + 1].name);
        assert_int_equal(expected[k].generated, o.input[k + 1].generated);
    }
    bench_options_free(&o);
    (void)snprintf(line, sizeof line, "--matrix-list %s --matrix-list %s", path, path);
    assert_int_equal(BENCH_USAGE, parse(line, &o));
    bench_options_free(&o);
    assert_int_equal(0, remove(path));
}

/* What would be lost: the rest of a list behind a zero byte, and a matrix under the table. */
static void test_lost_files(void **state)
{
    static const char      list[] = "a.mtx\n\0b.mtx\n";
    static bench_options_t o;
    const char            *path = write_file(list, sizeof list - 1);
    char                   line[256];

    (void)snprintf(line, sizeof line, "--matrix-list %s", path);
    assert_int_equal(BENCH_USAGE, parse(line, &o));
    bench_options_free(&o);
    (void)snprintf(line, sizeof line, "--matrix %s --out %s", path, path);
    assert_int_equal(BENCH_USAGE, parse(line, &o));
    bench_options_free(&o);
    (void)snprintf(line, sizeof line, "--matrix %s --out /dev/null", path);
    assert_int_equal(BENCH_GOOD, parse(line, &o));
    bench_options_free(&o);
    assert_int_equal(0, remove(path));
}

/* A list larger than a first read, and with more matrices than a run takes. */
static void test_long_matrix_list(void **state)
{
    enum { LINE = 64, LINES = BENCH_MANY + 1 };
    static char            text[LINE * LINES + 1];
    static bench_options_t o;
    char                   line[256];
    const char            *path;

    for (int k = 0; k < LINES; k++) {
        (void)snprintf(text + (ptrdiff_t)k * LINE, LINE + 1, "%0*d\n", LINE - 1, k);
    }
    path = write_file(text, (size_t)LINE * BENCH_MANY);
    (void)snprintf(line, sizeof line, "--matrix-list %s", path);
    assert_int_equal(BENCH_GOOD, parse(line, &o));
    assert_int_equal(BENCH_MANY, o.n_inputs);
    assert_int_equal(BENCH_MANY - 1, atoi(o.input[BENCH_MANY - 1].name));
    bench_options_free(&o);
    assert_int_equal(0, remove(path));
    path = write_file(text, (size_t)LINE * LINES);
    (void)snprintf(line, sizeof line, "--matrix-list %s", path);
    assert_int_equal(BENCH_USAGE, parse(line, &o));
    bench_options_free(&o);
    assert_int_equal(0, remove(path));
}

/* 35 rows: two windows and a part of one.  Entry (i, j) where (7 i + 5 j) % 11 < 2, columns above
 * 20 never. */
static void test_pattern(void **state)
{
    enum { ROWS = 35, COLS = 24 };
    int64_t         row_ptr[ROWS + 1] = {0}, col_idx[ROWS * COLS], pairs = 0, used = 0;
    bench_pattern_t p;
    bool            full[ROWS][COLS] = {{false}};

    for (int i = 0; i < ROWS; i++) {
        row_ptr[i + 1] = row_ptr[i];
        for (int j = 0; j <= 20; j++) {
            if ((7 * i + 5 * j) % 11 < 2) {
                full[i][j]                = true;
                col_idx[row_ptr[i + 1]++] = j;
            }
        }
    }
    for (int j = 0; j < COLS; j++) {
        bool any = false;

        for (int w = 0; w < 3; w++) {
            bool here = false;

            for (int i = 16 * w; i < 16 * w + 16 && i < ROWS; i++) {
                here = here || full[i][j];
            }
            pairs += here;
            any = any || here;
        }
        used += any;
    }
    assert_int_equal(BENCH_GOOD, bench_pattern_scan(ROWS, COLS, row_ptr, col_idx, &p));
    assert_int_equal(ROWS, p.rows);
    assert_int_equal(row_ptr[ROWS], p.nnz);
    assert_int_equal(pairs, p.pairs);
    assert_int_equal(used, p.used_cols);
    assert_int_equal(21, used);

    assert_int_equal(BENCH_GOOD, bench_pattern_scan(0, 0, row_ptr, col_idx, &p));
    assert_int_equal(0, p.pairs);
}

static void assert_near(double expected, double value)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected))) {
        fail_msg("%.12g instead of %.12g", value, expected);
    }
}

static void test_limit(void **state)
{
    const bench_pattern_t gather = {1000, 50000, 1000, 40000};
    const bench_pattern_t memory = {1000000, 3000000, 1000000, 2000000};
    bench_pattern_t       wide   = {100, 1000, 250000, 300000};

    /* 40000 rows of 512 bytes at 8.9 TB/s against 1.4 MB of device memory. */
    assert_near(40000.0 * 512 / 8.9e12, bench_limit_seconds(&gather, 128, 4));
    /* A of 3e6 entries of 8 bytes and 1000001 row pointers, 2e6 rows of 128 bytes. */
    assert_near((24e6 + 4000004.0 + 2e6 * 128) / 4.3e12, bench_limit_seconds(&memory, 32, 4));
    assert_near((36e6 + 4000004.0 + 2e6 * 256) / 4.3e12, bench_limit_seconds(&memory, 32, 8));
    /* Working sets below the table, half way between two of its lines, and beyond it. */
    assert_near(40000.0 * 512 / 8.9e12, bench_gather_seconds(&gather, 128, 4));
    assert_near(300000.0 * 384 / 6.45e12, bench_gather_seconds(&wide, 96, 4));
    wide.used_cols = 10000000;
    assert_near(300000.0 * 384 / 4.5e12, bench_gather_seconds(&wide, 96, 4));
}

/* clang-format off */
static const bench_row_t rows[] = {
    {"bcsstk29.mtx.gz", "auto", "bittcf", 13992, 13992, 619488, 32, 13992, 1e-5, NAN, 0.0405,
     1.999e-6, 1.381e-6, 1.25, NAN, 3e-4, true, 1.25e-5, "none", 2.5e-3, 3e-2, 5e-3, 16200, 12200},
    {"bcsstk29.mtx.gz", "auto", "bittcf", 13992, 13992, 619488, 128, 13992, 2e-5, 2.5e-5, 0.0405,
     5.525e-6, 5.525e-6, 2.0, 1.6, 3e-4, true, 1.5e-5, "affinity", 2.5e-3, 3e-2, 5e-3, 2025, 1525},
    {"bcsstk29.mtx.gz", "hrpb", "hrpb", 13992, 13992, 619488, 128, 13992, 5e-5, 6.25e-5, 0.0405,
     5.525e-6, 5.525e-6, 0.8, 0.64, 3e-4, true, NAN, "none", 0, 0, 0, INFINITY, INFINITY},
    {"syn-cant.csr", "auto", "hrpb", 62451, 62451, 4007383, 128, 62451, 6e-5, 6.25e-5, 0.09, 3e-5,
     4.2631e-5, 4.0, 3.9, 3e-4, true, 2.5e-5, "none", 1e-3, 5e-2, 3e-2, 500, 0},
    {"syn-cant.csr", "hrpb", "hrpb", 62451, 62451, 4007383, 128, 62451, 2e-5, 2e-5, 0.09, 3e-5,
     4.2631e-5, 12.0, 12.1875, 0.4, false, 2.5e-5, "affinity", 1e-3, 5e-2, 3e-2, 400, 0},
    {"syn-reddit.csr", "auto", "cusparse", 232965, 232965, 114848856, 128, 7067, 0.016, 0.016, NAN,
     0.008, 0.009471, 0.5, 0.5, 2e-4, true, 2.5e-5, "none", NAN, NAN, NAN, INFINITY, INFINITY},
};
/* clang-format on */

/* The file beside this one was worked out by hand. */
static void test_report(void **state)
{
    static bench_options_t options;
    static char            wanted[8192], written[8192];
    FILE                  *fixture = fopen(SPMM_TEST_DATA_DIR "/../bench/bench_rows.tsv", "r");
    FILE                  *tsv     = tmpfile();
    bench_report_t         report  = {.options = &options, .tsv = tsv};

    assert_non_null(fixture);
    assert_non_null(tsv);
    options.type = options.yardstick = SPMM_R_32F;
    options.compute                  = SPMM_COMPUTE_32F_FAST_TF32;
    bench_report_titles(&report);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        assert_int_equal(BENCH_GOOD, bench_report_row(&report, &rows[k]));
    }
    bench_report_summary(&report);
    bench_report_free(&report);
    assert_int_equal(0, fseek(tsv, 0, SEEK_SET));
    assert_true(fread(written, 1, sizeof written - 1, tsv) > 0);
    assert_true(fread(wanted, 1, sizeof wanted - 1, fixture) > 0);
    assert_string_equal(wanted, written);
    (void)fclose(fixture);
    (void)fclose(tsv);
}

SPMM_TESTS(test_options, test_refused_options, test_matrix_list, test_lost_files,
           test_long_matrix_list, test_pattern, test_limit, test_report);
