/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int driver_parse_word(driver_job_t *job, const char *option, const char *text,
                      const tool_word_t *words, int *value)
{
    const tool_word_t *found      = tool_word_find(words, text);
    char               known[128] = "";
    size_t             used       = 0;

    if (found != NULL) {
        *value = found->value;
        return DRIVER_GOOD;
    }
    for (const tool_word_t *w = words; w->name != NULL; w++) {
        if (used < sizeof known) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", w->name);
        }
    }
    return driver_fail(job, DRIVER_USAGE, "--%s takes one of %s, not '%s'; see --help", option,
                       known, text);
}

/** Did strto* read all of @p text, from its first character to @p end? */
static int read_all(const char *text, const char *end)
{
    return end != text && *end == '\0' && !isspace((unsigned char)text[0]);
}

int driver_parse_int(driver_job_t *job, const char *option, const char *text, int64_t least,
                     int64_t most, int64_t *value)
{
    char *end = NULL;

    errno  = 0;
    *value = strtoll(text, &end, 10);
    if (!read_all(text, end) || errno == ERANGE || *value < least || *value > most) {
        return driver_fail(job, DRIVER_USAGE,
                           "--%s takes a whole number from %" PRId64 " to %" PRId64
                           ", not '%s'; see --help",
                           option, least, most, text);
    }
    return DRIVER_GOOD;
}

int driver_parse_seed(driver_job_t *job, const char *option, const char *text, uint64_t *value)
{
    char *end = NULL;

    errno  = 0;
    *value = strtoull(text, &end, 10);
    /* strtoull() takes "-1" for the largest number. */
    if (!read_all(text, end) || text[0] == '-' || errno == ERANGE) {
        return driver_fail(job, DRIVER_USAGE,
                           "--%s takes a whole number from 0 to %" PRIu64 ", not '%s'; see --help",
                           option, UINT64_MAX, text);
    }
    return DRIVER_GOOD;
}

int driver_parse_real(driver_job_t *job, const char *option, const char *text, double least,
                      double *value)
{
    char *end = NULL;

    *value = strtod(text, &end);
    if (!read_all(text, end) || !isfinite(*value)) {
        return driver_fail(job, DRIVER_USAGE, "--%s takes a finite number, not '%s'; see --help",
                           option, text);
    }
    if (*value < least) {
        return driver_fail(job, DRIVER_USAGE, "--%s takes a number from %g, not '%s'; see --help",
                           option, least, text);
    }
    return DRIVER_GOOD;
}
