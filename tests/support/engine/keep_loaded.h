/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPMM_TEST_KEEP_LOADED_H
#define SPMM_TEST_KEEP_LOADED_H

/** @file keep_loaded.h
 *  For the source with main().  Open MPI unloads components that leaked: LeakSanitizer would read
 *  the list of all modules again for each frame that it cannot name, a second for a rank, and find
 *  no name to suppress. */
#ifdef __SANITIZE_ADDRESS__
int dlclose(void *handle);

int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
#endif

#endif /* SPMM_TEST_KEEP_LOADED_H */
