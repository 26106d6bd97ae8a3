/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_doctor.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

extern char **environ;

enum { NODE = MPI_MAX_PROCESSOR_NAME };

/** Where a rank is; gathered as bytes. */
typedef struct {
    char node[NODE];
    char device[64];
    int  threads, procs, cores;
    int  gpus; /**< of its node */
    char gpu_text[DRIVER_CHECK_TEXT];
} place_t;

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

/** Ranks on the node of rank @p p as "0-3, 8", and how many. */
static int list_ranks(const place_t *place, int ranks, int p, char *text, size_t size)
{
    size_t used = 0;
    int    mine = 0;

    text[0] = '\0';
    for (int q = 0, from = -1; q <= ranks; q++) {
        const bool here = q < ranks && strcmp(place[p].node, place[q].node) == 0;

        mine += here;
        if (here && from < 0) {
            from = q;
        } else if (!here && from >= 0) {
            if (used < size) {
                used +=
                    (size_t)snprintf(text + used, size - used, "%s%d", used > 0 ? ", " : "", from);
            }
            if (used < size && q - 1 > from) {
                used += (size_t)snprintf(text + used, size - used, "-%d", q - 1);
            }
            from = -1;
        }
    }
    return mine;
}

/** One line for each node, and one where its ranks have more threads than cores. */
static void check_nodes(driver_checkup_t *x, const place_t *place, int ranks)
{
    for (int p = 0; p < ranks; p++) {
        int  threads = 0, mine;
        bool first   = true;
        char list[100];

        for (int q = 0; q < ranks; q++) {
            const bool same = strcmp(place[p].node, place[q].node) == 0;

            first = first && !(same && q < p);
            threads += same ? place[q].threads : 0;
        }
        if (!first) {
            continue;
        }
        mine = list_ranks(place, ranks, p, list, sizeof list);
        driver_find(x, DRIVER_CHECK_GOOD, "node", "", "%s: %d ranks (%s), GPUs: %s", place[p].node,
                    mine, list, place[p].gpu_text);
        if (threads > place[p].cores) {
            driver_find(x, DRIVER_CHECK_MISSING, "cores",
                        mine > place[p].cores
                            ? "start no more ranks on a node than it has cores"
                            : "set OMP_NUM_THREADS to cores / ranks of a node, and let the "
                              "launcher bind each rank to so many (docs/how-to/cluster.md)",
                        "node %s: %d ranks with %d threads in all on %d cores", place[p].node, mine,
                        threads, place[p].cores);
        } else if (place[p].threads > place[p].procs) {
            driver_find(x, DRIVER_CHECK_MISSING, "cores",
                        "bind ranks to as many cores as they have threads, e.g. mpirun --map-by "
                        "slot:PE=8",
                        "node %s: rank %d is bound to %d cores and has %d threads", place[p].node,
                        p, place[p].procs, place[p].threads);
        }
    }
}

static void check_devices(driver_checkup_t *x, const place_t *place, int ranks)
{
    const bool on_gpus = strncmp(place[0].device, "cpu", 3) != 0;

    driver_find(x, DRIVER_CHECK_GOOD, "device", "", "%d ranks compute on %s", ranks,
                place[0].device);
    for (int p = 0; p < ranks && on_gpus; p++) {
        int  mine  = 0;
        bool first = true;

        for (int q = 0; q < ranks; q++) {
            const bool same = strcmp(place[p].node, place[q].node) == 0;

            mine += same;
            first = first && !(same && q < p);
        }
        if (first && mine > place[p].gpus) {
            driver_find(x, DRIVER_CHECK_MISSING, "device",
                        "start one rank for each GPU: NCCL refuses two on one",
                        "node %s: %d ranks share %d GPUs", place[p].node, mine, place[p].gpus);
        }
    }
}

static bool starts_with_any(const char *text, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++) {
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0) {
            return true;
        }
    }
    return false;
}

/** Variables that change what libraries do, for a report to others; not those of mpirun's own. */
static void list_environment(driver_checkup_t *x, const driver_job_t *job)
{
    enum { MOST_SHOWN = 120 }; /* characters of one */
    static const char *const those[] = {
        "SPMM_", "NCCL_", "UCX_", "CUDA_VISIBLE_DEVICES=", "OMP_", "OMPI_MCA_", "FI_", NULL};
    static const char *const not_those[] = {"OMPI_MCA_ess",
                                            "OMPI_MCA_pmix",
                                            "OMPI_MCA_shmem_RUNTIME",
                                            "OMPI_MCA_initial_wdir",
                                            "OMPI_MCA_orte",
                                            "OMPI_MCA_mpi_oversubscribe",
                                            NULL};
    static const char *const nvls[]      = {"NCCL_NVLS_ENABLE=", NULL};
    char                     text[DRIVER_CHECK_TEXT], one[MOST_SHOWN + 1];
    size_t                   used = 0;

    for (int k = 0; environ[k] != NULL; k++) {
        if (!starts_with_any(environ[k], those) || starts_with_any(environ[k], not_those) ||
            (job->sets_nvls && starts_with_any(environ[k], nvls))) {
            continue;
        }
        (void)snprintf(one, sizeof one, "%s", environ[k]);
        if (used + 1 + strlen(one) >= sizeof text) { /* go on in a line of its own */
            driver_find(x, DRIVER_CHECK_GOOD, "environment", "", "%s", text);
            used = 0;
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "", one);
    }
    if (used > 0) {
        driver_find(x, DRIVER_CHECK_GOOD, "environment", "", "%s", text);
    }
#ifdef DRIVER_HAVE_NCCL
    if (job->sets_nvls) {
        driver_find(x, DRIVER_CHECK_GOOD, "environment",
                    "set it for a program of your own, too, that is to take nccl-push on one node",
                    "NCCL_NVLS_ENABLE=0 by spmm_dist itself");
    }
#endif
}

