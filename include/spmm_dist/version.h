/* SPDX-License-Identifier: Apache-2.0 */
/** @file version.h  The one place the version is written; CMake reads it from here. */
#ifndef SPMM_DIST_VERSION_H
#define SPMM_DIST_VERSION_H

#define SPMM_VERSION_MAJOR  0       /**< incompatible */
#define SPMM_VERSION_MINOR  1       /**< until 1.0 incompatible, then more */
#define SPMM_VERSION_PATCH  0       /**< compatible */
#define SPMM_VERSION_STRING "0.1.0" /**< all three */

#endif /* SPMM_DIST_VERSION_H */
