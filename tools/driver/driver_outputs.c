/* SPDX-License-Identifier: Apache-2.0 */
/* Before hours of work: can the files that the options name be written at its end? */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver_plot.h"

/** Open @p path for writing and leave no trace: a file that is there stays as it is, a new one goes
 *  again.  Pipes and devices are not touched. */
static int check_path(driver_job_t *job, const char *option, const char *path)
{
    struct stat info;
    const bool  exists = stat(path, &info) == 0;
    int         file;

    if (exists && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        return DRIVER_GOOD;
    }
    file = open(path, O_WRONLY | O_CREAT, 0666);
    if (file < 0) {
        return driver_fail(job, DRIVER_OTHER, "--%s: cannot open %s for writing: %s", option, path,
                           strerror(errno));
    }
    (void)close(file);
    if (!exists) {
        (void)unlink(path);
    }
    return DRIVER_GOOD;
}

/** Are both the same regular file, there already or not?  All may go to /dev/null. */
static bool is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;

    if (stat(a, &of_a) != 0 || stat(b, &of_b) != 0) {
        return strcmp(a, b) == 0;
    }
    return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int driver_check_outputs(driver_job_t *job, const driver_options_t *options)
{
    const struct {
        const char *option, *path;
    } files[] = {
        {"matrix", options->matrix}, /* read; what follows is written */
        {"json", options->json},
        {"plot", options->plot},
        {"write-partition", options->write_partition},
    };
    int code = DRIVER_GOOD;

    if (options->plot != NULL && job->size > DRIVER_PLOT_RANKS) {
        return driver_fail(job, DRIVER_OTHER, "--plot draws at most %d ranks",
                           (int)DRIVER_PLOT_RANKS);
    }
    for (size_t i = 1; i < sizeof files / sizeof files[0] && job->rank == 0; i++) {
        for (size_t k = 0; k < i && files[i].path != NULL && code == DRIVER_GOOD; k++) {
            if (files[k].path != NULL && is_same_file(files[i].path, files[k].path)) {
                code = driver_fail(job, DRIVER_USAGE, "--%s and --%s are the same file, %s",
                                   files[k].option, files[i].option, files[i].path);
            }
        }
        if (files[i].path != NULL && code == DRIVER_GOOD) {
            code = check_path(job, files[i].option, files[i].path);
        }
    }
    return driver_agree(job, code);
}
