/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h  The plan as its own layer and the API see it. */
#ifndef SPMM_PLAN_PLAN_H
#define SPMM_PLAN_PLAN_H

#include "engine/choose/autotune.h"
#include "exchange/halo.h"
#include "exchange/transport.h"
#include "matrix/matrix.h"
#include "partition/layout.h"
#include "partition/partition.h"
#include "partition/reorder/reorder.h"
#include "plan/capture.h"
#include "plan/schedule.h"
#include "spmm_dist/plan.h"

/** How the rows of a block came to be ordered. */
typedef struct {
    const spmm_reorderer_t *method; /**< applied, or only tried; NULL: none was run */
    bool                    applied;
    const char             *why; /**< it was not; the end of a sentence, static */
    spmm_tc_facts_t         before, after;
    double                  seconds;        /**< spent on it */
    double                  own_s, other_s; /**< measured times of the product in either order; 0:
                                                 the prediction decided */
} spmm_reordering_t;

/** A block with its rows in another order. */
typedef struct {
    spmm_csr_t     csr;
    int64_t       *source; /**< [nnz] as in spmm_block_t */
    spmm_pattern_t pattern;
} spmm_permuted_t;

/** A part of the product on this rank, and the engine that runs it. */
typedef struct {
    const spmm_engine_ops_t *engine; /**< NULL: not built, or given up */
    void                    *format; /**< owned; NULL before build */
    spmm_csr_t               csr;    /**< input of the build; freed when no other format needs it */
    int64_t                 *source; /**< [nnz] place of each entry among this rank's entries,
                                          NULL: the same as here */
    int64_t                  nnz;
    spmm_reordering_t        reordering;
    spmm_permuted_t          rival;   /**< owned: an order to be measured; no row_ptr: none */
    spmm_pattern_t           pattern; /**< of csr as it is now, once scanned; windows until built */
    bool                     scanned;
    spmm_problem_t           problem;
    spmm_candidate_t *candidates; /**< [spmmi_n_engines], owned: for explain; NULL: not yet */
    double            predicted_s, measured_s; /**< of the engine; as of a candidate */
} spmm_block_t;

/** All entries of this rank in one block, and the rows of B that it multiplies. */
typedef struct {
    spmm_block_t block;
    void        *rows; /**< device [own and other rows x n], owned */
} spmm_joined_t;

/** Marks of one execute, in stream order; timed when the plan profiles.  Where a schedule works on
 *  slices of columns, each has its own from PACK to EXCHANGED, of HALO and of UNPACK. */
typedef enum {
    SPMM_MARK_START,      /**< user stream: before anything */
    SPMM_MARK_PACK,       /**< comm stream: before packing */
    SPMM_MARK_PACKED,     /**< comm stream: before begin() of the transport */
    SPMM_MARK_BEGUN,      /**< comm stream: after begin() */
    SPMM_MARK_ENDING,     /**< comm stream: before end() */
    SPMM_MARK_EXCHANGED,  /**< comm stream: after end() */
    SPMM_MARK_LOCAL_FROM, /**< user stream: around the local block */
    SPMM_MARK_LOCAL_TO,
    SPMM_MARK_HALO_FROM, /**< user stream: around the halo block */
    SPMM_MARK_HALO_TO,
    SPMM_MARK_UNPACK_FROM, /**< user stream, op T: around the sum of received rows */
    SPMM_MARK_UNPACK_TO,
    SPMM_MARK_DONE, /**< user stream: after everything */
    SPMM_MARKS
} spmm_mark_t;

/** The events of one slice.  Those that streams wait for take no times: that costs the stream less. */
typedef struct {
    spmm_event_t *tie[SPMM_MARKS];  /**< START, EXCHANGED, HALO_TO, DONE */
    spmm_event_t *time[SPMM_MARKS]; /**< NULL unless the plan profiles */
} spmm_marks_t;

/** Where the values of a format lie on the device, and come from. */
typedef struct {
    void    *values; /**< of the format */
    int64_t  count;
    int32_t *source; /**< [count] device, owned: place in the caller's arrays, -1: none; NULL: the
                          same */
} spmm_value_list_t;

