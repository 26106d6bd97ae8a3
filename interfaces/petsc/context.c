/* SPDX-License-Identifier: Apache-2.0 */
/** @file context.c  Contexts of spmm_dist, which the matrices of a communicator share. */
#include "state.h"

/* The contexts in use, one for each communicator of PETSc. */
typedef struct shared shared_t;
struct shared {
    MPI_Comm        comm;
    spmm_context_t *ctx;
    int             users;
    shared_t       *next;
};
static shared_t *contexts = NULL;

PetscErrorCode spmmi_take_context(MPI_Comm comm, spmm_context_t **ctx)
{
    /* Where the arrays of Vec and Mat lie. */
    const spmm_context_options_t on_cpu = {.struct_size = sizeof on_cpu, .device = SPMM_DEVICE_CPU};
    shared_t                    *s      = contexts;

    PetscFunctionBegin;
    while (s != NULL && s->comm != comm) {
        s = s->next;
    }
    if (s == NULL) {
        PetscCall(PetscNew(&s));
        SPMMI_CALL(NULL, spmm_context_create(comm, &on_cpu, &s->ctx));
        s->comm  = comm;
        s->next  = contexts;
        contexts = s;
    }
    s->users++;
    *ctx = s->ctx;
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_leave_context(spmm_context_t *ctx)
{
    shared_t **at = &contexts, *s;

    PetscFunctionBegin;
    while ((*at)->ctx != ctx) {
        at = &(*at)->next;
    }
    s = *at;
    if (--s->users == 0) {
        *at = s->next;
        SPMMI_CALL(s->ctx, spmm_context_destroy(&s->ctx));
        PetscCall(PetscFree(s));
    }
    PetscFunctionReturn(0);
}
