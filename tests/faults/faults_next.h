/* SPDX-License-Identifier: Apache-2.0 */
/** @file faults_next.h  A wrapper that fails, or goes on to the library behind it. */
#ifndef SPMM_FAULTS_NEXT_H
#define SPMM_FAULTS_NEXT_H

#include <dlfcn.h>

#include "faults.h"

/** @p failure where the call is the armed one, else what the library of that name answers.  NCCL
 *  calls some of its own functions by their public names: those are not ours to fail. */
#define FAULTS_NEXT(type, name, failure, parameters, arguments)                                    \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*next) parameters;                                                             \
                                                                                                   \
        if (!faults_is_library(__builtin_return_address(0)) && faults_hit(#name)) {                \
            return failure;                                                                        \
        }                                                                                          \
        if (next == NULL) {                                                                        \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                             \
        }                                                                                          \
        return next arguments;                                                                     \
    }

#endif /* SPMM_FAULTS_NEXT_H */
