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

int driver_check_outputs(driver_job_t *job, const driver_options_t *options)
{
    const struct {
        const char *option, *path;
    } outputs[] = {
        {"json", options->json},
        {"plot", options->plot},
        {"write-partition", options->write_partition},
    };
    int code = DRIVER_GOOD;

    if (options->plot != NULL && job->size > DRIVER_PLOT_RANKS) {
        return driver_fail(job, DRIVER_OTHER, "--plot draws at most %d ranks",
                           (int)DRIVER_PLOT_RANKS);
    }
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0] && code == DRIVER_GOOD; i++) {
        if (outputs[i].path != NULL && job->rank == 0) {
            code = check_path(job, outputs[i].option, outputs[i].path);
        }
    }
    return driver_agree(job, code);
}
