/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_output.c  Files that are replaced when they are whole: by way of links, on a full
 *  disk, and where somebody planted links. */
#include "test_main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

static const char old_text[] = "the old file", new_text[] = "the new file";
static char       folder[] = "/tmp/spmm_output_XXXXXX";

/* An empty folder, the working one, with a file "old" of mode 0640. */
void spmm_test_set_up(void)
{
    int file;

    (void)strcpy(strrchr(folder, '_') + 1, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    file = open("old", O_WRONLY | O_CREAT, 0640);
    assert_int_equal(write(file, old_text, strlen(old_text)), strlen(old_text));
    assert_int_equal(close(file), 0);
}

/* Exactly @p count entries are in the folder; they go. */
static void expect_entries(int count)
{
    DIR *entries = opendir(".");
    int  found   = 0;

    assert_non_null(entries);
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries)) {
        found += e->d_name[0] != '.';
        if (e->d_name[0] != '.') {
            (void)remove(e->d_name);
        }
    }
    (void)closedir(entries);
    assert_int_equal(found, count);
}

void spmm_test_tear_down(void)
{
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void expect_text(const char *path, const char *text)
{
    char   found[64] = "";
    FILE  *in        = fopen(path, "r");
    size_t length;

    assert_non_null(in);
    length = fread(found, 1, sizeof found - 1, in);
    (void)fclose(in);
    assert_int_equal(length, strlen(text));
    assert_string_equal(found, text);
}

static bool is_link(const char *path)
{
    struct stat facts;

    return lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);
}

/* @p times the new text into @p path; @return what open or close said */
static int put(const char *path, spmm_output_links_t links, int times)
{
    spmm_output_t out;
    const int     error = spmmi_output_open(&out, path, links);

    for (int k = 0; error == 0 && k < times; k++) {
        (void)fputs(new_text, out.stream);
    }
    return error == 0 ? spmmi_output_close(&out, true) : error;
}

static void test_links_lead_to_files(void **state)
{
    static const struct {
        const char *path, *to, *target;
    } links[] = {{"link", "old", "old"},
                 {"chain", "link", "old"},
                 {"dangling", "new", "new"},
                 {"new", NULL, "new"}};
    struct stat facts;

    for (size_t k = 0; k < sizeof links / sizeof links[0]; k++) {
        assert_true(links[k].to == NULL || symlink(links[k].to, links[k].path) == 0);
        assert_int_equal(spmmi_output_check(links[k].path), 0);
        assert_int_equal(put(links[k].path, SPMM_OUTPUT_FOLLOW, 1), 0);
        assert_int_equal(is_link(links[k].path), links[k].to != NULL);
        assert_false(is_link(links[k].target));
        expect_text(links[k].target, new_text);
    }
    assert_int_equal(stat("old", &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640); /* of the file that was there */
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(put("round", SPMM_OUTPUT_FOLLOW, 1), ELOOP);
    expect_entries(6);
}

/* The check of a path: nothing appears, nothing goes. */
static void test_check_changes_nothing(void **state)
{
    assert_int_equal(mkfifo("pipe", 0600), 0); /* without a reader: an open would wait */
    assert_int_equal(symlink("new", "dangling"), 0);
    assert_int_equal(spmmi_output_check("old"), 0);
    assert_int_equal(spmmi_output_check("new"), 0);
    assert_int_equal(spmmi_output_check("pipe"), 0);
    assert_int_equal(spmmi_output_check("dangling"), 0);
    assert_int_equal(spmmi_output_check("none/new"), ENOENT);
    assert_int_equal(spmmi_output_check("old/new"), ENOTDIR);
    assert_int_equal(spmmi_output_check(folder), EISDIR);
    assert_true(is_link("dangling"));
    expect_text("old", old_text);
    expect_entries(3);
}

/* A limit on the size of files stands for a full disk. */
static void test_full_disk(void **state)
{
    const struct rlimit little = {.rlim_cur = 64, .rlim_max = RLIM_INFINITY};
    struct rlimit       before;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    for (int times = 10; times <= 100000; times *= 100) { /* seen at the end, or long before it */
        assert_int_equal(put("old", SPMM_OUTPUT_FOLLOW, times), EFBIG);
        assert_int_equal(put("new", SPMM_OUTPUT_FOLLOW, times), EFBIG);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_text("old", old_text);
    expect_entries(1);
}

/* Devices, and files that are open already, as /dev/stdout is, are written in place. */
static void test_in_place(void **state)
{
    char      path[64];
    const int file = open("old", O_RDWR);

    assert_int_equal(put("/dev/null", SPMM_OUTPUT_FOLLOW, 1), 0);
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(put("/dev/full", SPMM_OUTPUT_FOLLOW, 1), ENOSPC);
        assert_int_equal(put("/dev/full", SPMM_OUTPUT_FOLLOW, 100000), ENOSPC);
    }
    (void)snprintf(path, sizeof path, "/dev/fd/%d", file);
    assert_int_equal(symlink(path, "link"), 0);
    assert_int_equal(put("link", SPMM_OUTPUT_FOLLOW, 2), 0);
    assert_int_equal(lseek(file, 0, SEEK_END), 2 * strlen(new_text));
    assert_int_equal(close(file), 0);
    expect_entries(2);
}

/* Links where the temporary file would be, and at the name itself where links are not followed. */
static void test_planted_links(void **state)
{
    char host[64] = "", path[256];

    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    (void)snprintf(path, sizeof path, "cache.%s.%ld.0.tmp", host, (long)getpid());
    assert_int_equal(symlink("old", path), 0);
    assert_int_equal(symlink("old", "cache"), 0);
    assert_int_equal(put("cache", SPMM_OUTPUT_REPLACE, 1), 0);
    assert_false(is_link("cache"));
    expect_text("cache", new_text);
    expect_text("old", old_text);
    expect_entries(3);
}

/* Nothing but a file is input, and no writer of a pipe is waited for. */
static void test_input(void **state)
{
    static const struct {
        const char *path, *other;
        int         error;
    } none[] = {{"pipe", "a device, pipe or socket", ESPIPE},
                {"/dev/zero", "a device, pipe or socket", ESPIPE},
                {"link", "a directory", EISDIR},
                {"missing", NULL, ENOENT}};
    const char *other;
    FILE       *in;
    char        found[sizeof old_text] = "";

    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink(".", "link"), 0);
    for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
        assert_null(spmmi_input_open(none[k].path, &other));
        assert_int_equal(errno, none[k].error);
        assert_true(other == NULL ? none[k].other == NULL : strcmp(other, none[k].other) == 0);
    }
    in = spmmi_input_open("old", &other);
    assert_non_null(in);
    assert_null(other);
    assert_int_equal(fread(found, 1, sizeof found, in), strlen(old_text));
    assert_int_equal(fclose(in), 0);
    assert_string_equal(found, old_text);
    expect_entries(3);
}

SPMM_TESTS(test_links_lead_to_files, test_check_changes_nothing, test_full_disk, test_in_place,
           test_planted_links, test_input);
