/* SPDX-License-Identifier: Apache-2.0 */
/** @file calibrate.h
 *  The rates of a device that no driver tells: measured once, kept in a file.  Nothing of it can
 *  fail for the caller: without rates the cost models take typical ones.
 */
#ifndef SPMM_DEVICE_CALIBRATE_H
#define SPMM_DEVICE_CALIBRATE_H

#include "base/output.h"
#include "device/device.h"

/** Not with SPMM_CALIBRATE=0. */
bool spmmi_calibrate_wanted(void);

/** The file of the device that @p key tells from others: in $SPMM_CACHE_DIR, or in spmm_dist in
 *  $XDG_CACHE_HOME or in $HOME/.cache.  @return false: there is no such folder, or no room */
bool spmmi_calibrate_path(const char *key, char *path, size_t size);

/** Open a file of that folder to be written, with the folders missing; it appears whole or not at
 *  all, whoever else writes it, when spmmi_output_close() is called.  @return false: it cannot be
 *  written */
bool spmmi_cache_open(const char *path, spmm_output_t *out);

/** A number of a file of rates. */
typedef struct {
    const char *name;
    double      least, most; /**< that are believed, both exclusive */
    double     *value;       /**< whole numbers: no locale writes them in another way */
} spmm_rate_t;

/** Read the numbers of a file that begins with the line @p title.  @return false: there is no such
 *  regular file, or not this version wrote it; values are then undefined */
bool spmmi_rates_load(const char *path, const char *title, int count, const spmm_rate_t *rate);

/** Write them, with the folders missing; a file appears whole or not at all, whoever else writes
 *  it.  @return false: it could not be written */
bool spmmi_rates_store(const char *path, const char *title, int count, const spmm_rate_t *rate);

/** Whether copy_bw and gather_bw can be those of an idle device, by its theoretical rate mem_bw
 *  where that is known: rates measured beside other work, or under a tool that slows kernels down,
 *  would make every later choice of an engine a wrong one. */
bool spmmi_calibrate_believed(const spmm_device_t *device);

/** Read copy_bw and gather_bw.  @return false: no file, none that this version wrote, or rates that
 *  are not believed; *device is then unchanged */
bool spmmi_calibrate_load(const char *path, spmm_device_t *device);

/** Write them as spmmi_rates_store() does. */
bool spmmi_calibrate_store(const char *path, const spmm_device_t *device);

#ifdef SPMM_HAVE_CUDA
/** Fill copy_bw and gather_bw from the file, or by measuring for some 50 ms where @p may_measure.
 *  The device is current and idle. */
void spmmi_calibrate_cuda(spmm_device_t *device, bool may_measure);
#endif

#endif /* SPMM_DEVICE_CALIBRATE_H */
