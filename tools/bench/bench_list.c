/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_list.c  The matrices of a run. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_options.h"

bool bench_is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if (iscntrl((unsigned char)*text)) {
            return false;
        }
    }
    return true;
}

int bench_options_add(const char *name, bool generated, bench_options_t *options)
{
    if (options->n_inputs == BENCH_MANY) {
        (void)fprintf(stderr, "spmm_bench: more than %d matrices in one run\n", BENCH_MANY);
        return BENCH_USAGE;
    }
    if (!bench_is_printable(name)) {
        (void)fprintf(stderr, "spmm_bench: the name of a matrix has a tab, a newline or the like, "
                              "which the table has no place for\n");
        return BENCH_USAGE;
    }
    options->input[options->n_inputs++] = (bench_input_t){name, generated};
    return BENCH_GOOD;
}

/* A word, a colon: `kind:key=value`; paths with a colon have a '/' or a '.' before it. */
static bool is_spec(const char *line)
{
    const size_t word = strcspn(line, ":/.");

    return word > 0 && line[word] == ':';
}

/* Cut off the comment and the blanks at both ends of @p line. */
static char *trimmed(char *line)
{
    size_t size;

    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t\r");
    size = strlen(line);
    while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL) {
        size--;
    }
    line[size] = '\0';
    return line;
}

int bench_options_read_list(const char *path, bench_options_t *options)
{
    FILE  *file;
    char  *rest;
    size_t room = 0;

    if (options->list_text != NULL) {
        (void)fprintf(stderr, "spmm_bench: give --matrix-list once\n");
        return BENCH_USAGE;
    }
    errno = 0;
    file  = fopen(path, "r");
    if (file != NULL) { /* text: it ends with the file */
        if (getdelim(&options->list_text, &room, '\0', file) < 0 || !feof(file)) {
            errno = errno != 0 ? errno : EILSEQ; /* empty, or with a zero byte */
        }
        (void)fclose(file);
    }
    if (file == NULL || errno != 0) {
        (void)fprintf(stderr, "spmm_bench: cannot read the list %s: %s\n", path, strerror(errno));
        return BENCH_USAGE;
    }
    for (char *line = strtok_r(options->list_text, "\n", &rest); line != NULL;
         line       = strtok_r(NULL, "\n", &rest)) {
        const char *name = trimmed(line);

        if (*name != '\0') {
            const int code = bench_options_add(name, is_spec(name), options);

            if (code != BENCH_GOOD) {
                return code;
            }
        }
    }
    return BENCH_GOOD;
}
