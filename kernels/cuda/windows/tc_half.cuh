/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_half.cuh
 *  What the launchers of 16-bit kernels share: a choice by the types of a product.
 *  instances.cmake beside the kernels lists the pairs of types.
 */
#ifndef SPMM_TC_HALF_CUH
#define SPMM_TC_HALF_CUH

#include "cuda/dense/rows.cuh"
#include "engine/windows/tc_args.h"

namespace spmmi
{

/** Types of A and B, and of C; of X and Y, and of S. */
template <typename H, typename O> struct HalfTypes {
    using Half = H;
    using Out  = O;
};

/** @return product(HalfTypes<...>) for inputs of type @p in and results of @p out;
 *          cudaErrorInvalidValue for other types than 16F or 16BF, results of the same or 32F */
template <class Product>
cudaError_t for_half_types(spmm_type_t in, spmm_type_t out, Product product)
{
    const bool same = out == in;

    if (!same && out != SPMM_R_32F) {
        return cudaErrorInvalidValue;
    }
    switch (in) {
    case SPMM_R_16F:
        return same ? product(HalfTypes<__half, __half>()) : product(HalfTypes<__half, float>());
    case SPMM_R_16BF:
        return same ? product(HalfTypes<__nv_bfloat16, __nv_bfloat16>())
                    : product(HalfTypes<__nv_bfloat16, float>());
    default:
        return cudaErrorInvalidValue;
    }
}

/** The same for @p args and A of @p a_type, which is that of B. */
template <class Product>
cudaError_t for_half_types(spmm_type_t a_type, const spmm_tc_mm_args_t &args, Product product)
{
    return a_type == args.x.ab_type ? for_half_types(a_type, args.x.c_type, product)
                                    : cudaErrorInvalidValue;
}

/** load(HalfTypes<...>) for all types, up to the first failure. */
template <class Load> cudaError_t for_all_half_types(Load load)
{
    cudaError_t code = load(HalfTypes<__half, __half>());

    code = code == cudaSuccess ? load(HalfTypes<__half, float>()) : code;
    code = code == cudaSuccess ? load(HalfTypes<__nv_bfloat16, __nv_bfloat16>()) : code;
    return code == cudaSuccess ? load(HalfTypes<__nv_bfloat16, float>()) : code;
}

} // namespace spmmi

#endif /* SPMM_TC_HALF_CUH */
