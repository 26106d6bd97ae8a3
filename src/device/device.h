/* SPDX-License-Identifier: Apache-2.0 */
/** @file device.h
 *  All that host code may ask of a device.  device_cpu.c answers with malloc and memcpy and runs
 *  everything at once, so plans, exchange and tests run unchanged without a GPU.
 */
#ifndef SPMM_DEVICE_DEVICE_H
#define SPMM_DEVICE_DEVICE_H

#include <stdbool.h>

#include "base/env.h"
#include "kernel_args.h"
#include "spmm_dist/types.h"

typedef struct spmm_event      spmm_event_t;
typedef struct spmm_graph      spmm_graph_t;
typedef struct spmm_device     spmm_device_t;
typedef struct spmm_device_ops spmm_device_ops_t;

/** Working sets, in bytes, at which the rate of gathering rows is known: calibrate.h. */
enum { SPMM_GATHER_SETS = 5 };
extern const double spmmi_gather_sets[SPMM_GATHER_SETS];

/** What ways between ranks cost a rank while all use theirs: network.h. */
typedef struct {
    double latency_s[SPMM_WAYS]; /**< of a message */
    double message_s[SPMM_WAYS]; /**< that each further message at the same time takes */
    double rate[SPMM_WAYS];      /**< bytes/s out, and as many in; 0: all ranks are on one node */
    double alone;                /**< the same between nodes while one rank of a node does */
} spmm_network_t;

/** One device of one rank, with the facts that cost models read. */
struct spmm_device {
    const spmm_device_ops_t *ops;
    spmm_device_kind_t       kind; /**< SPMM_DEVICE_CPU or SPMM_DEVICE_CUDA */
    spmm_env_t              *env;  /**< borrowed: where errors go */
    int                      ordinal;
    int                      cc;        /**< compute capability, 90 for 9.0; 0 on the CPU */
    int                      code;      /**< capability that the code it runs was made for; 0: cc */
    int                      n_sm;      /**< multiprocessors; OpenMP threads on the CPU */
    int                      threads;   /**< OpenMP threads of this rank on the host */
    double                   mem_bw;    /**< bytes/s of main or device memory */
    double                   fp32_peak; /**< flop/s */
    double                   copy_bw;   /**< bytes/s moved by a copy; 0: not measured */
    /** bytes/s of random rows of 512 bytes, out of working sets of
     *  spmmi_gather_sets; 0: likewise */
    double gather_bw[SPMM_GATHER_SETS];

    spmm_network_t network;

    char  description[96]; /**< "NVIDIA H200", "CPU, 2 threads" */
    char  bus_id[32];      /**< "0000:1b:00.0"; "" on the CPU */
    void *state;           /**< of the implementation */
};

/** Every function records its own error in device->env; streams may be NULL (the default one). */
struct spmm_device_ops {
    const char *name; /**< "cpu", "cuda" */

    /** Fill *device (ops, kind and env are set).  Collective over env->comm: finding the rank's
     *  place on its node takes it.  @p ordinal may be NULL: choose.  Not agreed over ranks. */
    spmm_status_t (*open)(spmm_device_t *device, const int *ordinal);
    void (*close)(spmm_device_t *device);

    /** Device memory, counted; bytes == 0 is valid. */
    spmm_status_t (*alloc)(const spmm_device_t *device, size_t bytes, void **ptr);
    /** The same for memory that only kernels of this process read and write: no peer, no MPI, no
     *  NCCL.  Comes at less cost; the device keeps some of what is released for the next one. */
    spmm_status_t (*alloc_cached)(const spmm_device_t *device, size_t bytes, void **ptr);
    /** NULL-safe; waits for the device. */
    void (*release)(const spmm_device_t *device, void *ptr);
    /** Host memory that copies to and from the device run fast and asynchronously with; counted. */
    spmm_status_t (*alloc_pinned)(const spmm_device_t *device, size_t bytes, void **ptr);
    void (*release_pinned)(const spmm_device_t *device, void *ptr);
    /** Bytes that the device holds and nobody has: pinned slots, and what alloc_cached() keeps. */
    void (*count_kept)(const spmm_device_t *device, size_t *pinned, size_t *cached);

    /** Enqueue a copy, either direction; asynchronous to the host when host memory is pinned. */
    spmm_status_t (*copy)(const spmm_device_t *device, void *dst, const void *src, size_t bytes,
                          spmm_stream_t stream);
    /** Enqueue a copy from any host memory to the device on the default stream; when it returns,
     *  the host memory may be changed. */
    spmm_status_t (*stage)(const spmm_device_t *device, void *to, const void *host, size_t bytes);
    /** May execute use this pointer as B or C?  Device memory of this device; on the CPU: any. */
    bool (*is_usable)(const spmm_device_t *device, const void *ptr);
    /** Copy arrays of unknown place (host or device) to the host; done when it returns. */
    spmm_status_t (*fetch)(const spmm_device_t *device, void *host, const void *any, size_t bytes);

    spmm_status_t (*stream_create)(const spmm_device_t *device, bool high_priority,
                                   spmm_stream_t *stream);
    void (*stream_destroy)(const spmm_device_t *device, spmm_stream_t stream);
    spmm_status_t (*stream_sync)(const spmm_device_t *device, spmm_stream_t stream);
    /** A number that no other stream of the process has or will have, handles being used again;
     *  false: not known. */
    bool (*stream_id)(const spmm_device_t *device, spmm_stream_t stream, uint64_t *id);

