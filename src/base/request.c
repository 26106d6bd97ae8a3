/* SPDX-License-Identifier: Apache-2.0 */
#include "base/request.h"

#include <sched.h>

#ifdef MPICH_VERSION
#include <pthread.h>

/* MPICH gives errors of requests to the handler of MPI_COMM_WORLD (up to 4.0) or MPI_COMM_SELF,
 * which ends the program unless told otherwise.  So both return errors during the call, and are
 * then as the program has them. */
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status)
{
    static pthread_mutex_t lock    = PTHREAD_MUTEX_INITIALIZER; /* two threads would keep ours */
    const MPI_Comm         comm[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler         handler[2];
    int                    code;

    *done = 0;
    (void)pthread_mutex_lock(&lock);
    for (int k = 0; k < 2; k++) {
        (void)MPI_Comm_get_errhandler(comm[k], &handler[k]);
        (void)MPI_Comm_set_errhandler(comm[k], MPI_ERRORS_RETURN);
    }
    code = MPI_Test(request, done, status);
    for (int k = 0; k < 2; k++) {
        (void)MPI_Comm_set_errhandler(comm[k], handler[k]);
        (void)MPI_Errhandler_free(&handler[k]);
    }
    (void)pthread_mutex_unlock(&lock);
    return code;
}
#else
int spmmi_test(MPI_Request *request, int *done, MPI_Status *status)
{
    *done = 0;
    return MPI_Test(request, done, status);
}
#endif

void spmmi_let_run(int *polls)
{
    enum { POLLS = 1000 }; /* of 0.1 us and more */

    if (*polls < POLLS) {
        ++*polls;
    } else {
        (void)sched_yield();
    }
}
