/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each schedule: SPMM_SCHEDULE(x) stands for `const spmm_schedule_t spmmi_schedule_x`;
 * the first stands unless another is clearly better.  Included by schedule.c alone. */
SPMM_SCHEDULE(overlap)
SPMM_SCHEDULE(chunks2)
SPMM_SCHEDULE(chunks4)
SPMM_SCHEDULE(merged)