    /** Is what is enqueued there recorded for a graph, by whomever? */
    bool (*is_captured)(const spmm_device_t *device, spmm_stream_t stream);

    spmm_status_t (*event_create)(const spmm_device_t *device, bool timed, spmm_event_t **event);
    void (*event_destroy)(const spmm_device_t *device, spmm_event_t *event); /**< NULL-safe */
    spmm_status_t (*event_record)(const spmm_device_t *device, spmm_event_t *event,
                                  spmm_stream_t stream);
    spmm_status_t (*stream_wait)(const spmm_device_t *device, spmm_stream_t stream,
                                 const spmm_event_t *event);
    /** Keep the stream busy for about so long, at most 1 ms, without touching memory; on the CPU
     *  nothing. */
    spmm_status_t (*delay)(const spmm_device_t *device, double seconds, spmm_stream_t stream);
    /** Has all work before the event's last record been done?  Waits for nothing. */
    spmm_status_t (*event_query)(const spmm_device_t *device, const spmm_event_t *event,
                                 bool *done);
    /** Waits for both events (timed, recorded). */
    spmm_status_t (*event_elapsed)(const spmm_device_t *device, spmm_event_t *from,
                                   spmm_event_t *to, double *seconds);

    /* Work recorded once and launched many times; all NULL where the device cannot. */

    /** What this thread enqueues from now on, on @p stream and on streams that wait for its events,
     *  is recorded instead of run.  Not the default stream. */
    spmm_status_t (*graph_begin)(const spmm_device_t *device, spmm_stream_t stream);
    /** Stop recording, also after a failure; *graph is NULL when it failed. */
    spmm_status_t (*graph_end)(const spmm_device_t *device, spmm_stream_t stream,
                               spmm_graph_t **graph);
    spmm_status_t (*graph_launch)(const spmm_device_t *device, spmm_graph_t *graph,
                                  spmm_stream_t stream);
    void (*graph_destroy)(const spmm_device_t *device, spmm_graph_t *graph); /**< NULL-safe */

    /* Movement of dense rows; the args structs say what each does. */
    spmm_status_t (*gather_rows)(const spmm_device_t *device, const spmm_gather_args_t *args,
                                 spmm_stream_t stream);
    spmm_status_t (*scatter_rows)(const spmm_device_t *device, const spmm_scatter_args_t *args,
                                  spmm_stream_t stream);
    spmm_status_t (*scatter_add_rows)(const spmm_device_t           *device,
                                      const spmm_scatter_add_args_t *args, spmm_stream_t stream);
    spmm_status_t (*store_columns)(const spmm_device_t *device, const spmm_store_args_t *args,
                                   spmm_stream_t stream);
    spmm_status_t (*merge_rows)(const spmm_device_t *device, const spmm_merge_args_t *args,
                                spmm_stream_t stream);
    spmm_status_t (*round_rows)(const spmm_device_t *device, const spmm_round_args_t *args,
                                spmm_stream_t stream);
};

extern const spmm_device_ops_t spmmi_device_cpu;
#ifdef SPMM_HAVE_CUDA
extern const spmm_device_ops_t spmmi_device_cuda;
#endif

/** Open the device asked for on every rank.  Collective and agreed.  AUTO takes CUDA when built in
 *  and every rank sees a device, else the CPU. */
spmm_status_t spmmi_device_open(spmm_env_t *env, spmm_device_kind_t kind, const int *ordinal,
                                spmm_device_t *device);
void          spmmi_device_close(spmm_device_t *device);

/** Does the device run code that the build has for capability @p cc, as 90 for 9.0, or a later one?
 *  What only such code does is predicted and chosen on such devices alone: one of 9.0 may run what
 *  the driver makes from PTX for 8.0. */
bool spmmi_device_runs(const spmm_device_t *device, int cc);

enum {
    SPMM_DEVICE_CORES   = 1024, /**< of a node, that are told apart */
    SPMM_DEVICE_THREADS = 4096  /**< most of a rank; far beyond them OpenMP ends the program */
};

/** Threads of a rank that may run on the cores c with @p mine[c] != 0, where @p ranks_on[c] ranks
 *  of its node may: ranks share cores evenly, and those bound to cores of their
 *  own have them all. */
int spmmi_device_share(int n_cores, const int *mine, const int *ranks_on);
/** Ranks of one node share its cores: as many threads as fall to this one, unless the user has set
 *  a number, which OpenMP then reports.  Collective. */
spmm_status_t spmmi_device_count_threads(spmm_env_t *env, int *threads);

/** Copy from the host; done when it returns. */
spmm_status_t spmmi_device_write(const spmm_device_t *device, void *to, const void *host,
                                 size_t bytes);

/** Allocate and fill device memory from a host array; done when it returns. */
spmm_status_t spmmi_device_upload(const spmm_device_t *device, const void *host, size_t bytes,
                                  void **ptr);
spmm_status_t spmmi_device_upload_list(const spmm_device_t *device, const int32_t *host,
                                       int64_t count, int32_t **ptr);

#endif /* SPMM_DEVICE_DEVICE_H */
