/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the library and one line more, see ../engine/engine_list.h. */
#include "../../../partition/partitioner_list.h"
SPMM_PARTITIONER(stripes)