enum { SPMM_PLAN_BLOCKS = 1 + SPMM_BLOCKSETS }; /**< local, remote and joined ones */

/** Rows of C that peers send partial sums for, grouped by row: device memory. */
typedef struct {
    int64_t  n_rows;
    int32_t *row, *ptr, *pos;
} spmm_reduce_list_t;

struct spmm_plan {
    spmm_env_t              *env; /**< borrowed from the context, as are the next three */
    const spmm_device_t     *device;
    spmm_transport_shared_t *shared;
    spmm_matrix_t           *A;
    spmm_matrix_user_t       user; /**< links the plan to A for new values */

    int64_t        n; /**< most columns */
    spmm_op_t      op;
    spmm_layout_t  layout;
    spmm_type_t    ab_type, c_type;
    spmm_type_t    halo_type; /**< of exchanged rows: that of B, or for op T the accumulator's */
    spmm_compute_t compute;
    bool           deterministic, profile, exact_nonfinite;

    spmm_partition_t  partition;
    spmm_layout_map_t rows, cols; /**< distributions of the rows and columns of A */
    spmm_halo_t       halo;
    int64_t          *need;  /**< [recv rows], owned: new index of each halo row; NULL once the
                                 formats are made */
    bool              alone; /**< no row travels from or to this rank, and no halo block */
    spmm_block_t      local, remote;          /**< entries whose column this rank owns / does not */
    spmm_joined_t     joined[SPMM_BLOCKSETS]; /**< both in one; [SPLIT] is unused */
    bool              made[SPMM_BLOCKSETS];   /**< what there is of formats and their buffers */
    bool              keep_input;             /**< csr of local and remote are needed once more */
    bool              edge;   /**< B and C are column-major, the blocks' row-major copies */
    double            edge_s; /**< predicted time of the copies; column-major plans only */

    const spmm_transport_ops_t *transport;
    void                       *exchange;   /**< state of the transport, owned */
    spmm_candidate_t           *transports; /**< [spmmi_n_transports], owned: for explain */
    spmm_halo_t                 full;       /**< the halo plan of schedule allgather */
    void                       *gather;     /**< state of the transport on it; NULL: not needed */

    const spmm_schedule_t *schedule;
    spmm_candidate_t      *schedules; /**< [spmmi_n_schedules], owned: for explain */
    bool                   travels;   /**< some rank has a peer: the schedule matters */

    void              *mirror_rows; /**< device [send rows x n], packed; NULL for allgather */
    void              *halo_rows;   /**< device [recv rows x n], packed; NULL unless SPLIT */
    void              *peer_rows;   /**< the one of them that is the transport's; NULL: none */
    void              *halo_edge;   /**< halo_rows, column-major, when the blocks are */
    void              *edge_b;   /**< device [local rows of B x n], row-major; NULL unless edge */
    void              *edge_c;   /**< device [local rows of C x n], likewise */
    int32_t           *send_row; /**< device copy of halo.send_row: op N packs these */
    spmm_reduce_list_t reduce;   /**< op T adds these */

    spmm_stream_t comm_stream;
    spmm_marks_t  marks[SPMM_MOST_CHUNKS]; /**< of each slice; NULL: none */
    uint64_t last_stream; /**< number of the stream that DONE was recorded on; 0: wait for DONE */
    bool     in_use;      /**< DONE has been recorded: streams may be at work on the buffers */
    bool     has_run;     /**< the last execute succeeded: all marks are of it */
    int64_t  last_n;      /**< columns of the last execute */

    spmm_captures_t *graphs; /**< owned; NULL: executes are not captured */
    const char *graph_why; /**< though asked for; the end of a sentence, static; NULL: not asked */

    bool              listed; /**< value_list is made */
    spmm_value_list_t value_list[SPMM_PLAN_BLOCKS];

    spmm_plan_stats_t stats; /**< all but the times */
};

/** The plan behind spmm_plan_create().  Collective, agreed.  @p shared is the context's. */
spmm_status_t spmmi_plan_build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                               const spmm_plan_options_t *options, spmm_plan_t **plan);
/** A plan without formats and schedule: blocks, halo plan and transport, to bring rows of B (or
 *  others of that distribution) to the ranks that need them.  Follows no new values.  Collective,
 *  agreed. */
