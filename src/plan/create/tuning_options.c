/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/create/tuning_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const orders[] = {
#define SPMM_REORDERER(x) #x,
#include "partition/reorder/reorderer_list.h"
#undef SPMM_REORDERER
    NULL};
static const char *const schedules[] = {
#define SPMM_SCHEDULE(x) #x,
#include "plan/run/schedule_list.h"
#undef SPMM_SCHEDULE
    NULL};
static const char *const chunks[]     = {"1", "2", "4", NULL};
static const char *const exchanges[]  = {"flat", "node", NULL};
static const char *const objectives[] = {"vol", "cut", NULL};
static const char *const numbers[]    = {"S", NULL};
static const char *const answers[]    = {"yes", "no", NULL}; /* first what is done anyway */

/** The one table of keys: what is read, said and printed goes by it. */
static const struct {
    const char        *name;
    const char *const *words;
    size_t             at;     /* of the word in spmm_tuning_options_t */
    unsigned           heeded; /* by these calls */
    const char        *help;
} keys[] = {
    {"order", orders, offsetof(spmm_tuning_options_t, order), SPMM_TUNING_PLAN,
     "in which a rank multiplies its rows"},
    {"schedule", schedules, offsetof(spmm_tuning_options_t, schedule), SPMM_TUNING_PLAN,
     "of exchange and products"},
    {"chunks", chunks, offsetof(spmm_tuning_options_t, chunks), SPMM_TUNING_PLAN,
     "of columns that travel one by one"},
    {"exchange", exchanges, offsetof(spmm_tuning_options_t, exchange),
     SPMM_TUNING_PLAN | SPMM_TUNING_SAMPLES, "rows to each rank, or once to each node"},
    {"objective", objectives, offsetof(spmm_tuning_options_t, objective),
     SPMM_TUNING_PLAN | SPMM_TUNING_PARTS, "of metis: rows to send or cut entries"},
    {"seed", numbers, 0, SPMM_TUNING_PLAN | SPMM_TUNING_PARTS, "of metis and ptscotch"},
    {"measure", answers, offsetof(spmm_tuning_options_t, measure), SPMM_TUNING_PLAN,
     "candidates, or go by the model alone"},
};

enum { KEYS = sizeof keys / sizeof keys[0] };

/* Go on with a sentence.  @return false, for what is refused */
static bool say(char why[SPMM_TUNING_WHY], const char *format, ...)
{
    const size_t used = strlen(why);
    va_list      args;

    va_start(args, format);
    (void)vsnprintf(why + used, SPMM_TUNING_WHY - used, format, args);
    va_end(args);
    return false;
}

static bool read_number(const char *text, uint64_t *number)
{
    errno   = 0;
    *number = strtoull(text, NULL, 10);
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0' && errno == 0;
}

/* "auto", and the first of the answers to what is done anyway, leave the key to the plan. */
static bool read_value(int k, const char *value, spmm_tuning_options_t *tuning,
                       char why[SPMM_TUNING_WHY])
{
    const char *const *words = keys[k].words;

    if (strcmp(value, "auto") == 0) {
        return true;
    }
    if (words == numbers) {
        return read_number(value, &tuning->seed) ||
               say(why, "%s takes a whole number below 2^64, not \"%.32s\"", keys[k].name, value);
    }
    for (int w = 0; words[w] != NULL; w++) {
        if (strcmp(value, words[w]) == 0) {
            *(const char **)(void *)((char *)tuning + keys[k].at) =
                words == answers && w == 0 ? NULL : words[w];
            return true;
        }
    }
    (void)say(why, "%s takes auto", keys[k].name);
    for (int w = 0; words[w] != NULL; w++) {
        (void)say(why, ", %s", words[w]);
    }
    return say(why, ", not \"%.32s\"", value);
}

static bool read_item(char *item, unsigned by, bool given[KEYS], spmm_tuning_options_t *tuning,
                      char why[SPMM_TUNING_WHY])
{
    char *value = strchr(item, '=');
    int   k     = 0;

    if (value == NULL) {
        return say(why, "write key=value with commas between, as in chunks=2,order=none");
    }
    *value++ = '\0';
    while (k < KEYS && (strcmp(item, keys[k].name) != 0 || (keys[k].heeded & by) == 0)) {
        k++;
    }
    if (k < KEYS && given[k]) {
        return say(why, "%s stands twice: leave one out", item);
    }
    if (k < KEYS) {
        given[k] = true;
        return read_value(k, value, tuning, why);
    }
    (void)say(why, "there is no key \"%.32s\" here; there is", item);
    for (k = 0; k < KEYS; k++) {
        if ((keys[k].heeded & by) != 0) {
            (void)say(why, " %s", keys[k].name);
        }
    }
    return false;
}

bool spmmi_tuning_options_read(const char *text, unsigned by, spmm_tuning_options_t *tuning,
                               char why[SPMM_TUNING_WHY])
{
    char copy[SPMM_TUNING_WHY], *rest;
    bool given[KEYS] = {false}, good = true;

    *tuning = (spmm_tuning_options_t){.order = NULL};
    (void)snprintf(copy, sizeof copy, "%s", text == NULL ? "" : text);
    (void)snprintf(why, SPMM_TUNING_WHY, "tuning \"%.100s\": ", copy);
    if (text != NULL && strlen(text) >= sizeof copy) {
        return say(why, "it is too long for all keys with their values");
    }
    for (char *item = strtok_r(copy, ",", &rest); item != NULL && good;
         item       = strtok_r(NULL, ",", &rest)) {
        good = read_item(item, by, given, tuning, why);
    }
    return good;
}

void spmmi_tuning_options_help(FILE *out, int indent)
{
    for (int k = 0; k < KEYS; k++) {
        int used = fprintf(out, "%*s%s", indent, "", keys[k].name);

        for (int w = 0; keys[k].words[w] != NULL; w++) {
            used += fprintf(out, "%c%s", w > 0 ? '|' : '=', keys[k].words[w]);
        }
        (void)fprintf(out, "%*s%s\n", indent + 28 - used, "", keys[k].help);
    }
}
