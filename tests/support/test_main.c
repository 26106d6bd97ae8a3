/* SPDX-License-Identifier: Apache-2.0 */
#include "test_main.h"

#include "keep_loaded.h"

enum { SKIPPED = 77 };

spmm_env_t spmm_test_env;

__attribute__((weak)) int spmm_test_thread_level(void)
{
    return MPI_THREAD_SINGLE;
}

__attribute__((weak)) void spmm_test_set_up(void) {}

__attribute__((weak)) void spmm_test_tear_down(void) {}

static int set_up(void **state)
{
    spmm_test_set_up();
    return 0;
}

static int tear_down(void **state)
{
    spmm_test_tear_down();
    return 0;
}

bool spmm_test_on_gpu(void)
{
    const char *device = getenv("SPMM_TEST_DEVICE");

    return device != NULL && strcmp(device, "cuda") == 0;
}

int64_t spmm_test_number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoll(text, NULL, 10);
}

void spmm_test_skip(const char *why)
{
    (void)printf("SKIP: %s\n", why);
    (void)fflush(stdout);
    MPI_Comm_free(&spmm_test_env.comm);
    MPI_Finalize();
    exit(SKIPPED);
}

void spmm_assert_ok(spmm_status_t status)
{
    if (status != SPMM_OK) {
        print_error("status %d: %s\n", (int)status, spmmi_error_thread_text());
    }
    assert_int_equal(status, SPMM_OK);
}

void spmm_assert_error(spmm_status_t status, spmm_status_t want, const char *words)
{
    assert_int_equal(status, want);
    if (words != NULL && strstr(spmm_test_env.err.text, words) == NULL) {
        fail_msg("no '%s' in: %s", words, spmm_test_env.err.text);
    }
    spmmi_error_clear(&spmm_test_env.err);
}

void *spmm_test_malloc(size_t bytes)
{
    void *memory = malloc(bytes);

    assert_non_null(memory);
    return memory;
}

void *spmm_test_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    assert_non_null(memory);
    return memory;
}

void spmm_test_free_list(void **ptr, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        free(ptr[k]);
    }
}

int main(int argc, char **argv)
{
    int    failed = 0, run = 0, provided;
    size_t count = 0;

    MPI_Init_thread(&argc, &argv, spmm_test_thread_level(), &provided);
    if (provided < spmm_test_thread_level()) {
        (void)printf("SKIP: this MPI has no such threads\n");
        MPI_Finalize();
        return SKIPPED;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &spmm_test_env.comm);
    MPI_Comm_set_errhandler(spmm_test_env.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(spmm_test_env.comm, &spmm_test_env.rank);
    MPI_Comm_size(spmm_test_env.comm, &spmm_test_env.size);
    while (spmm_tests[count].test_func != NULL) {
        count++;
    }
    for (size_t i = 0; i < count && failed == 0; i++) {
        const struct CMUnitTest test = {spmm_tests[i].name, spmm_tests[i].test_func, set_up,
                                        tear_down, NULL};

        if (argc > 1 && strcmp(argv[1], test.name) != 0) {
            continue; /* the test of this name alone */
        }
        run++;
        spmmi_error_clear(&spmm_test_env.err);
        failed = _cmocka_run_group_tests(test.name, &test, 1, NULL, NULL);
        if (failed != 0) {
            (void)fprintf(stderr, "rank %d of %d: test %s failed\n", spmm_test_env.rank,
                          spmm_test_env.size, spmm_tests[i].name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (run == 0) {
        (void)fprintf(stderr, "no test %s\n", argc > 1 ? argv[1] : "at all");
        failed = 1;
    }
    MPI_Comm_free(&spmm_test_env.comm);
    MPI_Finalize();
    return failed;
}
