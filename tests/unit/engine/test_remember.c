/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 */
/** @file test_remember.c  What a choice is remembered by, and files that are not what they should
 *  be. */
#include "fake_engines.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "clock_device.h"
#include "device/calibrate.h"
#include "engine/tune/remember.h"

static char folder[] = "/tmp/spmm_remember_XXXXXX";

static void test_open_folder(void **state)
{
    if (spmm_test_env.rank == 0) {
        assert_non_null(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, spmm_test_env.comm);
    assert_int_equal(setenv("SPMM_CACHE_DIR", folder, 1), 0);
    assert_int_equal(setenv("SPMM_REMEMBER", "1", 1), 0);
}

static void test_close_folder(void **state)
{
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        assert_int_equal(rmdir(folder), 0); /* and nothing is left in it */
    }
}

static void key_of(const spmm_csr_t *block, int64_t n, spmm_type_t type, bool adds,
                   char key[SPMM_REMEMBER_KEY])
{
    spmm_device_t        device  = {.cc = 90, .n_sm = 132, .threads = 2, .description = "NVIDIA H"};
    const spmm_problem_t problem = {.ab_type = type, .c_type = type, .n = n};

    spmmi_remember_key(block, &problem, &device, adds, key);
}

/* Whatever the choice may depend on makes another key. */
static void test_keys(void **state)
{
    static int64_t row_ptr[] = {0, 1, 3, 4}, moved_ptr[] = {0, 2, 3, 4};
    static int32_t col[] = {0, 1, 2, 3}, moved[] = {0, 1, 2, 4};
    spmm_csr_t block = {.n_rows = 3, .n_cols = 5, .c_rows = 3, .row_ptr = row_ptr, .col_idx = col};
    char       key[8][SPMM_REMEMBER_KEY], off[SPMM_REMEMBER_KEY];

    key_of(&block, 32, SPMM_R_32F, false, key[0]);
    key_of(&block, 33, SPMM_R_32F, false, key[1]);
    key_of(&block, 32, SPMM_R_64F, false, key[2]);
    key_of(&block, 32, SPMM_R_32F, true, key[3]);
    block.row_ptr = moved_ptr;
    key_of(&block, 32, SPMM_R_32F, false, key[4]);
    block.row_ptr = row_ptr;
    block.col_idx = moved;
    key_of(&block, 32, SPMM_R_32F, false, key[5]);
    block.col_idx = col;
    block.n_cols  = 6;
    key_of(&block, 32, SPMM_R_32F, false, key[6]);
    block.n_cols = 5;
    key_of(&block, 32, SPMM_R_32F, false, key[7]);
    assert_true(strlen(key[0]) > 0);
    assert_string_equal(key[0], key[7]);
    for (int a = 0; a < 7; a++) {
        for (int b = 0; b < a; b++) {
            assert_string_not_equal(key[a], key[b]);
        }
    }
    assert_int_equal(setenv("SPMM_REMEMBER", "0", 1), 0);
    key_of(&block, 32, SPMM_R_32F, false, off);
    assert_string_equal(off, "");
    assert_int_equal(setenv("SPMM_REMEMBER", "1", 1), 0);
}

/* Ranks that write at the same time: each reads one whole file. */
static void test_files(void **state)
{
    static const char key[] = "a key of many words";
    spmm_winner_t     read, winner = {.variant = spmm_test_env.rank, .seconds = 1.5e-5};

    (void)snprintf(winner.engine, sizeof winner.engine, "bcsr-sp24");
    assert_false(spmmi_remember_load("", &read));
    assert_false(spmmi_remember_store("", &winner));
    assert_false(spmmi_remember_load("another", &read));
    for (int round = 0; round < 50; round++) {
        assert_true(spmmi_remember_store(key, &winner));
        assert_true(spmmi_remember_load(key, &read));
        assert_string_equal(read.engine, winner.engine);
        assert_in_range(read.variant, 0, spmm_test_env.size - 1);
        assert_true(fabs(read.seconds - winner.seconds) < 1e-12);
    }
    MPI_Barrier(spmm_test_env.comm);
    if (spmm_test_env.rank == 0) {
        char path[SPMM_OUTPUT_PATH], name[64];

        (void)snprintf(name, sizeof name, "choice-%016" PRIx64, spmmi_hash_text(0, key));
        assert_true(spmmi_calibrate_path(name, path, sizeof path));
        assert_int_equal(remove(path), 0);
        assert_false(spmmi_remember_load(key, &read));
    }
}

