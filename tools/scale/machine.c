/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scale.h"

enum { LINE = 256 };

/* Gathered bytes: the R-MAT matrix of the table of four GPUs in README.md; within: transport nccl;
 * an adapter carries some 94 % of its 50 GB/s. */
static const scale_machine_t h200 = {
    .gather = 6.8e12, .within = 340e9, .between = 47e9, .latency_s = 20e-6, .message_s = 1e-6};

/* A line "NAME NUMBER", empty, or from # on a remark.
 * @param[in,out] seen  a bit for each name that has come */
static int read_line(driver_job_t *job, const char *path, int number, char *line,
                     scale_machine_t *m, unsigned *seen)
{
    const struct {
        const char *name;
        double     *value;
    } those[] = {{"gather", &m->gather},
                 {"within", &m->within},
                 {"between", &m->between},
                 {"latency", &m->latency_s},
                 {"message", &m->message_s}};

    char *name, *value, *end, *rest = NULL;

    line[strcspn(line, "#\n")] = '\0';
    name                       = strtok_r(line, " \t\r", &rest);
    value                      = name == NULL ? NULL : strtok_r(NULL, " \t\r", &rest);
    if (name == NULL) {
        return DRIVER_GOOD;
    }
    for (size_t k = 0; k < sizeof those / sizeof those[0] && value != NULL; k++) {
        if (strcmp(name, those[k].name) == 0 && strtok_r(NULL, " \t\r", &rest) == NULL) {
            if ((*seen & 1U << k) != 0) {
                return driver_fail(job, DRIVER_INPUT, "%s:%d: %s has come already", path, number,
                                   name);
            }
            *seen |= 1U << k;
            *those[k].value = strtod(value, &end);
            if (*end == '\0' && *those[k].value > 0.0 && isfinite(*those[k].value)) {
                return DRIVER_GOOD;
            }
        }
    }
    return driver_fail(job, DRIVER_INPUT,
                       "%s:%d: a line of a machine is gather, within, between (bytes/s), latency "
                       "or message (s), and a number above 0",
                       path, number);
}

int scale_read_machine(driver_job_t *job, const char *path, scale_machine_t *machine)
{
    char     line[LINE];
    FILE    *in   = path == NULL ? NULL : fopen(path, "r"); /* a pipe, too, as of a shell */
    unsigned seen = 0;
    int      code = DRIVER_GOOD;

    *machine = h200;
    if (path == NULL) {
        return DRIVER_GOOD;
    }
    if (in == NULL) {
        return driver_fail(job, DRIVER_INPUT, "cannot read %s: %s", path, strerror(errno));
    }
    for (int number = 1; code == DRIVER_GOOD && fgets(line, sizeof line, in) != NULL; number++) {
        if (strchr(line, '\n') == NULL && !feof(in)) { /* or with zeros in it */
            code = driver_fail(job, DRIVER_INPUT,
                               "%s:%d: a line of a machine is text of up to %d "
                               "characters",
                               path, number, LINE - 2);
        } else {
            code = read_line(job, path, number, line, machine, &seen);
        }
    }
    if (code == DRIVER_GOOD && ferror(in)) {
        code = driver_fail(job, DRIVER_INPUT, "cannot read %s: %s", path, strerror(errno));
    }
    if (code == DRIVER_GOOD && seen == 0) {
        code = driver_fail(job, DRIVER_INPUT,
                           "%s has no rate: a machine has lines of gather, within, between "
                           "(bytes/s), latency or message (s), and a number above 0",
                           path);
    }
    (void)fclose(in);
    return code;
}

const char *scale_limit_name(scale_limit_t limit)
{
    static const char *const names[SCALE_LIMITS] = {"work", "adapter", "within", "messages"};

    return names[limit];
}

void scale_predict(const scale_machine_t *machine, double work_bytes, scale_row_t *row)
{
    const double messages = (double)row->between.messages_max;

    row->seconds[SCALE_WORK]    = work_bytes / machine->gather;
    row->seconds[SCALE_ADAPTER] = (double)row->between.bytes_max / machine->between;
    row->seconds[SCALE_WITHIN]  = row->within_bytes / machine->within;
    row->seconds[SCALE_MESSAGES] =
        messages > 0.0 ? machine->latency_s + (messages - 1.0) * machine->message_s : 0.0;
    row->limit = SCALE_WORK;
    for (int k = 1; k < SCALE_LIMITS; k++) {
        if (row->seconds[k] > row->seconds[row->limit]) {
            row->limit = (scale_limit_t)k;
        }
    }
}
