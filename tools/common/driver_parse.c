/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_parse.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/create/tuning_options.h"

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

static int parse_seed(driver_job_t *job, const char *option, const char *text, uint64_t *value)
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

/* A finite number, at least @p least. */
static int parse_real(driver_job_t *job, const char *option, const char *text, double least,
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

int driver_parse_tuning(driver_job_t *job, const char *text, void *to)
{
    spmm_tuning_options_t tuning;
    char                  why[SPMM_TUNING_WHY];

    *(const char **)to = text;
    return spmmi_tuning_options_read(text, SPMM_TUNING_PLAN, &tuning, why)
               ? DRIVER_GOOD
               : driver_fail(job, DRIVER_USAGE, "--%s; see --help", why);
}

/** The tables of getopt_long(). */
static void spell(const driver_option_t *options, struct option named[DRIVER_OPTIONS + 1],
                  char letters[2 * DRIVER_OPTIONS + 2])
{
    *letters++ = ':'; /* a missing value is told from an unknown option */
    for (; options->name != NULL; options++, named++) {
        const bool bare = options->kind == DRIVER_FLAG || options->kind == DRIVER_SET;

        *named = (struct option){options->name, bare ? no_argument : required_argument, NULL, 0};
        if (options->letter != 0) {
            *letters++ = (char)options->letter;
            if (!bare) {
                *letters++ = ':';
            }
        }
    }
    *letters = '\0';
    *named   = (struct option){NULL, 0, NULL, 0};
}

static int take(driver_job_t *job, const driver_option_t *o, int argc, char **argv)
{
    switch (o->kind) {
    case DRIVER_FLAG:
        *(bool *)o->to = true;
        break;
    case DRIVER_SET:
        *(int *)o->to = (int)o->least;
        break;
    case DRIVER_NAME:
        *(const char **)o->to = optarg;
        break;
    case DRIVER_PAIR:
        if (optind >= argc || argv[optind][0] == '-') {
            return driver_fail(job, DRIVER_USAGE, "--%s needs two values; see --help", o->name);
        }
        ((const char **)o->to)[0] = optarg;
        ((const char **)o->to)[1] = argv[optind++];
        break;
    case DRIVER_WORD:
        return driver_parse_word(job, o->name, optarg, o->words, o->to);
    case DRIVER_INT:
        return driver_parse_int(job, o->name, optarg, o->least, o->most, o->to);
    case DRIVER_SEED:
        return parse_seed(job, o->name, optarg, o->to);
    case DRIVER_REAL:
        return parse_real(job, o->name, optarg, o->from, o->to);
    case DRIVER_CALL:
        return o->call(job, optarg, o->to);
    }
    return DRIVER_GOOD;
}

int driver_parse_options(driver_job_t *job, const driver_option_t *options, int argc, char **argv,
                         bool *given)
{
    struct option named[DRIVER_OPTIONS + 1];
    char          letters[2 * DRIVER_OPTIONS + 2];
    int           code = DRIVER_GOOD, key, place = 0;

    spell(options, named, letters);
    opterr = 0; /* one sentence of our own, on one rank */
    while (code == DRIVER_GOOD && (key = getopt_long(argc, argv, letters, named, &place)) != -1) {
        if (key == ':') {
            code = driver_fail(job, DRIVER_USAGE, "%s needs a value; see --help", argv[optind - 1]);
        } else if (key == '?' && optopt > 0 && strchr(letters, optopt) == NULL) {
            code = driver_fail(job, DRIVER_USAGE, "unknown option '-%c'; see --help", optopt);
        } else if (key == '?') { /* a known long option: it was given a value it does not take */
            code = driver_fail(job, DRIVER_USAGE,
                               "unknown, ambiguous or misused option '%s'; see --help",
                               argv[optind - 1]);
        } else {
            while (key != 0 && options[place].letter != key) {
                place = options[place + 1].name == NULL ? 0 : place + 1;
            }
            code = take(job, &options[place], argc, argv);
            if (given != NULL) {
                given[place] = true;
            }
        }
    }
    if (code == DRIVER_GOOD && optind < argc) {
        code = driver_fail(job, DRIVER_USAGE, "unexpected argument '%s'; see --help", argv[optind]);
    }
    return code;
}
