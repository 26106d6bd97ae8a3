/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan.h
 *  The plan: everything that is paid once (partition, halo plan, local formats, engine choice,
 *  buffers), and the product itself.
 */
#ifndef SPMM_DIST_PLAN_H
#define SPMM_DIST_PLAN_H

#include "spmm_dist/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Zero in any field means "choose for me"; the struct grows only at its end. */
typedef struct {
    size_t         struct_size; /**< set by SPMM_PLAN_OPTIONS_INIT; lets old callers run */
    spmm_op_t      op;          /**< product with A, its transpose or its conjugate transpose */
    spmm_layout_t  layout;      /**< storage order of B and C; AUTO: row-major, which serves all
                                     engines directly.  Column-major may cost a row-major copy of
                                     B and of C on each rank; spmm_plan_explain() says so */
    spmm_compute_t compute;     /**< AUTO: 64F for FP64, complex too, 32F for all other types */
    spmm_type_t    c_type;      /**< AUTO: the type of A and B; FP32 possible for 16-bit A and B */
    spmm_type_t    b_type;      /**< of B and C.  AUTO: that of A (c_type aside).  SPMM_C_64F for A
                                     of SPMM_R_64F, SPMM_C_32F for A of SPMM_R_32F: B and C are
                                     complex, row-major, and multiplied as they lie, as real
                                     blocks of twice the columns; alpha and beta are real then */
    const char    *partition;   /**< "keep" (NULL): rows stay with the caller's ranks; "block",
                                     "metis", "ptscotch", "auto", "one" (the first rank has
                                     all), "file:PATH": the plan has its own layout, see
                                     spmm_plan_get_layout() */
    double         imbalance;   /**< of metis and ptscotch: allowed max / mean entries per rank;
                                     0: 1.03 */
    const char    *engine;      /**< NULL or "auto": on GPUs the fastest of the best predicted and
                                     cusparse, as far as @p executes pays for it, measured while the
                                     plan is made, or in an earlier plan with the same pattern,
                                     types and n on such a device, which files of $SPMM_CACHE_DIR
                                     remember unless SPMM_REMEMBER=0; on CPUs the least predicted
                                     time */
    const char    *transport;   /**< NULL or "auto": the one predicted to be fastest */
    int64_t        executes;    /**< products to come; 0: 1000.  Rows are ordered only where that
                                     can pay in so many, and finding the fastest engine takes no
                                     more than 5 % of what they will, or 25 % where engines are
                                     close: few get the model's choice */
    int            deterministic; /**< nonzero: bitwise equal results from run to run on one kind of
                                       device; engines and chunks are then chosen by the model
                                       alone.  Name engine, order, chunks and exchange to not
                                       depend on calibrated rates either */
    int reproducible; /**< nonzero: bitwise equal results for any number of ranks, partition and
                           transport, on CPUs of one kind, and on GPUs: each row is summed in the
                           order of the columns of the original A, by engine csr-cpu or csr-gpu,
                           after all rows that it needs have arrived (schedule "merged").  op T and
                           H then multiply by blocks of the transposed A and bring rows of B, not
                           sums */
    int graph;        /**< nonzero: capture executes in CUDA graphs, for products so small that
                           launching their parts takes longer than the work; see spmm_execute().
                           Needs GPUs, on several ranks transport nccl or nccl-push, and a context
                           without timeout_s.  Plans that profile capture nothing:
                           spmm_plan_explain() says so */
    spmm_type_t halo_type; /**< rows of B travel rounded to this type: 16F or 16BF where A is in
                                FP32, 32F where it is in FP64.  Half the bytes, and in C a further
                                error of up to u |A| |B| of the entries whose row of B
                                travels, u = 2^-11 for 16F, 2^-8 for 16BF, 2^-24 for 32F; elements
                                beyond the type's range become Inf, and below its normal ones lose
                                more.  Op N, not for reproducible plans and transport "nccl-push".
                                AUTO: as they are */
    int         profile;   /**< local unless with graph; nonzero: time the phases of every execute
                                (for stats) */
    int         exact_nonfinite; /**< nonzero: where B holds Inf or NaN, C has what the entries of
                                      A make of them.  Zero: engine cusparse may put NaN in other
                                      rows of C */
    const char *tuning; /**< "key=value,..." of what the plan else chooses, each key at most once,
                                in any order; NULL, "", or value auto: the plan chooses.
                                order: in which a rank multiplies its rows; C is not permuted.
                                "none"; "affinity", "sorted".  Auto: on GPUs one of these two where
                                it may save more time in @p executes products than ordering costs.
                                schedule: of exchange and products, docs/reference/engines.md.
                                "overlap"; "merged", which is auto's where @p reproducible asks
                                for it.
                                chunks: of columns, 1, 2 or 4, in which schedule overlap brings and
                                multiplies rows.  Auto: on GPUs the fastest measured of one and the
                                two best predicted, where the plan measures; on CPUs one.
                                exchange: "flat": rows go straight to the ranks that need them;
                                "node": once to each other node that needs them, spread over the
                                ranks of both nodes, and on from rank to rank there; op T adds sums
                                for a row on the node that sends them.  Auto: on CPUs what is
                                predicted to be faster, on GPUs flat.
                                objective: of metis, "vol" or "cut".  Auto: vol, but cut for very
                                uneven degrees in 32 parts or more, and for more than 2^22 edges in
                                two.  Of ptscotch: cut alone.
                                seed: of the partitioner, a whole number; 0.
                                measure: "no": choose by the model alone; "yes", as auto */
} spmm_plan_options_t;

