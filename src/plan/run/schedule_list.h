/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each schedule: SPMM_SCHEDULE(x) stands for `const spmm_schedule_t spmmi_schedule_x`,
 * whose name is "x". */
SPMM_SCHEDULE(overlap)
SPMM_SCHEDULE(merged)
