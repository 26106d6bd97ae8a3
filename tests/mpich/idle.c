/* SPDX-License-Identifier: Apache-2.0 */
/* MPICH keeps its core while it waits, in collectives too, and has no setting against it: with more
 * ranks than cores every wait lasts until the time slice of another ends.  Preloaded, this lets go
 * of the core, as Open MPI does with mpi_yield_when_idle.  For builds of MPICH on UCX. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <time.h>

/* As in ucp/api/ucp.h, which need not be there. */
unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    enum { POLLS = 100 };
    static _Thread_local int idle;
    unsigned (*next)(void *) = NULL;
    unsigned events;

    *(void **)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    events          = next(worker);
    idle            = events > 0 ? 0 : idle + 1;
    if (idle > POLLS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return events;
}
