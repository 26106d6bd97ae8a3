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

/* The whole of @p file, which must be text, as a string the caller frees; NULL with errno. */
static char *read_all(FILE *file)
{
    size_t size = 0, room = 4096;
    char  *text = malloc(room);

    while (text != NULL) {
        const size_t got = fread(text + size, 1, room - 1 - size, file);
        char        *more;

        size += got;
        text[size] = '\0';
        if (got == 0) {
            break;
        }
        if (size == room - 1) {
            room *= 2;
            more = realloc(text, room);
            if (more == NULL) {
                free(text);
            }
            text = more;
        }
    }
    if (text != NULL && strlen(text) != size) {
        errno = EILSEQ;
    }
    if (text != NULL && (ferror(file) != 0 || strlen(text) != size)) {
        free(text);
        text = NULL;
    }
    return text;
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
    FILE *file;
    char *rest;

    if (options->list_text != NULL) {
        (void)fprintf(stderr, "spmm_bench: give --matrix-list once\n");
        return BENCH_USAGE;
    }
    errno = 0;
    file  = fopen(path, "r");
    if (file != NULL) {
        options->list_text = read_all(file);
        (void)fclose(file);
    }
    if (options->list_text == NULL) {
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
