/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport.h
 *  A transport moves packed rows between the ranks of a halo plan.  Add one by writing its
 *  spmm_transport_ops_t in a file of its own and one line in transport_list.h.
 */
#ifndef SPMM_EXCHANGE_TRANSPORT_H
#define SPMM_EXCHANGE_TRANSPORT_H

#include <stdbool.h>

#include "base/candidate.h"
#include "device/device.h"
#include "device/phases.h"
#include "exchange/halo.h"

/** How nccl-push shares out its work.  All 0 but in benchmarks and tests; the same on all ranks. */
typedef struct {
    /** Most thread blocks that send in one exchange, a bound on the multiprocessors that it takes
     *  from the local product; 112 at most count.  0: as many as the number of readers asks for. */
    int max_blocks;
    /** Most bytes from rank to rank that travel word by word.  0: SPMM_PUSH_LOW_LATENCY, which is
     *  also the most that counts; less than 0: none. */
    int low_latency_bytes;
    /** Less than 0: off-diagonal blocks wait for an event, as behind other transports; ranks may
     *  differ. */
    int waits;
} spmm_push_limits_t;

/** What a transport shares over all plans of a context, e.g. one NCCL communicator. */
typedef struct {
    spmm_env_t          *env;
    const spmm_device_t *device;
    void                *nccl;       /**< of transport_nccl.c, made by its first user */
    void                *peer_space; /**< of transport_nccl_push.c, likewise */
    int                  nccl_ctas;  /**< most thread blocks of an NCCL kernel; 0: NCCL's choice */
    bool                 windows;    /**< the communicator is for windows: no exchange runs on it */
    /** Why nccl-push could not be opened: plans to come need not try.  Empty: not known; set on all
     *  ranks or on none. */
    char               no_windows[SPMM_WHY];
    spmm_push_limits_t push;
    /** The last product of any plan whose off-diagonal block waits itself: the number of its
     *  stream, 0 for none, and its end, of that plan.  Of several streams at a time one has such
     *  products, so that blocks that wait never fill the device. */
    struct {
        uint64_t            stream;
        const spmm_event_t *end;
    } waiting;
} spmm_transport_shared_t;

/** In place of a step: what this rank was to pass on has not come.  Sent in place of rows that
 *  others wait for, by transports that see steps. */
#define SPMM_STEP_LOST UINT32_MAX

/** Direction of one exchange. */
typedef enum {
    SPMM_HALO_FORWARD, /**< op N: send rows -> ghost rows */
    SPMM_HALO_REVERSE  /**< op T: ghost rows -> send rows */
} spmm_direction_t;

/** One exchange: rows of row_bytes, contiguous, in the order of the halo plan, device memory. */
typedef struct {
    spmm_direction_t direction;
    void            *send_rows; /**< [send rows]: source of FORWARD, target of REVERSE */
    void            *halo;      /**< [recv rows]: target of FORWARD, source of REVERSE */
    size_t           row_bytes;
    /** SPMM_MOST_CHUNKS x executes in which this rank has exchanged nothing + chunk: equal on all
     *  ranks, or they are out of step. */
    uint32_t step;
    /** FORWARD, for a transport that packs: nothing is packed in send_rows, the rows of send_row
     *  lie here, ld_bytes apart.  NULL: packed.  Ranks may differ. */
    const void *in_place;
    size_t      ld_bytes;
    /** It is asked arrival() of, being in no CUDA graph. */
    bool tells;
} spmm_exchange_t;

/** One end of an exchange: packed rows, grouped by peer. */
typedef struct {
    int            n_peers;
    const int     *peer; /**< [n_peers] */
    const int64_t *ptr;  /**< [n_peers + 1] rows */
    char          *rows;
} spmm_exchange_side_t;

/** The rows to or from the @p p th peer, and their bytes. */
static inline char *spmmi_side_rows(const spmm_exchange_side_t *side, int p, size_t row_bytes)
{
    return side->rows + (size_t)side->ptr[p] * row_bytes;
}

static inline size_t spmmi_side_bytes(const spmm_exchange_side_t *side, int p, size_t row_bytes)
{
    return (size_t)(side->ptr[p + 1] - side->ptr[p]) * row_bytes;
}

/** Bytes of all rows of one end. */
static inline size_t spmmi_side_total(const spmm_exchange_side_t *side, size_t row_bytes)
{
    return (size_t)side->ptr[side->n_peers] * row_bytes;
}

/** What this rank sends. */
static inline spmm_exchange_side_t spmmi_exchange_source(const spmm_halo_t     *halo,
                                                         const spmm_exchange_t *exchange)
{
    return exchange->direction == SPMM_HALO_FORWARD
               ? (spmm_exchange_side_t){halo->n_send_peers, halo->send_peer, halo->send_ptr,
                                        exchange->send_rows}
               : (spmm_exchange_side_t){halo->n_recv_peers, halo->recv_peer, halo->recv_ptr,
                                        exchange->halo};
}

