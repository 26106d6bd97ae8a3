/* SPDX-License-Identifier: Apache-2.0 */
/* MPI by its profiling interface.  A collective that fails does so after the ranks have met, as one
 * that loses a peer; a message or a read fails before anything is moved. */
#define _POSIX_C_SOURCE 200809L /* SIGSTOP */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

enum { FIRST_TAG_OF_ROWS = 1024 }; /* src/exchange/transport_mpi.c; less: setup */

/* PT-Scotch calls MPI by its public names; the library itself sets handlers of these two. */
static bool hit(const char *name, MPI_Comm comm, const void *caller)
{
    return comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF && !faults_is_library(caller) &&
           faults_hit(name);
}

#define CALLER __builtin_return_address(0)

#define COLLECTIVE(name, comm, parameters, arguments)                                              \
    int name parameters                                                                            \
    {                                                                                              \
        const int code = P##name arguments;                                                        \
                                                                                                   \
        return hit(#name, comm, CALLER) ? MPI_ERR_OTHER : code;                                    \
    }

#define TRANSFER(name, comm, parameters, arguments)                                                \
    int name parameters                                                                            \
    {                                                                                              \
        return hit(#name, comm, CALLER) ? MPI_ERR_OTHER : P##name arguments;                       \
    }

COLLECTIVE(MPI_Allreduce, c, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (a, b, n, t, o, c))
COLLECTIVE(MPI_Exscan, c, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
           (a, b, n, t, o, c))
COLLECTIVE(MPI_Bcast, c, (void *a, int n, MPI_Datatype t, int root, MPI_Comm c), (a, n, t, root, c))
COLLECTIVE(MPI_Allgather, c,
           (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),
           (a, n, t, b, m, u, c))
COLLECTIVE(MPI_Alltoall, c,
           (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),
           (a, n, t, b, m, u, c))
COLLECTIVE(MPI_Barrier, c, (MPI_Comm c), (c))
TRANSFER(MPI_Ibarrier, c, (MPI_Comm c, MPI_Request *r), (c, r))
COLLECTIVE(MPI_Iallreduce, c,
           (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *r),
           (a, b, n, t, o, c, r))
COLLECTIVE(MPI_Ialltoall, c,
           (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
            MPI_Request *r),
           (a, n, t, b, m, u, c, r))
COLLECTIVE(MPI_Comm_dup, MPI_COMM_NULL, (MPI_Comm c, MPI_Comm *d), (c, d))
TRANSFER(MPI_Comm_idup, MPI_COMM_NULL, (MPI_Comm c, MPI_Comm *d, MPI_Request *r), (c, d, r))
TRANSFER(MPI_Comm_split_type, c, (MPI_Comm c, int kind, int key, MPI_Info info, MPI_Comm *d),
         (c, kind, key, info, d))
TRANSFER(MPI_Comm_rank, c, (MPI_Comm c, int *rank), (c, rank))
TRANSFER(MPI_Comm_size, c, (MPI_Comm c, int *size), (c, size))
TRANSFER(MPI_Comm_set_errhandler, c, (MPI_Comm c, MPI_Errhandler h), (c, h))
TRANSFER(MPI_Get_processor_name, MPI_COMM_NULL, (char *name, int *length), (name, length))
/* A copy of @p bytes at @p a with one bit of an exponent flipped, never freed; @p a itself where
 * there is no memory. */
static const void *other_row(const void *a, int bytes)
{
    char *copy = malloc((size_t)bytes);

    if (copy == NULL) {
        return a;
    }
    memcpy(copy, a, (size_t)bytes);
    copy[bytes - 1] ^= 0x20;
    return copy;
}

/* Or the rank stops here, as a machine that is lost without a word; or sends other rows of B from
 * here on, and says nothing. */
int MPI_Isend(const void *a, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
    static bool lies;

    if (!faults_is_library(CALLER) && faults_hit("stop at MPI_Isend")) {
        (void)fputs("faults: stops at MPI_Isend\n", stderr); /* unbuffered */
        (void)raise(SIGSTOP);
    }
    if (tag >= FIRST_TAG_OF_ROWS && n > 0 && (lies || faults_hit("other rows"))) {
        lies = true;
        a    = other_row(a, n);
    }
    return hit("MPI_Isend", c, CALLER) ? MPI_ERR_OTHER : PMPI_Isend(a, n, t, to, tag, c, r);
}

TRANSFER(MPI_Irecv, c,
         (void *a, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
         (a, n, t, from, tag, c, r))

/* Of a request that is complete: how often one is tested before differs.  Without a status it is a
 * barrier, which ranks come to together, unlike messages. */
int MPI_Test(MPI_Request *r, int *done, MPI_Status *s)
{
    const int   code = PMPI_Test(r, done, s);
    const char *name = s == MPI_STATUS_IGNORE ? "MPI_Test of a barrier" : "MPI_Test";

    return *done && hit(name, MPI_COMM_NULL, CALLER) ? MPI_ERR_OTHER : code;
}

TRANSFER(MPI_File_open, MPI_COMM_NULL,
         (MPI_Comm c, const char *path, int mode, MPI_Info info, MPI_File *f),
         (c, path, mode, info, f))
TRANSFER(MPI_Get_count, MPI_COMM_NULL, (const MPI_Status *s, MPI_Datatype t, int *n), (s, t, n))

/* Three ways to fail: an error, nothing read, and half of what was asked for, which is none. */
int MPI_File_read_at(MPI_File f, MPI_Offset at, void *to, int n, MPI_Datatype t, MPI_Status *s)
{
    if (faults_hit("MPI_File_read_at")) {
        return MPI_ERR_IO;
    }
    if (faults_hit("end of file")) {
        return PMPI_File_read_at(f, at, to, 0, t, s);
    }
    if (n > 1 && faults_hit("short read")) {
        return PMPI_File_read_at(f, at, to, n / 2, t, s);
    }
    return PMPI_File_read_at(f, at, to, n, t, s);
}
