/* SPDX-License-Identifier: Apache-2.0 */
#include "base/range.h"

#include <stddef.h>

#ifdef SPMM_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

static nvtxDomainHandle_t domain;
static pthread_once_t     once = PTHREAD_ONCE_INIT;

static void make_domain(void)
{
    domain = nvtxDomainCreateA("spmm_dist");
}

void spmmi_range(bool *open, const char *name)
{
    nvtxEventAttributes_t attributes = {.version       = NVTX_VERSION,
                                        .size          = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType   = NVTX_MESSAGE_TYPE_ASCII,
                                        .message.ascii = name};

    (void)pthread_once(&once, make_domain);
    if (*open) {
        (void)nvtxDomainRangePop(domain);
    }
    *open = name != NULL;
    if (*open) {
        (void)nvtxDomainRangePushEx(domain, &attributes);
    }
}
#else
void spmmi_range(bool *open, const char *name)
{
    *open = name != NULL;
}
#endif
