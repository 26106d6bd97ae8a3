/* SPDX-License-Identifier: Apache-2.0 */
#include "device/calibrate.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024, LINE_BYTES = 128, NAME_BYTES = 32, RATES = SPMM_GATHER_SETS + 1 };
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

/* A line "NAME NUMBER". */
static bool read_rate(FILE *in, const spmm_rate_t *rate)
{
    const size_t length = strlen(rate->name);
    char         line[LINE_BYTES], *end;
    long long    number;

    if (fgets(line, sizeof line, in) == NULL || strncmp(line, rate->name, length) != 0 ||
        line[length] != ' ') {
        return false;
    }
    errno        = 0;
    number       = strtoll(line + length, &end, 10);
    *rate->value = (double)number;
    return errno == 0 && *end == '\n' && *rate->value > rate->least && *rate->value < rate->most;
}

bool spmmi_rates_load(const char *path, const char *first, int count, const spmm_rate_t *rate)
{
    const char *other;
    char        line[LINE_BYTES];
    FILE       *in = spmmi_input_open(path, &other);
    bool        good;

    if (in == NULL) {
        return false;
    }
    good = fgets(line, sizeof line, in) != NULL && strncmp(line, first, strlen(first)) == 0 &&
           strcmp(line + strlen(first), "\n") == 0;
    for (int k = 0; k < count && good; k++) {
        good = read_rate(in, &rate[k]);
    }
    (void)fclose(in);
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

bool spmmi_cache_open(const char *path, spmm_output_t *out)
{
    make_folders(path);
    return spmmi_output_open(out, path, SPMM_OUTPUT_REPLACE) == 0;
}

bool spmmi_rates_store(const char *path, const char *first, int count, const spmm_rate_t *rate)
{
    spmm_output_t out;

    if (!spmmi_cache_open(path, &out)) {
        return false;
    }
    (void)fprintf(out.stream, "%s\n", first);
    for (int k = 0; k < count; k++) {
        (void)fprintf(out.stream, "%s %.0f\n", rate[k].name, *rate[k].value);
    }
    return spmmi_output_close(&out, true) == 0;
}

/* The rates of @p device, by name. */
static void list_rates(spmm_device_t *device, char name[SPMM_GATHER_SETS][NAME_BYTES],
                       spmm_rate_t rate[RATES])
{
    rate[0] = (spmm_rate_t){"copy", 1e9, 1e15, &device->copy_bw};
    for (int k = 0; k < SPMM_GATHER_SETS; k++) {
        (void)snprintf(name[k], NAME_BYTES, "gather-%" PRId64, (int64_t)spmmi_gather_sets[k]);
        rate[k + 1] = (spmm_rate_t){name[k], 1e9, 1e15, &device->gather_bw[k]};
    }
}

/* GPUs copy at 0.8 to 0.95 of the theoretical rate, and random rows of 512 bytes come no slower
 * than 0.7 of a copy from device memory. */
bool spmmi_calibrate_believed(const spmm_device_t *device)
{
    const double least_copy = 0.5, least_gather = 0.4;
    bool         believed = device->copy_bw >= least_copy * device->mem_bw;

    for (int k = 0; k < SPMM_GATHER_SETS && believed; k++) {
        believed = device->gather_bw[k] >= least_gather * device->copy_bw;
    }
    return believed;
}

bool spmmi_calibrate_load(const char *path, spmm_device_t *device)
{
    spmm_device_t read = *device;
    char          name[SPMM_GATHER_SETS][NAME_BYTES];
    spmm_rate_t   rate[RATES];

    list_rates(&read, name, rate);
    if (!spmmi_rates_load(path, title, RATES, rate) || !spmmi_calibrate_believed(&read)) {
        return false;
    }
    *device = read;
    return true;
}

bool spmmi_calibrate_store(const char *path, const spmm_device_t *device)
{
    spmm_device_t kept = *device;
    char          name[SPMM_GATHER_SETS][NAME_BYTES];
    spmm_rate_t   rate[RATES];

    list_rates(&kept, name, rate);
    return spmmi_rates_store(path, title, RATES, rate);
}