/** "Choose for me" in every field. */
#define SPMM_PLAN_OPTIONS_INIT                                                                     \
    {                                                                                              \
        sizeof(spmm_plan_options_t), SPMM_OP_N, SPMM_LAYOUT_AUTO, SPMM_COMPUTE_AUTO,               \
            SPMM_TYPE_AUTO, SPMM_TYPE_AUTO, NULL, 0.0, NULL, NULL, 0, 0, 0, 0, SPMM_TYPE_AUTO, 0,  \
            0, NULL                                                                                \
    }

/** Prepare C = alpha * op(A) * B + beta * C for dense blocks of up to @p n columns.  Collective;
 *  may take seconds.  @p A must outlive the plan.
 *  @param[in]  n        columns of B and C, 1 .. 2^31 - 1: executes may have fewer, but memory of
 *                       the plan is sized and engines are chosen for it
 *  @param[in]  options  NULL for defaults; equal on all ranks but for fields that say local
 *  @return SPMM_ERR_UNSUPPORTED when the engine, transport or partitioner asked for cannot do it;
 *          spmm_last_error() says why */
SPMM_API spmm_status_t spmm_plan_create(spmm_matrix_t *A, int64_t n,
                                        const spmm_plan_options_t *options, spmm_plan_t **plan);

/** Enqueue C = alpha * op(A) * B + beta * C.  Collective, but it spends no reduction: a failure
 *  is reported by the ranks that saw it.  A call that is refused counts all the same: what all
 *  ranks refuse leaves them in step, what some refuse puts them out of step, and rows that arrive
 *  in a later call of theirs are SPMM_ERR_COMM where they are expected.  Transport nccl cannot see
 *  that: there a rank that has peers refuses all calls after one that it refused, until
 *  spmm_plan_resync().  Context option check makes one rank's refusal that of all.  After
 *  SPMM_ERR_COMM MPI may still read @p B, which must not be freed then.  Allocates nothing.  On
 *  CUDA contexts with transport nccl it returns before the result is ready, which is when @p stream
 *  reaches this point; the first call, and with engine cusparse the first after a change of n, ldb
 *  or ldc, may wait for the device.
 *  With transport nccl-push the bits of rows that need others' may also be others in a graph that
 *  the program captures, and while products of the context run in several streams at a time; not
 *  with option deterministic.
 *  With option graph, the second call with the same arguments captures them and allocates; it and
 *  later ones launch one graph.  A few graphs are kept as long as n, ldb, ldc and the alignment of
 *  B and C (modulo 16 bytes) stay.  NCCL demands that all ranks capture and launch alike: on
 *  several ranks a call must repeat the arguments of an earlier one on all ranks or on none, and
 *  change one of those four on all or on none.  That goes for ranks without rows, too: they must
 *  not pass the same pointer for different buffers of the others.  A buffer that a graph was
 *  captured with may be freed only after the plan.
 *  Not while @p stream is being captured by the program: that is what option graph is for.
 *  @param[in]     n           columns, 1 .. n of the plan, equal on all ranks; may change from call
 *                             to call.  Rows of another n are SPMM_ERR_COMM on the ranks that get
 *                             them, over nccl-push from the next call on; transport nccl does not
 *                             see it: context option check does, and timeout_s ends what waits
 *  @param[in]     alpha,beta  real, see spmm_execute_scaled(); equal on all ranks; converted to the
 *                             compute type; beta == 0 never reads C; alpha == 0 may read B, and
 *                             0 * Inf then is NaN.  Context option check compares them
 *  @param[in]     B           local rows of B (spmm_plan_get_layout) x n, memory of the context's
 *                             device; shares no element with C, which is checked.  Both may be
 *                             blocks of one array side by side, with one ld
 *  @param[in]     ldb,ldc     row-major: >= n, equal on all ranks, which context option check
 *                             compares; column-major: local, >= local rows; where a rank has no
 *                             rows of B or C it is not read there, and may be anything
 *  @param[in,out] C           local rows of C x n.  16 bits are rounded once: sums, those of all
 *                             ranks and beta * C among them, are in FP32 until then, for which a
 *                             plan may hold a copy of C (engine cusparse, which is then taken by
 *                             name alone, does as its library does where it alone writes C) */
