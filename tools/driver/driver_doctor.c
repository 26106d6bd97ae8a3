/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_doctor.h"

#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static bool has_partitioner(const char *name)
{
    spmm_component_info_t info  = {.struct_size = sizeof info};
    bool                  found = false;

    for (int k = 0; spmm_partitioner_info(k, &info) == SPMM_OK; k++) {
        found = found || (strcmp(info.name, name) == 0 && info.built);
    }
    return found;
}

static void check_partitioners(driver_checkup_t *x)
{
    static const struct {
        const char *name, *topic, *version, *advice, *lacking;
    } those[] = {
        {"metis", "METIS", DRIVER_METIS_VERSION,
         "install libmetis-dev, or give its prefix in CMAKE_PREFIX_PATH, and configure again",
         "not in this build: no partition metis, auto takes ptscotch or block"},
        {"ptscotch", "PT-Scotch", DRIVER_PTSCOTCH_VERSION,
         "for graphs too large for METIS install libptscotch-dev (version 7), or give its prefix "
         "in CMAKE_PREFIX_PATH, and configure again",
         "not in this build: no partition ptscotch"}};

    for (size_t k = 0; k < sizeof those / sizeof those[0]; k++) {
        const bool built = has_partitioner(those[k].name);

        driver_find(x, built ? DRIVER_CHECK_GOOD : DRIVER_CHECK_MISSING, those[k].topic,
                    built ? "" : those[k].advice, "%s",
                    built ? those[k].version : those[k].lacking);
    }
}

static void check_build(driver_checkup_t *x)
{
    if (strcmp(spmm_version(), SPMM_VERSION_STRING) == 0) {
        driver_find(x, DRIVER_CHECK_GOOD, "library", "", "spmm_dist %s", spmm_version());
    } else {
        driver_find(x, DRIVER_CHECK_PROBLEM, "library",
                    "LD_LIBRARY_PATH leads to another libspmm_dist; take the one of this program",
                    "libspmm_dist is %s, this program was built with %s", spmm_version(),
                    SPMM_VERSION_STRING);
    }
    check_partitioners(x);
#ifdef DRIVER_HAVE_ZLIB
    driver_find(x, DRIVER_CHECK_GOOD, "zlib", "", "%s", DRIVER_ZLIB_VERSION);
#else
    driver_find(x, DRIVER_CHECK_MISSING, "zlib", "install zlib1g-dev and configure again",
                "not in this build: .mtx.gz files cannot be read");
#endif
#ifndef DRIVER_HAVE_CJSON
    driver_find(x, DRIVER_CHECK_MISSING, "cJSON", "install libcjson-dev and configure again",
                "not in this build: no --json");
#endif
}

/** Does this MPI take device pointers?  -1: it cannot be asked. */
static int mpi_cuda_support(void)
{
#if defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
    return MPIX_Query_cuda_support();
#else
    return -1;
#endif
}

static void check_mpi(driver_checkup_t *x, int gpus)
{
    char      text[MPI_MAX_LIBRARY_VERSION_STRING];
    int       length;
    const int cuda = mpi_cuda_support();

    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")]                             = '\0'; /* MPICH tells all of its build */
    text[strcspn(text, ",")]                              = '\0';
    text[strlen(text) < 120 ? strlen(text) : (size_t)120] = '\0';
    driver_find(x, DRIVER_CHECK_GOOD, "MPI", "", "%s", text);
    if (cuda == 1) {
        driver_find(x, DRIVER_CHECK_GOOD, "MPI on GPUs", "", "takes device pointers (CUDA-aware)");
    } else if (gpus > 0) {
        driver_find(
            x, DRIVER_CHECK_MISSING, "MPI on GPUs",
            "needed by transport mpi-device alone: load a CUDA-aware MPI, or build one with "
            "scripts/build_openmpi_cuda.sh",
            "%s",
            cuda == 0 ? "does not take device pointers (not CUDA-aware)"
                      : "cannot be asked whether it takes device pointers");
    }
}

/** Findings from number @p from on, at once: a lost rank ends the job. */
static void print_findings(const driver_checkup_t *x, int from)
{
    for (int k = from; k < x->count; k++) {
        const driver_finding_t *f = &x->finding[k];

        (void)printf("%-8s %-12s %s\n", driver_state_name(f->state), f->topic, f->text);
        if (f->advice[0] != '\0') {
            (void)printf("%-8s %-12s   -> %s\n", "", "", f->advice);
        }
    }
    (void)fflush(stdout);
}

static int print_verdict(const driver_checkup_t *x)
{
    int count[3] = {0};

    for (int k = 0; k < x->count; k++) {
        count[x->finding[k].state]++;
    }
    (void)printf("%s: %d good, %d missing, %d problems\n",
                 count[DRIVER_CHECK_PROBLEM] == 0 ? "works" : "does not work",
                 count[DRIVER_CHECK_GOOD], count[DRIVER_CHECK_MISSING],
                 count[DRIVER_CHECK_PROBLEM]);
    return count[DRIVER_CHECK_PROBLEM];
}

/** Versions, and the GPUs that rank 0 sees. */
static void check_machine(driver_checkup_t *x)
{
    int gpus;

    check_build(x);
    gpus = driver_check_cuda(x);
    driver_check_nccl(x);
    check_mpi(x, gpus);
}

int driver_doctor(driver_job_t *job, const driver_options_t *options)
{
    static driver_checkup_t x; /* zero */
    spmm_context_options_t  context = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t     info    = {.struct_size = sizeof info};
    spmm_context_t         *ctx     = NULL;
    spmm_status_t           status;
    char                    why[DRIVER_CHECK_TEXT];
    int                     code = DRIVER_GOOD, seen;

    context.device    = options->device;
    context.timeout_s = options->timeout_s > 0.0 ? options->timeout_s : 60.0;
    driver_check_reach(job, context.timeout_s / 2.0); /* before ranks that wait for these */
    status = spmm_context_create(job->comm, &context, &ctx);
    (void)snprintf(why, sizeof why, "%s", status == SPMM_OK ? "" : spmm_last_error(NULL));
    if (status == SPMM_ERR_COMM) { /* nor would MPI come back from what follows */
        return driver_agree(job, driver_check(job, NULL, status, DRIVER_OTHER));
    }
    if (job->rank == 0) {
        check_machine(&x);
        (void)printf("spmm_dist %s, %d ranks\n", spmm_version(), job->size);
        print_findings(&x, 0);
    }
    seen = x.count;
    if (status == SPMM_OK && spmm_context_get_info(ctx, &info) == SPMM_OK) {
        driver_find(&x, DRIVER_CHECK_GOOD, "device", "", "%d ranks compute on %s (%s)", job->size,
                    info.device, info.device_name);
        driver_check_transports(&x, job, ctx);
    } else {
        driver_find(&x, DRIVER_CHECK_PROBLEM, "device", "docs/how-to/troubleshooting.md", "%s",
                    why);
    }
    if (job->rank == 0) {
        print_findings(&x, seen);
        if (print_verdict(&x) > 0) {
            code = driver_fail(job, DRIVER_OTHER, "the doctor found a problem, see above");
        }
        if (options->json != NULL && driver_write_checkup(job, options->json, &x) != DRIVER_GOOD) {
            code = DRIVER_OTHER;
        }
    }
    (void)spmm_context_destroy(&ctx);
    return driver_agree(job, code);
}
