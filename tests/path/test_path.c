/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_path.c
 *  The files that one product passes on the calling thread, from spmm_execute() to the kernel: op
 *  N, FP64, two ranks, mpi-host, csr-cpu, the second execute.  They are those that
 *  docs/explanation/how_it_works.md lists.  Files of src/base and src/device do not count.
 */
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

#include "test_context.h"

enum { MOST_FILES = 8, MOST_FUNCTIONS = 4096, WIDTH = 4096 };

static void *entered[MOST_FUNCTIONS];
static int   n_entered;
static bool  tracing;

void __cyg_profile_func_enter(void *function, void *call) __attribute__((no_instrument_function));
void __cyg_profile_func_exit(void *function, void *call) __attribute__((no_instrument_function));

void __cyg_profile_func_enter(void *function, void *call)
{
    if (!tracing || omp_get_thread_num() != 0) {
        return;
    }
    for (int k = 0; k < n_entered; k++) {
        if (entered[k] == function) {
            return;
        }
    }
    if (n_entered < MOST_FUNCTIONS) {
        entered[n_entered++] = function;
    }
}

void __cyg_profile_func_exit(void *function, void *call)
{
    (void)function;
}

static void add(const char *path, char files[][WIDTH], int *n)
{
    for (int k = 0; k < *n; k++) {
        if (strcmp(files[k], path) == 0) {
            return;
        }
    }
    assert_true(*n < 64);
    (void)snprintf(files[(*n)++], WIDTH, "%s", path);
}

/* The .c files of the functions that were entered, from the top of the project. */
static int list_files(char files[][WIDTH])
{
    const size_t top  = strlen(SPMM_SOURCE_DIR "/");
    char        *line = malloc(WIDTH), *command = malloc(64 + 20 * MOST_FUNCTIONS);
    size_t       at;
    int          n = 0;
    FILE        *out;

    at = (size_t)sprintf(command, "%s -e /proc/%ld/exe", SPMM_ADDR2LINE, (long)getpid());
    for (int k = 0; k < n_entered; k++) {
        at += (size_t)sprintf(command + at, " %p", entered[k]);
    }
    out = popen(command, "r");
    assert_non_null(out);
    while (fgets(line, WIDTH, out) != NULL) {
        char       *path = strtok(line, ":"), *end = strrchr(path, '.');
        const char *name = strncmp(path, SPMM_SOURCE_DIR "/", top) == 0 ? path + top : path;

        for (const char *up = strstr(path, "../"); up != NULL; up = strstr(name, "../")) {
            name = up + 3; /* of compilers that are given relative paths */
        }
        if (end != NULL && strcmp(end, ".c") == 0) {
            add(name, files, &n);
        }
    }
    assert_int_equal(pclose(out), 0);
    spmm_test_free(line, command);
    return n;
}

/* Does the page name exactly these? */
static void compare_page(char files[][WIDTH], int n)
{
    FILE *page   = fopen(SPMM_SOURCE_DIR "/docs/explanation/how_it_works.md", "r");
    char *line   = malloc(WIDTH);
    int   listed = 0;

    assert_non_null(page);
    while (fgets(line, WIDTH, page) != NULL) {
        char *path = strstr(line, "../../"), *end = path == NULL ? NULL : strchr(path, ')');
        bool  found = false;

        if (strncmp(line, "| [", 3) != 0 || end == NULL || strncmp(end - 2, ".c", 2) != 0) {
            continue;
        }
        *end = '\0';
        for (int k = 0; k < n; k++) {
            found = found || strcmp(files[k], path + 6) == 0;
        }
        if (!found) {
            print_error("not passed: %s\n", path + 6);
        }
        assert_true(found);
        listed++;
    }
    assert_int_equal(fclose(page), 0);
    spmm_test_free(line);
    assert_int_equal(listed, n);
}

static void test_files(void **state)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_context_t     *ctx;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;
    void               *B, *C;
    enum { N = 8, ROWS = 400 };
    static char files[64][WIDTH];
    int         n;

    o.engine    = "csr-cpu";
    o.transport = "mpi-host";
    o.partition = "keep";
    test_context_open(&ctx);
    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=20,ny=20", SPMM_R_64F, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    spmm_assert_ok(spmm_buffer_alloc(ctx, sizeof(double) * N * ROWS, &B));
    spmm_assert_ok(spmm_buffer_alloc(ctx, sizeof(double) * N * ROWS, &C));
    memset(B, 0, sizeof(double) * N * ROWS);
    for (int k = 0; k < 2; k++) {
        tracing = k == 1;
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, NULL));
    }
    tracing = false;
    n       = list_files(files);
    for (int k = 0; k < n; k++) {
        print_message("%s\n", files[k]);
    }
    assert_in_range(n, 5, MOST_FILES);
    compare_page(files, n);
    test_context_free(ctx, &B, &C);
    test_context_destroy(&plan, &A, &ctx);
}

SPMM_TESTS(test_files);
