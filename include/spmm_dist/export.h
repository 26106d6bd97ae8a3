/* SPDX-License-Identifier: Apache-2.0 */
/** @file export.h  Marks the symbols a user may call; everything else stays hidden. */
#ifndef SPMM_DIST_EXPORT_H
#define SPMM_DIST_EXPORT_H

#if defined(__GNUC__)
#define SPMM_API __attribute__((visibility("default")))
#else
#define SPMM_API
#endif

#endif /* SPMM_DIST_EXPORT_H */