spmm_status_t spmmi_plan_build_exchange(spmm_transport_shared_t *shared, spmm_matrix_t *A,
                                        int64_t n, const spmm_plan_options_t *options,
                                        spmm_plan_t **plan);
/** NULL-safe; waits for executes in flight.  Collective. */
void spmmi_plan_free(spmm_plan_t *plan);

/* blocks.c, arrival.c: redistribute A and split it into the local and the halo block. */

/** Fill plan->local and ->remote (csr and source) and the halo plan.  Collective, agreed. */
spmm_status_t spmmi_plan_make_blocks(spmm_plan_t *plan);
/** refill of spmm_matrix_user_t: new values of A into both formats.  Collective. */
spmm_status_t spmmi_plan_refill(void *plan);
/** New values into the format of one block.  Local.
 *  @param[in] arrived  host, all values of this rank in the order of arrival */
spmm_status_t spmmi_plan_refill_block(const spmm_plan_t *plan, const spmm_block_t *block,
                                      const void *arrived);

/* new_values.c: values that lie on the device. */

/** Enqueue new values for this plan alone.  Local; the first call makes lists.
 *  @param[in] values  [local nnz] in the order of the caller's arrays, device memory */
spmm_status_t spmmi_plan_take_values(spmm_plan_t *plan, const void *values, spmm_stream_t stream);
/** Wait for values taken, and for executes: what writes the formats from the host comes after them. */
spmm_status_t spmmi_plan_finish_values(spmm_plan_t *plan);
void          spmmi_plan_free_lists(spmm_plan_t *plan);

/* formats.c */

/** Does this plan choose by measured times? */
bool spmmi_plan_uses_trials(const spmm_plan_t *plan, const spmm_plan_options_t *o);
/** Choose an engine and build the format of a block whose rows have been ordered; its CSR stays.
 *  Local. */
spmm_status_t spmmi_plan_build_block(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                     const spmm_plan_options_t *o);

/* join.c */

/** block->csr and ->source = entries of both blocks; columns of the halo block follow the own ones,
 *  in the order of the halo rows or, for GATHERED, of all indices of other ranks.  Local. */
spmm_status_t spmmi_plan_join(const spmm_plan_t *plan, spmm_blockset_t blockset,
                              spmm_block_t *block);

/* blockset.c: formats and the buffers that go with them. */

/** Fill block->pattern unless it is there.  Local. */
spmm_status_t spmmi_plan_scan(const spmm_plan_t *plan, spmm_block_t *block);
/** Make formats and buffers unless they are there.  Collective, agreed; when it fails the caller drops what there
 *  is. */
spmm_status_t spmmi_plan_make_blockset(spmm_plan_t *plan, spmm_blockset_t blockset,
                                       const spmm_plan_options_t *o);
/** Free all formats and buffers but those that schedules with @p keep need.  Collective. */
void spmmi_plan_drop_blocksets(spmm_plan_t *plan, const bool keep[SPMM_BLOCKSETS]);
/** Free the exchange of all rows of B, if there is one: its messages are given up.  Local. */
void spmmi_plan_close_gather(spmm_plan_t *plan);
/** The blockset that this rank needs where the schedule asks for @p blockset. */
spmm_blockset_t spmmi_plan_blockset_here(const spmm_plan_t *plan, spmm_blockset_t blockset);
/** Frees what is left of a block. */
void spmmi_block_free(spmm_block_t *block);
/** The block with the rows of all entries, or the local one. */
const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan);

/* reorder.c: the order in which rows are multiplied; row maps lead back to the rows of C. */

/** Order the rows of a block as option reorder says, before its format is built, or where times shall decide
 *  keep the other order as rival.  Local.
 *  @param[in] c_type  of the product */
spmm_status_t spmmi_plan_reorder(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                 const spmm_plan_options_t *o);
void          spmmi_permuted_free(spmm_permuted_t *p);
/** Is the best engine for pattern @p after, of those that @p engine (NULL or "auto": all) admits,
 *  predicted to beat the best one for @p before clearly? */