/* What another version, another block of the same name or a crash left is not believed. */
static void test_bad_files(void **state)
{
    static const char        key[]   = "some key";
    static const char *const texts[] = {
        "",
        "spmm_dist choice 2\nsome key\nengine hrpb variant 0 takes 5\n",
        "spmm_dist choice 1\nsome kez\nengine hrpb variant 0 takes 5\n",
        "spmm_dist choice 1\nsome key\n",
        "spmm_dist choice 1\nsome key\nengine hrpb variant 0 takes 5",
        "spmm_dist choice 1\nsome key\nengine hrpb variant -1 takes 5\n",
        "spmm_dist choice 1\nsome key\nengine hrpb variant 0 takes 0\n",
        "spmm_dist choice 1\nsome key\nengine a/b variant 0 takes 5\n",
        "spmm_dist choice 1\nsome key\nengine "
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa variant 0 takes 5\n",
    };
    char name[64], path[SPMM_OUTPUT_PATH];

    if (spmm_test_env.rank > 0) {
        return;
    }
    (void)snprintf(name, sizeof name, "choice-%016" PRIx64, spmmi_hash_text(0, key));
    assert_true(spmmi_calibrate_path(name, path, sizeof path));
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        spmm_winner_t winner = {.variant = 7};
        FILE         *out    = fopen(path, "w");

        assert_non_null(out);
        assert_true(fputs(texts[t], out) >= 0);
        assert_int_equal(fclose(out), 0);
        assert_false(spmmi_remember_load(key, &winner));
        assert_int_equal(winner.variant, 7);
    }
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* whose writer is not waited for */
    assert_false(spmmi_remember_load(key, &(spmm_winner_t){0}));
    assert_int_equal(remove(path), 0);
}

/* A winner that cannot be built any more: the choice is made anew. */
static void test_gone(void **state)
{
    const double             predicted[N_FAKES] = {100, 110, 0, 0, 0};
    const spmm_problem_t     problem            = {.ab_type = SPMM_R_32F,
                                                   .c_type  = SPMM_R_32F,
                                                   .compute = SPMM_COMPUTE_32F,
                                                   .layout  = SPMM_LAYOUT_ROW,
                                                   .n       = PLANNED};
    static const char *const names[]            = {"one", "two", "nowhere"};
    char                     key[SPMM_REMEMBER_KEY], path[SPMM_OUTPUT_PATH], name[64];
    spmm_device_t            device;

    if (spmm_test_env.size > 1) { /* opening a device is collective, the rest is not */
        return;
    }
    fake_prepare(predicted);
    spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device));
    spmmi_remember_key(&fake_block, &problem, &device, true, key);
    for (int k = 0; k < 4; k++) {
        spmm_winner_t winner = {.seconds = 8e-5};

        (void)snprintf(winner.engine, sizeof winner.engine, "%s", names[k < 3 ? k : 0]);
        assert_true(spmmi_remember_store(key, &winner));
        fake_prepare(predicted);
        fakes[1].build_status = k == 3 ? SPMM_ERR_MEMORY : SPMM_OK;
        spmm_assert_ok(fake_settle(NULL, true));
        assert_int_equal(fake_settled.remembered, k == 0);
        if (k == 0) {
            assert_true(fabs(fake_candidates[1].measured_s - 8e-5) < 1e-9);
            fake_check_taken(1);
        } else {
            fake_check_taken(0);
        }
    }
    (void)snprintf(name, sizeof name, "choice-%016" PRIx64, spmmi_hash_text(0, key));
    assert_true(spmmi_calibrate_path(name, path, sizeof path));
    assert_int_equal(remove(path), 0);
    spmmi_device_close(&device);
}

SPMM_TESTS(test_open_folder, test_keys, test_files, test_bad_files, test_gone, test_close_folder);
