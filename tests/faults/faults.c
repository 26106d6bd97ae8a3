/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* syscall(), dladdr() */
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NAME = 64 };

static char         armed[NAME];
static int64_t      target = -1;
static atomic_llong met;

void faults_arm(const char *call, int64_t k)
{
    (void)snprintf(armed, sizeof armed, "%s", call == NULL ? "" : call);
    target = k;
    atomic_store(&met, 0);
}

int64_t faults_met(void)
{
    return atomic_load(&met);
}

/* MPI is not up yet when calls are met: the launcher tells, Open MPI's or that of MPICH. */
static const char *rank_by_launcher(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return rank != NULL ? rank : getenv("PMI_RANK");
}

/* CALL:K[:RANK] */
static void arm_by_environment(void)
{
    const char *text = getenv("SPMM_FAULT");
    const char *rank = rank_by_launcher();
    char        name[NAME];
    const char *colon = text == NULL ? NULL : strchr(text, ':');
    char       *after;
    long        k;

    if (colon == NULL || colon - text >= NAME) {
        return;
    }
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    k                  = strtol(colon + 1, &after, 10);
    if (*after == ':' && (rank == NULL || strcmp(rank, after + 1) != 0)) {
        return;
    }
    faults_arm(name, k);
}

bool faults_hit(const char *name)
{
    static atomic_int looked;

    if (atomic_exchange(&looked, 1) == 0 && armed[0] == '\0') {
        arm_by_environment();
    }
    return strcmp(name, armed) == 0 && atomic_fetch_add(&met, 1) == target;
}

bool faults_is_library(const void *caller)
{
    Dl_info object;

    return dladdr(caller, &object) != 0 && object.dli_fname != NULL &&
           (strstr(object.dli_fname, "libnccl") != NULL ||
            strstr(object.dli_fname, "libptscotch") != NULL);
}

/* A full disk may show only here. */
int fsync(int file)
{
    if (faults_hit("fsync")) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}