/** What it receives. */
static inline spmm_exchange_side_t spmmi_exchange_target(const spmm_halo_t     *halo,
                                                         const spmm_exchange_t *exchange)
{
    return exchange->direction == SPMM_HALO_FORWARD
               ? (spmm_exchange_side_t){halo->n_recv_peers, halo->recv_peer, halo->recv_ptr,
                                        exchange->halo}
               : (spmm_exchange_side_t){halo->n_send_peers, halo->send_peer, halo->send_ptr,
                                        exchange->send_rows};
}

typedef struct spmm_transport_ops {
    const char *name;        /**< "nccl", "nccl-push", "mpi-host"... */
    const char *description; /**< one line */
    bool        built;       /**< false: this build lacks what it needs */
    bool        by_name;     /**< auto leaves it alone */

    /** Why auto leaves it alone on this rank as things are: the end of a sentence that starts with
     *  the name, static; NULL: it may take it.  May be NULL. */
    const char *(*asks_first)(void);

    /** Can all ranks use it?  Collective; the answer and @p why (the end of a sentence that starts
     *  with the name) are the same on all ranks. */
    bool (*supports)(spmm_transport_shared_t *shared, char why[SPMM_WHY]);

    /** What create() does for the first plan of a context: finds out what supports(), which is
     *  cheap, cannot.  Collective, agreed; SPMM_ERR_UNSUPPORTED when it cannot be
     *  used.  May be NULL. */
    spmm_status_t (*open)(spmm_transport_shared_t *shared);

    /** Predicted seconds of one exchange of rows of @p row_bytes, with packing where it packs. */
    double (*cost)(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device);

    /** Collective, not agreed.  @p halo is borrowed as long as the state lives.
     *  @param[in] max_row_bytes  largest row of any exchange */
    spmm_status_t (*create)(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                            size_t max_row_bytes, void **state);

    /** Start one exchange in the order of @p stream.  Work enqueued on other streams between
     *  begin() and end() overlaps it.  The buffers must not be touched until end(). */
    spmm_status_t (*begin)(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream);
    /** Finish it: work enqueued on @p stream from here on sees the rows. */
    spmm_status_t (*end)(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream);

    /** When the rows of the exchange that begin() was called for last, and that `tells`, are in
     *  their target and those of its source have been read: for kernels on any stream that are
     *  enqueued behind begin().  They are told of an exchange that fails, too.  NULL: nobody
     *  knows. */
    spmm_until_t (*arrival)(const void *state);

    /** May kernels that are enqueued on the same stream right behind begin() run beside the
     *  exchange?  It then began when all in front of it had ended.  NULL: never. */
    bool (*lets_begin)(const void *state);

    /** Memory for the target of an exchange, recv or send rows of max_row_bytes: elsewhere it gets
     *  a copy.  May be NULL, also the answer. */
    void *(*target_rows)(const void *state);

    void (*bytes)(const void *state, size_t *host, size_t *device);
    /** NULL-safe, collective; before the rows of its exchanges are freed. */
    void (*destroy)(void *state);
    /** Frees what create() put into @p shared; collective; may be NULL. */
    void (*close)(spmm_transport_shared_t *shared);
    /** An error of an exchange that showed after its end() had returned: data of that exchange and
     *  all later ones are void.  Local, does not wait; may be NULL. */
    spmm_status_t (*check)(spmm_transport_shared_t *shared);

    bool packs;      /**< takes rows in_place: it packs them on the way */
    bool sees_steps; /**< rows of another length or step are SPMM_ERR_COMM on the rank that gets
                          them; false: they are taken for what was expected */
    bool captures;   /**< begin() and end() may be captured in a CUDA graph and replayed */
} spmm_transport_ops_t;

/** All transports; of equally fast ones the first is taken. */
extern const spmm_transport_ops_t *const spmmi_transports[];
extern const int                         spmmi_n_transports;

const spmm_transport_ops_t *spmmi_transport_find(const char *name);

/** check() of all transports; to be called when the host has waited for a stream. */
spmm_status_t spmmi_transport_check(spmm_transport_shared_t *shared);

/** What a plan asks of a transport. */
typedef struct {
    const spmm_halo_t *halo;
    size_t             row_bytes; /**< largest */
    bool               picks; /**< rows lie scattered: they are packed first, or by the transport */
    bool packed; /**< what travels is not the rows of B: transports that pack do not serve it */
} spmm_transport_need_t;

/** The transport named, or (NULL, "auto") of those that all ranks can use the one with the least
 *  predicted time on its slowest rank; one that cannot be opened after all makes room for the next.
 *  Collective, agreed.
 *  @param[out] candidates  [spmmi_n_transports]; times of the slowest rank, with packing */
spmm_status_t spmmi_transport_choose(spmm_transport_shared_t *shared, const char *name,
                                     const spmm_transport_need_t *need,
                                     spmm_candidate_t            *candidates,
                                     const spmm_transport_ops_t **chosen);

#endif /* SPMM_EXCHANGE_TRANSPORT_H */
