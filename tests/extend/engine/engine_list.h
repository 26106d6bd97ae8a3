/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the library and one line more.  Found before the library's own, since the folder
 * above comes first among the include paths of this test. */
#include "../../../src/engine/engine_list.h"
SPMM_ENGINE(octet)
