/* SPDX-License-Identifier: Apache-2.0 */
/** @file version.h  The one place the version is written; CMake reads it from here. */
#ifndef SPMM_DIST_VERSION_H
#define SPMM_DIST_VERSION_H

#define SPMM_VERSION_MAJOR  0
#define SPMM_VERSION_MINOR  1
#define SPMM_VERSION_PATCH  0
#define SPMM_VERSION_STRING "0.1.0"

#endif /* SPMM_DIST_VERSION_H */
