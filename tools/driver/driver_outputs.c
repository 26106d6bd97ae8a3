/* SPDX-License-Identifier: Apache-2.0 */
/* Before hours of work: can the files that the options name be written at its end? */
#include <string.h>
#include <sys/stat.h>

#include "base/output.h"
#include "driver_options.h"

/** Are both the same regular file, there already or not?  All may go to /dev/null. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    if (stat(a, &of_a) != 0 || stat(b, &of_b) != 0) {
        return strcmp(a, b) == 0;
    }
    return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int driver_check_write(driver_job_t *job, const char *path, int error)
{
    return error == 0
               ? DRIVER_GOOD
               : driver_fail(job, DRIVER_OTHER, "cannot write %s: %s", path, strerror(error));
}

int driver_check_outputs(driver_job_t *job, const driver_options_t *options)
{
    const struct {
        const char *option, *path;
    } files[] = {
        {"matrix", options->matrix}, /* read; what follows is written */
        {"json", options->json},
        {"write-partition", options->write_partition},
        {"convert", options->convert[1]},
    };
    int code = DRIVER_GOOD;

    for (size_t i = 1; i < sizeof files / sizeof files[0] && job->rank == 0; i++) {
        for (size_t k = 0; k < i && files[i].path != NULL && code == DRIVER_GOOD; k++) {
            if (files[k].path != NULL && is_same_file(files[i].path, files[k].path)) {
                code = driver_fail(job, DRIVER_USAGE, "--%s and --%s are the same file, %s",
                                   files[k].option, files[i].option, files[i].path);
            }
        }
        if (files[i].path != NULL && code == DRIVER_GOOD) {
            code = driver_check_write(job, files[i].path, spmmi_output_check(files[i].path));
        }
    }
    return driver_agree(job, code);
}
