/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the library and one line more, see ../engine/engine_list.h. */
#include "../../../src/exchange/transport_list.h"
SPMM_TRANSPORT(mpi_late)
