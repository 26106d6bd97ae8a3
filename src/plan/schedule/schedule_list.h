/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each schedule: SPMM_SCHEDULE(x) stands for `const spmm_schedule_t spmmi_schedule_x`.
 * Included by schedule.c alone. */
SPMM_SCHEDULE(overlap)
SPMM_SCHEDULE(merged)
