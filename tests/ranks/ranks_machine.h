/* SPDX-License-Identifier: Apache-2.0 */
/** @file ranks_machine.h
 *  Many ranks in one process, each with memory and an order of work of its own, for the kernels
 *  that write to the memory of peers: all that these take is addresses.
 */
#ifndef SPMM_RANKS_MACHINE_H
#define SPMM_RANKS_MACHINE_H

#include "cuda/exchange/push_args.h"

#ifdef __cplusplus
extern "C" {
#else
#include "device/device.h"
#endif

/** What does the work of the ranks; each function enqueues, behind all that its rank has to do. */
typedef struct {
    const char *name;
    int         blocks; /**< thread blocks that are at work at a time, of all ranks together */
    void (*copy)(int rank, void *to, const void *from, size_t bytes);
    void (*fill)(int rank, void *to, int byte, size_t bytes);
    void (*delay)(int rank, double seconds); /**< come late; may do nothing */
    /** One exchange, on the @p n ranks that args->rank names. */
    void (*push)(const spmm_push_args_t *args, int n);
    void (*wait)(void); /**< until all ranks have done all */
    double timeout_s;   /**< of a rank that waits for another */
    int    one_of;      /**< so many rounds are run */
} ranks_machine_t;

/** The machines of this program, ended by NULL. */
extern const ranks_machine_t *ranks_machines[];

/** How much is worth testing on them. */
typedef struct {
    int     n_sizes;
    int     size[5];     /**< numbers of ranks */
    int     rounds;      /**< of each halo */
    int     long_rounds; /**< of one halo for each number of ranks */
    int64_t bytes;       /**< most rows of a rank in most rounds */
    int64_t wide_bytes;  /**< in wide ones */
    int     wide_rounds;
} ranks_scale_t;

#ifdef __cplusplus
}
#else
/** Make them ready, and say on which device their memory is; ends the program where they cannot
 *  run. */
void ranks_machines_open(spmm_device_t *device, ranks_scale_t *scale);
void ranks_machines_close(spmm_device_t *device);
#endif

#endif /* SPMM_RANKS_MACHINE_H */
