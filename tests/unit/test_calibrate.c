/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_calibrate.c  The file that keeps a device's rates. */
#include "test_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include "device/calibrate.h"

enum { PATH_BYTES = 512 };
static char folder[] = "/tmp/spmm_calibrate_XXXXXX";

static spmm_device_t rates(double copy)
{
    spmm_device_t device = {.n_sm = 7, .copy_bw = copy};

    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        device.gather_bw[k] = copy * (k + 2);
    }
    return device;
}

static void remove_file(const char *path)
{
    assert_int_equal(remove(path), 0);
}

static void test_wanted(void **state)
{
    assert_int_equal(unsetenv("SPMM_CALIBRATE"), 0);
    assert_true(spmmi_calibrate_wanted());
    assert_int_equal(setenv("SPMM_CALIBRATE", "1", 1), 0);
    assert_true(spmmi_calibrate_wanted());
    assert_int_equal(setenv("SPMM_CALIBRATE", "0", 1), 0);
    assert_false(spmmi_calibrate_wanted());
}

static void test_path(void **state)
{
    char path[PATH_BYTES];

    assert_int_equal(setenv("HOME", "/home/x", 1), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("SPMM_CACHE_DIR"), 0);
    assert_true(spmmi_calibrate_path("NVIDIA H200 a/b-1.2", path, sizeof path));
    assert_string_equal(path, "/home/x/.cache/spmm_dist/NVIDIA_H200_a_b-1.2.txt");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/c d", 1), 0);
    assert_true(spmmi_calibrate_path("k", path, sizeof path));
    assert_string_equal(path, "/c d/spmm_dist/k.txt");
    assert_int_equal(setenv("SPMM_CACHE_DIR", "/own", 1), 0);
    assert_true(spmmi_calibrate_path("k", path, sizeof path));
    assert_string_equal(path, "/own/k.txt");
    assert_false(spmmi_calibrate_path("k", path, strlen("/own/k.txt")));

    /* Relative folders would be others in every working directory. */
    assert_int_equal(setenv("SPMM_CACHE_DIR", "own", 1), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_false(spmmi_calibrate_path("k", path, sizeof path));
}

static void test_store_and_load(void **state)
{
    spmm_device_t device = rates(4321098765432.0), read = {.n_sm = 7};
    char          path[PATH_BYTES], below[PATH_BYTES];

    (void)snprintf(below, sizeof below, "%s/new", folder);
    (void)snprintf(path, sizeof path, "%s/new/k.txt", folder);
    assert_false(spmmi_calibrate_load(path, &read));
    assert_true(spmmi_calibrate_store(path, &device));
    assert_true(spmmi_calibrate_load(path, &read));
    assert_memory_equal(&read, &device, sizeof read);
    device = rates(2e12); /* another takes its place */
    assert_true(spmmi_calibrate_store(path, &device));
    assert_true(spmmi_calibrate_load(path, &read));
    assert_memory_equal(&read, &device, sizeof read);
    remove_file(path);
    assert_int_equal(rmdir(below), 0); /* and nothing else is left */
    (void)snprintf(path, sizeof path, "%s/file/k.txt", folder);
    (void)snprintf(below, sizeof below, "%s/file", folder);
    assert_int_equal(fclose(fopen(below, "w")), 0);
    assert_false(spmmi_calibrate_store(path, &device));
    remove_file(below);
}

/* What another version or a crash left is not believed. */
static void test_bad_files(void **state)
{
    static const char *const texts[] = {
        "",
        "spmm_dist rates 2\ncopy 4000000000000\n",
        "spmm_dist rates 1\n",
        "spmm_dist rates 1\ncopy 4000000000000\ngather-32000000 9000000000000\n",
        "spmm_dist rates 1\ncopy x\n",
        "spmm_dist rates 1\ncopy 4000000000000 5\n",
        "spmm_dist rates 1\ncopy 3\n",
        "spmm_dist rates 1\ncopy 99999999999999999999999999\n",
    };
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/bad.txt", folder);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        const spmm_device_t before = rates(1.0);
        spmm_device_t       device = rates(1.0);
        FILE               *out    = fopen(path, "w");

        assert_non_null(out);
        assert_true(fputs(texts[t], out) >= 0);
        assert_int_equal(fclose(out), 0);
        assert_false(spmmi_calibrate_load(path, &device));
        assert_memory_equal(&device, &before, sizeof device);
    }
    remove_file(path);
}

/* What stands at the place of the file and is none is not waited for; a file replaces a pipe. */
static void test_no_files(void **state)
{
    spmm_device_t device = rates(2e12), read = {.n_sm = 7};
    char          path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/none.txt", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(spmmi_calibrate_load(path, &read));
    assert_false(spmmi_calibrate_store(path, &device));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(spmmi_calibrate_load(path, &read));
    assert_true(spmmi_calibrate_store(path, &device));
    assert_true(spmmi_calibrate_load(path, &read));
    assert_memory_equal(&read, &device, sizeof read);
    remove_file(path);
}

/* Rates that a busy device gave are neither believed nor taken from a file: of 4.8 TB/s in theory a
 * copy reaches 4.3; under a sanitizer gathers came to a thirtieth. */
static void test_busy_device(void **state)
{
    spmm_device_t device = rates(4.3e12);
    char          path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/busy.txt", folder);
    device.mem_bw = 4.8e12;
    assert_true(spmmi_calibrate_believed(&device));
    for (int k = -1; k < SPMM_GATHER_SETS; k++) {
        spmm_device_t busy = device, read = {.mem_bw = 4.8e12};
        double       *slow = k < 0 ? &busy.copy_bw : &busy.gather_bw[k];

        *slow /= 30.0;
        assert_false(spmmi_calibrate_believed(&busy));
        assert_true(spmmi_calibrate_store(path, &busy));
        assert_false(spmmi_calibrate_load(path, &read));
        assert_true(read.copy_bw == 0.0);
    }
    remove_file(path);
}

static void test_open_folder(void **state)
{
    assert_non_null(mkdtemp(folder));
}

static void test_close_folder(void **state)
{
    assert_int_equal(rmdir(folder), 0);
}

SPMM_TESTS(test_wanted, test_path, test_open_folder, test_store_and_load, test_bad_files,
           test_no_files, test_busy_device, test_close_folder);