bool spmmi_reordering_gains(const char *engine, const spmm_pattern_t *before,
                            const spmm_pattern_t *after, const spmm_problem_t *problem,
                            const spmm_device_t *device);
/** The facts that no order of rows can better. */
spmm_pattern_t spmmi_reordering_bound(const spmm_pattern_t *pattern);
/** Least predicted time of those engines on a pattern; INFINITY where none runs. */
double spmmi_plan_best_time(const char *engine, const spmm_pattern_t *pattern,
                            const spmm_problem_t *problem, const spmm_device_t *device);

/** May what affinity takes come back in @p executes products (as the option), if its order is the best
 *  thinkable? */
bool spmmi_reordering_pays(const char *engine, const spmm_pattern_t *before,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           int64_t executes);

/* buffers.c: what execute needs besides the formats. */

/** Allocate lists, events and the comm stream.  Local. */
spmm_status_t spmmi_plan_make_buffers(spmm_plan_t *plan);
void          spmmi_plan_free_buffers(spmm_plan_t *plan);
/** Allocate rows to exchange and what multiplies them.  Local. */
spmm_status_t spmmi_plan_make_rows(spmm_plan_t *plan, spmm_blockset_t blockset);
void          spmmi_plan_free_rows(spmm_plan_t *plan, spmm_blockset_t blockset);
/** Bytes of device memory of all of it. */
size_t spmmi_plan_buffer_bytes(const spmm_plan_t *plan);

/* marks.c */

/** Events for @p slices slices.  Local. */
spmm_status_t spmmi_plan_make_marks(spmm_plan_t *plan, int slices);
void          spmmi_plan_free_marks(spmm_plan_t *plan);
/** The time of a mark of slice @p index, of a plan that profiles. */
spmm_event_t *spmmi_plan_event(const spmm_plan_t *plan, int index, spmm_mark_t which);
/** A mark that streams wait for. */
spmm_status_t spmmi_plan_mark(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);
/** A mark that only profiling looks at. */
spmm_status_t spmmi_plan_note(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);
/** Work enqueued on @p stream from here on starts after the mark. */
spmm_status_t spmmi_plan_wait(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);

/* edge.c: column-major B and C for engines that multiply row-major blocks. */

/** Ask all engines about the local block of a column-major plan, each in the better of two ways:
 *  on the block as it is, or on row-major copies.  Ranks may come to choose differently, since halo
 *  rows travel row-major anyway. */
spmm_status_t spmmi_plan_consider_edge(spmm_plan_t *plan);
/** What the blocks multiply and write: @p x itself, or the copies of the edge. */
spmm_operands_t spmmi_plan_inner(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue the copy of B, where there is an edge. */
spmm_status_t spmmi_plan_turn_b(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue C = copy + beta * C, where there is an edge. */
spmm_status_t spmmi_plan_store_c(const spmm_plan_t *plan, const spmm_operands_t *x);

/* move.c */

/** spmm_plan_scatter() (to_plan) and spmm_plan_gather() (else).  Collective, agreed. */
spmm_status_t spmmi_plan_move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                              const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                              spmm_stream_t stream);

/** Where the rows of an operand live: the rows of A or its columns, by op. */
const spmm_layout_map_t *spmmi_plan_map(const spmm_plan_t *plan, spmm_operand_t operand);

/* stats.c */

/** Volumes over all ranks, into plan->stats.  Collective, agreed. */
spmm_status_t spmmi_plan_count(spmm_plan_t *plan);
/** Copy plan->stats with the times of the last execute. */
spmm_status_t spmmi_plan_collect_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats);

/* timeline.c */

/** As spmm_plan_get_timeline(), with room for all spans, and spmm_plan_get_traffic(). */
spmm_status_t spmmi_plan_trace(const spmm_plan_t *plan, spmm_span_t *spans, int *count);
void          spmmi_plan_trace_rows(const spmm_plan_t *plan, int64_t *rows);

/* explain.c */

spmm_status_t spmmi_plan_print(const spmm_plan_t *plan, FILE *out);

#endif /* SPMM_PLAN_PLAN_H */