/** NULL without memory, on all ranks alike; rank 0's holds all.  Collective. */
static place_t *gather_places(driver_job_t *job, const spmm_context_info_t *context)
{
    place_t *all  = driver_alloc(job->size, sizeof *all);
    place_t  mine = {.procs = omp_get_num_procs()};
    int      length;
    int      bad = all == NULL;

    /* Unset, the library takes no more threads than there are cores for the rank. */
    mine.threads = getenv("OMP_NUM_THREADS") != NULL ? omp_get_max_threads() : 1;
    MPI_Get_processor_name(mine.node, &length);
    mine.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    mine.gpus  = driver_node_gpus(mine.gpu_text);
    (void)snprintf(mine.device, sizeof mine.device, "%s (%s)", context->device,
                   context->device_name);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, job->comm);
    if (bad) {
        free(all);
        return NULL;
    }
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, job->comm);
    return all;
}

static int print_checkup(const driver_job_t *job, const driver_checkup_t *x)
{
    int count[3] = {0};

    (void)printf("spmm_dist %s, %d ranks\n", spmm_version(), job->size);
    for (int k = 0; k < x->count; k++) {
        const driver_finding_t *f = &x->finding[k];

        count[f->state]++;
        (void)printf("%-8s %-12s %s\n", driver_state_name(f->state), f->topic, f->text);
        if (f->advice[0] != '\0') {
            (void)printf("%-8s %-12s   -> %s\n", "", "", f->advice);
        }
    }
    (void)printf("%s: %d good, %d missing, %d problems\n",
                 count[DRIVER_CHECK_PROBLEM] == 0 ? "works" : "does not work",
                 count[DRIVER_CHECK_GOOD], count[DRIVER_CHECK_MISSING],
                 count[DRIVER_CHECK_PROBLEM]);
    return count[DRIVER_CHECK_PROBLEM];
}

int driver_doctor(driver_job_t *job, const driver_options_t *options)
{
    static driver_checkup_t x; /* zero */
    spmm_context_options_t  context = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t     info    = {.struct_size = sizeof info};
    spmm_context_t         *ctx     = NULL;
    spmm_status_t           status;
    place_t                *place;
    char                    why[DRIVER_CHECK_TEXT];
    int                     code = DRIVER_GOOD;

    context.device    = options->device;
    context.timeout_s = options->timeout_s > 0.0 ? options->timeout_s : 60.0;
    driver_check_reach(job, context.timeout_s / 2.0); /* before ranks that wait for these */
    status = spmm_context_create(job->comm, &context, &ctx);
    (void)snprintf(why, sizeof why, "%s", status == SPMM_OK ? "" : spmm_last_error(NULL));
    if (status == SPMM_ERR_COMM) { /* nor would MPI come back from what follows */
        return driver_agree(job, driver_check(job, NULL, status, DRIVER_OTHER));
    }
    info.device      = "nothing";
    info.device_name = "no context";
    if (status == SPMM_OK) {
        (void)spmm_context_get_info(ctx, &info);
    }
    place = gather_places(job, &info);
    if (place == NULL) {
        code = driver_fail_memory(job, job->size, sizeof *place, "places of ranks");
    } else if (job->rank == 0) {
        check_build(&x);
        check_nodes(&x, place, job->size);
        driver_check_cuda(&x, place[0].gpus);
        driver_check_nccl(&x, place[0].gpus);
        check_mpi(&x, place[0].gpus);
    }
    code = code == DRIVER_GOOD ? driver_check_network(&x, job) : code;
    if (code == DRIVER_GOOD && status == SPMM_OK) {
        if (job->rank == 0) {
            check_devices(&x, place, job->size);
        }
        driver_check_transports(&x, job, ctx);
    } else if (code == DRIVER_GOOD) {
        driver_find(&x, DRIVER_CHECK_PROBLEM, "device", "", "%s", why);
    }
    if (code == DRIVER_GOOD && job->rank == 0) {
        list_environment(&x, job);
        if (print_checkup(job, &x) > 0) {
            code = driver_fail(job, DRIVER_OTHER, "the doctor found a problem, see above");
        }
        if (options->json != NULL && driver_write_checkup(job, options->json, &x) != DRIVER_GOOD) {
            code = DRIVER_OTHER;
        }
    }
    free(place);
    (void)spmm_context_destroy(&ctx);
    return driver_agree(job, code);
}