SPMM_API spmm_status_t spmm_execute(spmm_plan_t *plan, int64_t n, double alpha, const void *B,
                                    int64_t ldb, double beta, void *C, int64_t ldc,
                                    spmm_stream_t stream);

/** Are all ranks in step, having refused the same number of executes of @p plan?  Collective.
 *  Plans over transport nccl execute again where they are.
 *  @return SPMM_ERR_COMM where they are not: rows under way then belong to no common execute, and
 *          plan and context are to be destroyed */
SPMM_API spmm_status_t spmm_plan_resync(spmm_plan_t *plan);

/** spmm_execute() with factors of the type that sums are kept in: complex for a complex A.
 *  @param[in] alpha,beta  one number each in host memory, equal on all ranks, read before the call
 *                         returns: of SPMM_C_64F or SPMM_C_32F as A is, of SPMM_R_64F for A of that
 *                         type, else of SPMM_R_32F */
SPMM_API spmm_status_t spmm_execute_scaled(spmm_plan_t *plan, int64_t n, const void *alpha,
                                           const void *B, int64_t ldb, const void *beta, void *C,
                                           int64_t ldc, spmm_stream_t stream);

/** Enqueue new values for this plan alone, in the order of @p stream: later executes, on any
 *  stream, multiply by them, until the next call or spmm_matrix_update_values().  Matrix and other
 *  plans keep theirs.  Not collective.  On GPUs nothing leaves the device or waits for it with
 *  engines csr-gpu, cusparse and cvse; formats of the others are refilled by the host.  The first
 *  call on a plan allocates and may wait.
 *  @param[in] values  [local_nnz] of the matrix's type, in the order of
 *                     spmm_matrix_update_values(), memory of the context's device, read until
 *                     @p stream has passed this point
 *  @return SPMM_ERR_UNSUPPORTED when the partition is not "keep", or op T or H of a plan
 *          is reproducible: values would have to travel */
SPMM_API spmm_status_t spmm_plan_update_values(spmm_plan_t *plan, const void *values,
                                               spmm_stream_t stream);

/** The two dense operands. */
typedef enum { SPMM_OPERAND_B = 0, SPMM_OPERAND_C } spmm_operand_t;

/** Rows of B or C that this rank holds when it calls spmm_execute(), and where they come from. */
typedef struct {
    size_t         struct_size;    /**< set by the caller to sizeof(spmm_layout_info_t) */
    int64_t        local_rows;     /**< in the plan's distribution */
    const int64_t *global_row;     /**< [local_rows] original index of each, ascending; borrowed */
    int64_t        original_first; /**< this rank's rows in the caller's distribution */
    int64_t        original_rows;  /**< how many of them */
    int            is_shared;      /**< nonzero: the other operand has the same rows on each rank */
} spmm_layout_info_t;

