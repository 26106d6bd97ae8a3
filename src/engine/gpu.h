/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu.h  What engines, SDDMM and attention share on GPUs. */
#ifndef SPMM_ENGINE_GPU_H
#define SPMM_ENGINE_GPU_H

#include "engine/engine.h"

/** supports() of engines whose CUDA kernels take A and B of a type, C of that or, for 16-bit ones,
 *  of FP32, and compute FP64 in FP64 and all others in FP32. */
bool spmmi_gpu_supports(const spmm_problem_t *problem, char why[SPMM_WHY]);

#endif /* SPMM_ENGINE_GPU_H */
