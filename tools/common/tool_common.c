/* SPDX-License-Identifier: Apache-2.0 */
#include "tool_common.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const tool_word_t tool_types[]    = {{"64f", SPMM_R_64F},
                                     {"32f", SPMM_R_32F},
                                     {"16f", SPMM_R_16F},
                                     {"16bf", SPMM_R_16BF},
                                     {"64c", SPMM_C_64F},
                                     {"32c", SPMM_C_32F},
                                     {NULL, 0}};
const tool_word_t tool_computes[] = {{"64f", SPMM_COMPUTE_64F},
                                     {"32f", SPMM_COMPUTE_32F},
                                     {"32f-fast-tf32", SPMM_COMPUTE_32F_FAST_TF32},
                                     {"auto", SPMM_COMPUTE_AUTO},
                                     {NULL, 0}};
const tool_word_t tool_layouts[]  = {{"row", SPMM_LAYOUT_ROW}, {"col", SPMM_LAYOUT_COL}, {NULL, 0}};

void tool_hold_streams(void)
{
    for (int file = 0; file <= STDERR_FILENO; file++) {
        /* The lowest that is free, which is this one; open to be read alone, so that writing to it
         * fails. */
        if (fcntl(file, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != file) {
            _exit(4); /* DRIVER_OTHER */
        }
    }
}

const char *tool_flush_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return NULL;
    }
    return errno == 0 ? "an earlier write to it failed" : strerror(errno);
}

const tool_word_t *tool_word_find(const tool_word_t *words, const char *text)
{
    for (; words->name != NULL; words++) {
        if (strcmp(words->name, text) == 0) {
            return words;
        }
    }
    return NULL;
}

const char *tool_word_name(const tool_word_t *words, int value)
{
    for (; words->name != NULL; words++) {
        if (words->value == value) {
            return words->name;
        }
    }
    return "auto";
}

/** As strtoll(), which knows no least number. */
static bool read_part(const char *text, int64_t least, char **end, int64_t *value)
{
    errno  = 0;
    *value = strtoll(text, end, 10);
    return errno == 0 && *end != text && *value >= least;
}

bool tool_is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) {
            return true;
        }
    }
    return list == NULL;
}

bool tool_read_int(const char *text, int64_t least, int64_t *value)
{
    char   *end;
    int64_t read;

    if (!read_part(text, least, &end, &read) || *end != '\0') {
        return false;
    }
    *value = read;
    return true;
}

int tool_read_widths(const char *text, int64_t step, int64_t *width, int most)
{
    for (int n = 0; n < most; n++) {
        char *end;

        if (!read_part(text, step, &end, &width[n]) || width[n] % step != 0) {
            return 0;
        }
        if (*end != ',') {
            return *end == '\0' ? n + 1 : 0;
        }
        text = end + 1;
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

double tool_median(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

double tool_roundoff(spmm_type_t type)
{
    return type == SPMM_TYPE_AUTO ? 0.0
           : type == SPMM_R_16BF  ? 0x1p-8
           : type == SPMM_R_16F   ? 0x1p-11
                                  : 0x1p-24;
}

double tool_tolerance(spmm_type_t type, spmm_compute_t compute)
{
    double storage = 1e-12;
    double sums    = 1e-12;

    if (type == SPMM_R_32F || type == SPMM_C_32F) {
        storage = 5e-6;
    } else if (type == SPMM_R_16F) {
        storage = 2e-3;
    } else if (type == SPMM_R_16BF) {
        storage = 1.6e-2;
    }
    if (compute == SPMM_COMPUTE_32F) {
        sums = 5e-6;
    } else if (compute == SPMM_COMPUTE_32F_FAST_TF32) {
        sums = 2e-3;
    }
    return storage > sums ? storage : sums;
}

tool_range_t tool_range(spmm_type_t type, int64_t terms)
{
    const double n =
        (double)terms; /* each product in the type that sums are kept in, then C in its own */

    switch (type) {
    case SPMM_C_64F:
    case SPMM_R_64F:
        return (tool_range_t){DBL_MAX, (n + 1.0) * DBL_MIN};
    case SPMM_C_32F:
    case SPMM_R_32F:
        return (tool_range_t){(double)FLT_MAX, (n + 1.0) * (double)FLT_MIN};
    case SPMM_R_16F: /* subnormals are multiples of 2^-24 and never flushed */
        return (tool_range_t){65504.0, n * (double)FLT_MIN + 0x1p-25};
    case SPMM_R_16BF:
        return (tool_range_t){0x1.fep127, (n + 1.0) * (double)FLT_MIN};
    case SPMM_TYPE_AUTO:
        break;
    }
    return (tool_range_t){0.0, 0.0};
}

double tool_scale_of_b(double most)
{
    double scale = 1.0;

    while (most * scale > 3e4 && scale > 0x1p-12) {
        scale /= 2.0;
    }
    return scale;
}

double tool_relative_error(double got, double want, double bound, double eta)
{
    const double difference = fabs(got - want);

    if (!isfinite(got)) {
        return INFINITY;
    }
    if (difference == 0.0) {
        return 0.0;
    }
    if (bound == 0.0) {
        return INFINITY;
    }
    return difference > eta ? (difference - eta) / bound : 0.0;
}
