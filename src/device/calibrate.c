/* SPDX-License-Identifier: Apache-2.0 */
#include "device/calibrate.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"

enum { PATH_BYTES = 1024, LINE_BYTES = 128 };
static const char title[] = "spmm_dist rates 1";

const double spmmi_gather_sets[SPMM_GATHER_SETS] = {32e6, 48e6, 64e6, 128e6, 512e6};

bool spmmi_calibrate_wanted(void)
{
    const char *text = getenv("SPMM_CALIBRATE");

    return text == NULL || strcmp(text, "0") != 0;
}

static const char *folder_of(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL && text[0] == '/' ? text : NULL;
}

bool spmmi_calibrate_path(const char *key, char *path, size_t size)
{
    const char *own = folder_of("SPMM_CACHE_DIR"), *cache = folder_of("XDG_CACHE_HOME");
    const char *home = folder_of("HOME");
    int         n    = -1;

    if (own != NULL) {
        n = snprintf(path, size, "%s/%s.txt", own, key);
    } else if (cache != NULL) {
        n = snprintf(path, size, "%s/spmm_dist/%s.txt", cache, key);
    } else if (home != NULL) {
        n = snprintf(path, size, "%s/.cache/spmm_dist/%s.txt", home, key);
    }
    if (n < 0 || (size_t)n >= size) {
        return false;
    }
    for (char *c = path + n - strlen(key) - strlen(".txt"); *c != '\0'; c++) {
        if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-') {
            *c = '_';
        }
    }
    return true;
}

/* A line "NAME NUMBER": whole bytes per second, which no locale writes in another way. */
static bool read_rate(FILE *in, const char *name, double *rate)
{
    char      line[LINE_BYTES], *end;
    long long number;

    if (fgets(line, sizeof line, in) == NULL || strncmp(line, name, strlen(name)) != 0 ||
        line[strlen(name)] != ' ') {
        return false;
    }
    errno  = 0;
    number = strtoll(line + strlen(name), &end, 10);
    *rate  = (double)number;
    return errno == 0 && *end == '\n' && *rate > 1e9 && *rate < 1e15;
}

static void name_set(int k, char name[LINE_BYTES])
{
    (void)snprintf(name, LINE_BYTES, "gather-%" PRId64, (int64_t)spmmi_gather_sets[k]);
}

bool spmmi_calibrate_load(const char *path, spmm_device_t *device)
{
    spmm_device_t read = *device;
    char          line[LINE_BYTES];
    FILE         *in = fopen(path, "r");
    bool          good;

    if (in == NULL) {
        return false;
    }
    good = fgets(line, sizeof line, in) != NULL && strncmp(line, title, strlen(title)) == 0 &&
           strcmp(line + strlen(title), "\n") == 0 && read_rate(in, "copy", &read.copy_bw);
    for (int k = 0; k < SPMM_GATHER_SETS && good; k++) {
        name_set(k, line);
        good = read_rate(in, line, &read.gather_bw[k]);
    }
    (void)fclose(in);
    if (good) {
        *device = read;
    }
    return good;
}

/* All folders above the last '/'. */
static void make_folders(const char *path)
{
    char folder[PATH_BYTES];

    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        (void)mkdir(folder, 0700); /* what is not there after all, opening notices */
    }
}

bool spmmi_calibrate_store(const char *path, const spmm_device_t *device)
{
    spmm_output_t out;
    char          name[LINE_BYTES];

    make_folders(path);
    if (spmmi_output_open(&out, path, SPMM_OUTPUT_REPLACE) != 0) {
        return false;
    }
    (void)fprintf(out.stream, "%s\ncopy %.0f\n", title, device->copy_bw);
    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        name_set(k, name);
        (void)fprintf(out.stream, "%s %.0f\n", name, device->gather_bw[k]);
    }
    return spmmi_output_close(&out, true) == 0;
}
