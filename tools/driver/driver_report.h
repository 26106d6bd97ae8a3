/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_report.h  The report as a table and as JSON, by rank 0 alone. */
#ifndef DRIVER_REPORT_H
#define DRIVER_REPORT_H

#include "driver_picture.h"

/** The readable table. */
void driver_print_report(FILE *out, const driver_options_t *options, const driver_report_t *report);

/** The same and @p picture as JSON into the file options->json.
 *  @return DRIVER_OTHER when it cannot be written */
int driver_write_json(driver_job_t *job, const driver_options_t *options,
                      const driver_report_t *report, const driver_picture_t *picture);

/** What --list-engines and the like print: name, description, whether it is built in. */
void driver_print_components(FILE *out, spmm_status_t (*describe)(int, spmm_component_info_t *));

#endif /* DRIVER_REPORT_H */
