/* SPDX-License-Identifier: Apache-2.0 */
/** @file roofline.h  Rates of a GPU that the cost models share. */
#ifndef SPMM_ENGINE_ROOFLINE_H
#define SPMM_ENGINE_ROOFLINE_H

/** Rate at which rows of B are gathered, relative to device memory, when @p bytes of B are in use:
 *  measured on one H200 with random rows of 512 bytes (L2 of 60 MB). */
double spmm_gather_rate(double bytes);

#endif /* SPMM_ENGINE_ROOFLINE_H */
