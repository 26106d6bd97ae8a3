/* SPDX-License-Identifier: Apache-2.0 */
/** @file complex.cuh  Complex numbers of kernels, with the operators of real ones. */
#ifndef SPMM_COMPLEX_CUH
#define SPMM_COMPLEX_CUH

#include "operands.h"

namespace spmmi
{

using ::fma; /* of real numbers, beside that below */

/** Read and written whole. */
template <typename T> struct alignas(2 * sizeof(T)) Complex {
    T re, im;
};

/** The type of the parts of an element: of a real one its own. */
template <typename T> struct RealOf {
    using type = T;
};
template <typename T> struct RealOf<Complex<T>> {
    using type = T;
};

template <typename T> __device__ __forceinline__ Complex<T> operator+(Complex<T> a, Complex<T> b)
{
    return {a.re + b.re, a.im + b.im};
}
template <typename T> __device__ __forceinline__ Complex<T> &operator+=(Complex<T> &a, Complex<T> b)
{
    return a = a + b;
}
template <typename T>
__device__ __forceinline__ Complex<T> fma(Complex<T> a, Complex<T> b, Complex<T> c)
{
    return {::fma(-a.im, b.im, ::fma(a.re, b.re, c.re)),
            ::fma(a.im, b.re, ::fma(a.re, b.im, c.im))};
}
/* Where it is inlined does not decide which products are rounded. */
template <typename T> __device__ __forceinline__ Complex<T> operator*(Complex<T> a, Complex<T> b)
{
    return {::fma(-a.im, b.im, a.re * b.re), ::fma(a.im, b.re, a.re * b.im)};
}
template <typename T> __device__ __forceinline__ Complex<T> &operator*=(Complex<T> &a, Complex<T> b)
{
    return a = a * b;
}

/** A factor in the type of sums. */
template <typename A> struct Factor {
    static __host__ __device__ A of(spmm_scalar_t x)
    {
        return (A)x.re;
    }
};
template <typename T> struct Factor<Complex<T>> {
    static __host__ __device__ Complex<T> of(spmm_scalar_t x)
    {
        return {(T)x.re, (T)x.im};
    }
};

__host__ __device__ inline bool is_zero(spmm_scalar_t x)
{
    return x.re == 0.0 && x.im == 0.0;
}

} // namespace spmmi

#endif /* SPMM_COMPLEX_CUH */
