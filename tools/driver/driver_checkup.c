/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "driver_doctor.h"

void driver_find(driver_checkup_t *checkup, driver_state_t state, const char *topic,
                 const char *advice, const char *format, ...)
{
    driver_finding_t *f = &checkup->finding[checkup->count++];
    va_list           args;

    assert(checkup->count <= DRIVER_CHECKS);
    f->state = state;
    f->topic = topic;
    (void)snprintf(f->advice, sizeof f->advice, "%s", advice);
    va_start(args, format);
    (void)vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

const char *driver_state_name(driver_state_t state)
{
    return state == DRIVER_CHECK_GOOD      ? "good"
           : state == DRIVER_CHECK_MISSING ? "missing"
                                           : "problem";
}

/** The code that a GPU takes of those of a build. */
typedef struct {
    int  native; /**< capability that it was compiled for; 0: none */
    int  ptx;    /**< the highest that the driver may compile on; 0: none */
    bool told;   /**< all words were numbers */
} code_t;

/* Machine code serves its own major version from its own minor one on, that with an `a` its own
 * capability alone and with an `f` its major version; PTX serves all later capabilities, with a
 * letter none (CUDA programming guide, compute capabilities). */
static void consider(const char *word, size_t length, int cc, code_t *code)
{
    char        *rest;
    const long   number = strtol(word, &rest, 10);
    const bool   exact = *rest == 'a', family = *rest == 'f';
    const bool   fits = exact ? cc == number : cc / 10 == number / 10 && cc >= number;
    const char  *kind = rest + (exact || family);
    const size_t left = (size_t)(word + length - kind);
    const bool   real = left != strlen("-virtual") || strncmp(kind, "-virtual", left) != 0;
    const bool   ptx  = left != strlen("-real") || strncmp(kind, "-real", left) != 0;

    if (rest == word) {
        code->told = false;
        return;
    }
    if (real && fits && number > code->native) {
        code->native = (int)number;
    }
    if (ptx && (exact || family ? fits : cc >= number) && number > code->ptx) {
        code->ptx = (int)number;
    }
}

static code_t code_for(const char *architectures, int cc)
{
    code_t code = {.told = true};

    for (const char *word = architectures; *word != '\0';) {
        const size_t length = strcspn(word, ",");

        consider(word, length, cc, &code);
        word += length + (word[length] == ',');
    }
    return code;
}

void driver_check_code(driver_checkup_t *checkup, const char *architectures, int cc)
{
    const code_t code = code_for(architectures, cc);
    const int    from = code.native > 0 ? code.native : code.ptx;
    /* Tensor maps and kernels that start ahead are in code for 9.0 on; wgmma in that of 9.0a, which
     * a build for 9.0 has. */
    const char *lacking =
        cc < 90 || from >= 90 ? ""
        : cc >= 120           ? "; no kernels that start ahead"
        : cc == 90 ? "; no kernels that start ahead, no slabs of cvse, no SDDMM from tensor maps "
                     "or by wgmma"
                   : "; no kernels that start ahead, no slabs of cvse, no SDDMM from tensor maps";
    char advice[80];

    (void)snprintf(advice, sizeof advice, "configure with CMAKE_CUDA_ARCHITECTURES=%d", cc);
    if (!code.told) {
        driver_find(checkup, DRIVER_CHECK_GOOD, "kernels", "", "built for %s; GPUs are of %d.%d",
                    architectures, cc / 10, cc % 10);
    } else if (from == 0) {
        driver_find(checkup, DRIVER_CHECK_PROBLEM, "kernels", advice,
                    "built for %s: no code for GPUs of %d.%d", architectures, cc / 10, cc % 10);
    } else if (code.native == 0) {
        driver_find(checkup, DRIVER_CHECK_MISSING, "kernels", advice,
                    "built for %s: on GPUs of %d.%d the driver compiles PTX of %d.%d at the first "
                    "use%s",
                    architectures, cc / 10, cc % 10, from / 10, from % 10, lacking);
    } else {
        driver_find(checkup, DRIVER_CHECK_GOOD, "kernels", "",
                    "built for %s: GPUs of %d.%d run machine code of %d.%d", architectures, cc / 10,
                    cc % 10, from / 10, from % 10);
    }
}
