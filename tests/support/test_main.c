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

bool spmm_test_is_last(void)
{
    return spmm_test_env.rank == spmm_test_env.size - 1;
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

/* @return of all ranks */
static int most(int64_t mine)
{
    int of_all = mine != 0;

    MPI_Allreduce(MPI_IN_PLACE, &of_all, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    return of_all;
}

static bool fail_once(spmm_status_t (*go)(void *what), void *what, bool victim, spmm_status_t last,
                      int64_t k, int64_t *left)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
    spmm_status_t            status;
    bool                     reached;

    spmmi_error_clear(&spmm_test_env.err);
    spmmi_alloc_inject(victim ? k : -1);
    status  = go(what);
    reached = most(victim && spmmi_alloc_get_stats().calls - before.calls > k);
    spmmi_alloc_inject(-1);
    *left = spmmi_alloc_get_stats().live - before.live;
    if (status != (reached ? SPMM_ERR_MEMORY : last) &&
        !(reached && spmm_test_on_gpu() && status == SPMM_OK)) {
        fail_msg("allocation %lld: rank %d has status %d: %s", (long long)k, spmm_test_env.rank,
                 (int)status, spmmi_error_thread_text());
    }
    assert_int_equal(most(status != SPMM_OK), status != SPMM_OK);
    return reached;
}

int64_t spmm_test_sweep(spmm_status_t (*go)(void *what), void *what, int victim, spmm_status_t last)
{
    const int64_t stride  = spmm_test_number("SPMM_TEST_STRIDE", 1);
    const bool    mine    = victim < 0 || victim == spmm_test_env.rank;
    bool          reached = true;
    int64_t       k, left;

    for (k = 0; reached; k += stride) {
        reached = fail_once(go, what, mine, last, k, &left);
        if (spmm_test_on_gpu() && most(left)) { /* what a context keeps, once: a leak comes again */
            reached = fail_once(go, what, mine, last, k, &left);
        }
        if (left != 0) {
            fail_msg("allocation %lld: %lld blocks are left on rank %d", (long long)k,
                     (long long)left, spmm_test_env.rank);
        }
    }
    spmmi_error_clear(&spmm_test_env.err);
    return k - stride;
}

void *spmm_test_malloc(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    assert_non_null(memory);
    return memory;
}

void *spmm_test_calloc(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);

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
    const char *names  = spmm_test_names;
    int         failed = 0, run = 0, provided;

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
    for (int i = 0; spmm_tests[i] != NULL && failed == 0; i++) {
        char                    name[100] = "";
        const struct CMUnitTest test      = {name, spmm_tests[i], set_up, tear_down, NULL};

        (void)sscanf(names, "%99[^,]", name);
        names += strspn(names + strcspn(names, ","), ", ") + strcspn(names, ",");
        if (argc > 1 && strcmp(argv[1], test.name) != 0) {
            continue; /* the test of this name alone */
        }
        run++;
        spmmi_error_clear(&spmm_test_env.err);
        failed = _cmocka_run_group_tests(test.name, &test, 1, NULL, NULL);
        if (failed != 0) {
            (void)fprintf(stderr, "rank %d of %d: test %s failed\n", spmm_test_env.rank,
                          spmm_test_env.size, name);
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