/** Where the rows of an operand live.  Not collective.  Where no row has moved, the first call
 *  makes the list global_row, 8 bytes a row, which the plan then holds.
 *  B and C of a plan have the same layout, with every partition and op, where A is square and each
 *  rank owns as many columns as rows (@p n_cols == @p n_rows where A was made; always where a
 *  square A was read or generated): then one array may be C of one execute and B of the next.
 *  is_shared says so.
 *  @return SPMM_ERR_MEMORY where this rank has no room for the list.  The other ranks do not learn
 *          of it and would wait in their next collective call: a program that goes on takes the
 *          least status of all ranks first, by MPI_Allreduce() with MPI_MIN */
SPMM_API spmm_status_t spmm_plan_get_layout(const spmm_plan_t *plan, spmm_operand_t operand,
                                            spmm_layout_info_t *info);

/** Move a dense block from the caller's distribution to the plan's.  Collective; waits for
 *  @p stream and is done when it returns.  Layout and type as planned; both blocks lie in memory of
 *  the context's device.
 *  @param[in]  n    columns
 *  @param[in]  src  [original_rows x n]
 *  @param[out] dst  [local_rows x n]; must not overlap @p src, which is checked; both may be blocks
 *                   of one array side by side, with one ld
 *  @param[in]  ld_src,ld_dst  local; >= the columns of their block, column-major >= its rows; not
 *                   read where this rank has none of them */
SPMM_API spmm_status_t spmm_plan_scatter(spmm_plan_t *plan, spmm_operand_t operand, int64_t n,
                                         const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                                         spmm_stream_t stream);
/** The way back, as spmm_plan_scatter(): @p src [local_rows x n] to @p dst [original_rows x
 *  n], which must not overlap. */
SPMM_API spmm_status_t spmm_plan_gather(spmm_plan_t *plan, spmm_operand_t operand, int64_t n,
                                        const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                                        spmm_stream_t stream);

/** Write the part of every row of A, one number a line in row order (METIS `.part` format), to be
 *  read back with partition "file:PATH", as it is or gzipped.  Collective.  The file appears when
 *  it is whole; where @p path is a link, it is the one that the link leads to.
 *  @return SPMM_ERR_IO, and the old file stands, where it cannot be written */
SPMM_API spmm_status_t spmm_plan_write_partition(const spmm_plan_t *plan, const char *path);

/** What ranks send each other in an execute at the planned n, on ways of one kind: within nodes, or
 *  between them.  Busiest: of one rank, in or out. */
typedef struct {
    int64_t rows, rows_max;         /**< of all ranks; of the busiest */
    int64_t bytes, bytes_max;       /**< likewise */
    int64_t messages, messages_max; /**< likewise, of one exchange: an execute has one a chunk */
} spmm_flow_t;

/** What one execute does and did.  Times without a remark are seconds of the last execute on this
 *  rank, NaN unless the plan profiles. */
