/* SPDX-License-Identifier: Apache-2.0 */
#include "base/candidate.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

spmm_candidate_t spmmi_candidate_new(const char *name)
{
    return (spmm_candidate_t){.name = name, .predicted_s = NAN, .measured_s = NAN};
}

void spmmi_candidate_leave_out(spmm_candidate_t *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    c->usable      = false;
    c->predicted_s = INFINITY;
}

int spmmi_candidate_least(const spmm_candidate_t *list, int n, int but)
{
    int least = -1;

    for (int k = 0; k < n; k++) {
        if (list[k].usable && !list[k].by_name && k != but &&
            (least < 0 || list[k].predicted_s < list[least].predicted_s)) {
            least = k;
        }
    }
    return least;
}

bool spmmi_candidate_is_auto(const char *name)
{
    return name == NULL || strcmp(name, "auto") == 0;
}

bool spmmi_candidate_is_named(const char *name, const char *one)
{
    return name != NULL && strcmp(name, one) == 0;
}

int spmmi_candidate_find(const spmm_candidate_t *list, int n, const char *name)
{
    for (int k = 0; k < n; k++) {
        if (strcmp(list[k].name, name) == 0) {
            return k;
        }
    }
    return -1;
}

spmm_status_t spmmi_candidate_check(spmm_error_t *err, const char *kind, const spmm_candidate_t *c)
{
    return c->usable ? SPMM_OK
                     : spmmi_fail(err, SPMM_ERR_UNSUPPORTED, "%s %s %s", kind, c->name, c->why);
}

void spmmi_candidate_print(const spmm_candidate_t *c, const char *kind, const char *note,
                           bool chosen, FILE *out)
{
    (void)fprintf(out, "  %s %-10s ", kind, c->name);
    if (!c->usable) {
        (void)fprintf(out, "%s\n", c->why);
        return;
    }
    (void)fprintf(out, "predicted %.3f us", c->predicted_s * 1e6);
    if (!isnan(c->measured_s)) {
        (void)fprintf(out, ", measured %.3f us", c->measured_s * 1e6);
    }
    (void)fprintf(out, "%s%s\n", note, chosen ? "  <- chosen" : "");
}
