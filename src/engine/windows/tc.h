/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc.h
 *  What the engines on tensor-core formats have in common: a format on the host, which the CPU
 *  decodes and multiplies; on GPUs a copy of it there and the work items of its kernel.
 */
#ifndef SPMM_ENGINE_WINDOWS_TC_H
#define SPMM_ENGINE_WINDOWS_TC_H

#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/windows/tc_format.h"
#include "engine/windows/tc_work.h"

typedef struct spmm_tc_engine spmm_tc_engine_t;

#ifdef SPMM_HAVE_CUDA
#define SPMM_TC_ON_CUDA(function) function
#else
#define SPMM_TC_ON_CUDA(function) NULL /**< nor need there be such a function */
#endif

/** A format as these engines see it.  The struct of an engine begins with spmm_tc_engine_t and has
 *  the format and its arrays at the offsets given. */
typedef struct {
    const char *name;
    const char *kernel; /**< what launch() enqueues, in errors: "the kernel NAME_mm" */
    size_t      size;   /**< of the whole struct */
    size_t      format; /**< offset of what free(), refill() and held() get */
    size_t      arrays; /**< offset of what view() gets, in host memory */
    /** Which windows its kernel wants shared or cut, of @p n_windows with @p blocks in all; NULL:
     *  none. */
    spmm_tc_limits_t (*limits)(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks);
    /** The same where it depends on what create() made; NULL: limits(). */
    spmm_tc_limits_t (*limits_made)(const spmm_tc_engine_t *f, int32_t blocks);

    /** Waves of warps that as many windows make, where limits() goes by them; else NULL. */
    double (*waves)(const spmm_device_t *device, const spmm_problem_t *problem, int32_t n_windows);

    /** Convert the block for f->problem, whose pattern has facts and windows on GPUs. */
    spmm_status_t (*create)(spmm_tc_engine_t *f, const spmm_csr_t *block);
    void (*free)(void *format);
    void (*refill)(void *format, const void *values, int threads);
    size_t (*held)(const void *format); /**< bytes */
    /** As the CPU walks it; valid while the engine is. */
    spmm_tc_view_t (*view)(const void *arrays);
    /** Windows as the GPU kernel deals them out, of which the CPU's may be parts: n_windows, height
     *  and block_ptr; NULL: those of view(). */
    spmm_tc_view_t (*panels)(const spmm_tc_engine_t *f);

    /** Copy to the device, by spmmi_upload(). */
    spmm_status_t (*upload)(spmm_tc_engine_t *f);
    /** Copy the values again; NULL: what spmmi_tc_upload_values() copied. */
    spmm_status_t (*upload_values)(spmm_tc_engine_t *f);
    /** New values on the device from those of CSR; NULL: refill() and upload_values() do it. */
    spmm_status_t (*refill_device)(spmm_tc_engine_t *f, const void *values);
    /** Enqueue the product on the GPU, which is current; NULL without CUDA.  @return cudaError_t */
    int (*launch)(const spmm_tc_engine_t *f, const spmm_tc_mm_args_t *args);
} spmm_tc_kind_t;

/** What refills need of an array that the host lets go once it is on the device. */
typedef enum {
    SPMM_TC_GONE,  /**< nothing */
    SPMM_TC_BLANK, /**< room, of zeros: they write it */
    SPMM_TC_BACK   /**< what stands there */
} spmm_tc_need_t;

typedef struct {
    size_t         pointer; /**< offset of the pointer to host memory in the struct of the engine */
    const void    *device;  /**< the copy */
    size_t         bytes;
    spmm_tc_need_t need;
} spmm_tc_let_go_t;

enum { SPMM_TC_LET_GO = 4 };

struct spmm_tc_engine {
    const spmm_tc_kind_t *kind;
    const spmm_device_t  *device;
    spmm_problem_t        problem;
    int32_t              *row_map; /**< on CPUs, owned; NULL: the identity */

    /* On GPUs: */
    const int32_t   *device_row_map;
    spmm_tc_work_t   work;    /**< device arrays */
    spmm_uploads_t   uploads; /**< the work included */
    spmm_tc_let_go_t let_go[SPMM_TC_LET_GO];
    int              n_let_go;
    spmm_tc_let_go_t values; /**< of spmmi_tc_upload_values() */
};

/** Functions of an engine whose kind is a spmm_tc_kind_t. */
spmm_status_t spmmi_tc_build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                             const spmm_problem_t *problem, const spmm_device_t *device,
                             void **format);
spmm_status_t spmmi_tc_refill(void *format, const void *values);
spmm_status_t spmmi_tc_execute(void *format, const spmm_operands_t *x);
void          spmmi_tc_bytes(const void *format, size_t *host, size_t *device);
void          spmmi_tc_describe(const void *format, const spmm_pattern_t *pattern, FILE *out);
void          spmmi_tc_destroy(void *format);

/** supports() of engines for A, B and C of @p type. */
bool spmmi_tc_supports(const spmm_problem_t *problem, const spmm_device_t *device, spmm_type_t type,
                       char why[SPMM_WHY]);

/** supports() of engines for A and B of 16F or 16BF, C of the same or 32F. */
bool spmmi_tc_supports_half(const spmm_problem_t *problem, const spmm_device_t *device,
                            char why[SPMM_WHY]);

/** Free an array of the format on the host once the engine is built: its copy on the device is
 *  enough.  Does nothing where *status is not SPMM_OK.  Before refill() the array is there again as
 *  far as @p need says, and freed afterwards.  Only block_ptr of view() and panels(), and what
 *  held() reads, may not go.
 *  @param[in] pointer  offset of the pointer in the struct of the engine, which owns the array
 *  @param[in] bytes    as held() counts them */
void spmmi_tc_let_go(spmm_tc_engine_t *f, size_t pointer, const void *device, size_t bytes,
                     spmm_tc_need_t need, spmm_status_t *status);
/** Copy the values to the device, and let them go: those that refill() writes replace them. */
void *spmmi_tc_upload_values(spmm_tc_engine_t *f, size_t pointer, size_t bytes, spmm_tc_need_t need,
                             spmm_status_t *status);
/** Arrays that were let go, on the host again for a while; and freed. */
spmm_status_t spmmi_tc_bring_back(spmm_tc_engine_t *f);
void          spmmi_tc_drop(spmm_tc_engine_t *f);

/** Work items that windows come to, as far as facts tell, and how long those are, in blocks. */
typedef struct {
    double single, longest_single; /**< for one warp */
    double team, longest_team;     /**< for a thread block, cut or not */
    double parts;                  /**< of team: those of windows that are cut */
} spmm_tc_load_t;

/** @param[in] height      8 or 16
 *  @param[in] block_cols  columns of a block */
spmm_tc_load_t spmmi_tc_load(const spmm_pattern_t *pattern, int height, int block_cols,
                             spmm_tc_limits_t limits);

/** cost() of these engines on CPUs. */
int spmmi_tc_cpu_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS]);

#endif /* SPMM_ENGINE_WINDOWS_TC_H */