typedef struct {
    size_t      struct_size;           /**< set by the caller to sizeof(spmm_plan_stats_t) */
    const char *engine, *halo_engine;  /**< chosen for the two blocks, equal where the schedule has
                                            one block for both; static storage */
    const char *transport, *partition; /**< chosen; static storage */
    int64_t     nnz_local, nnz_halo;   /**< entries of this rank whose column it owns / does not */
    int64_t     halo_rows;             /**< rows of B exchanged in, this rank; op T, unless the plan
                                            is reproducible: of C */
    int64_t     send_rows;             /**< the same, out; where the exchange is node-aware, a row
                                            that this rank owns counts once for each node */
    int64_t     halo_rows_total, halo_rows_max; /**< over ranks */
    int64_t     block_halo_rows_total;          /**< what partition "block" would exchange */
    int64_t     allgather_rows_total;           /**< what sending all of B to all would */
    double      imbalance;                      /**< max / mean entries over ranks */
    size_t      send_bytes, recv_bytes;         /**< per execute at the planned n, this rank */
    size_t      host_bytes, device_bytes;       /**< held by the plan on this rank; on CPUs all is
                                                     the host's */
    double      partition_s, build_s;           /**< spent at plan time, max over ranks */
    double      pack_s;     /**< op N: packing rows to send; op T: adding rows received */
    double      exchange_s; /**< rows on their way, all chunks */
    double      local_s;    /**< work of this rank that needs no row received: the diagonal block;
                                 where the schedule has one block, copying own rows of B */
    double      halo_s;     /**< work that needs them (op T: that makes them), all chunks: the
                                 off-diagonal block, or the one block */
    double      total_s;    /**< from the first to the last of these */
    double      tune_s;     /**< part of build_s: measuring engines and chunks, max over
                                 ranks */
    double      local_predicted_s; /**< of the engine of the diagonal or merged block, this rank */
    double      local_measured_s;  /**< at plan time, of this plan or an earlier one; NaN: not
                                        measured */
    const char *reordering; /**< method applied to the diagonal block, or "none"; static storage */
    double      reorder_s;  /**< spent at plan time on ordering rows, max over ranks */
    const char *schedule; /**< chosen; "none" where no row travels between ranks; static storage */
    int         chunks;   /**< of columns that rows travel in, at most */
    double      schedule_predicted_s; /**< of one execute, the slowest rank's; NaN: none,
                                           as with schedule "merged" */
    double      schedule_measured_s;  /**< at plan time, likewise; NaN: not measured */
    spmm_flow_t within, between;      /**< what travels within nodes, and between them */
    const char *exchange;             /**< "flat" or "node"; static storage */
} spmm_plan_stats_t;

/** Not collective.  Waits for the last execute when the plan profiles. */
SPMM_API spmm_status_t spmm_plan_get_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats);

/** A stretch of the last execute on this rank, in seconds since it began. */
typedef struct {
    const char *phase; /**< "pack", "exchange", "local" or "halo", as in spmm_plan_stats_t; a host
                            transport posts and waits, and so has two "exchange"; static storage */
    int         chunk; /**< of columns, from 0 */
    double      from_s, to_s; /**< begin and end */
} spmm_span_t;

enum { SPMM_MOST_SPANS = 24 }; /**< of one execute in this version of the library */

/** The time line of the last execute on this rank.  Not collective; waits for that execute.
 *  @param[in]  capacity  room in @p spans; SPMM_MOST_SPANS, unless a later
 *                        version has more, for all
 *  @param[out] spans     [capacity], the first *count are set
 *  @param[out] count     at most @p capacity; 0 unless the plan profiles and has executed */
SPMM_API spmm_status_t spmm_plan_get_timeline(const spmm_plan_t *plan, int capacity,
                                              spmm_span_t *spans, int *count);

/** Where ghost rows come from.  Not collective.
 *  @param[out] rows  [ranks of the context] that this rank receives from each; their sum is
 *                    halo_rows of spmm_plan_stats_t.  In a node-aware exchange rows on their way to
 *                    other ranks of the node count, too */
SPMM_API spmm_status_t spmm_plan_get_traffic(const spmm_plan_t *plan, int64_t *rows);

/** Which rows of B this rank's entries need of other ranks; with op T and H, unless the plan is
 *  reproducible, to which rows of C of other ranks they add.  Collective.
 *  @param[out] rows  [halo_rows of spmm_plan_stats_t; where they are rows of C: send_rows]
 *                    original indices, rank after rank, ascending for each; may be NULL where there
 *                    are none */
SPMM_API spmm_status_t spmm_plan_get_halo(const spmm_plan_t *plan, int64_t *rows);

/** Print, on the calling rank, every engine, transport and number of chunks with its predicted
 *  time and, where it was measured, that one, the winner and why.  Not collective. */
SPMM_API spmm_status_t spmm_plan_explain(const spmm_plan_t *plan, FILE *out);

/** Collective.  Waits for executes in flight, frees *plan, sets it to NULL; NULL in is success. */
SPMM_API spmm_status_t spmm_plan_destroy(spmm_plan_t **plan);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_DIST_PLAN_H */
