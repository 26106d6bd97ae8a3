/* SPDX-License-Identifier: Apache-2.0 */
/* What NVTX loads in place of a profiler (NVTX_INJECTION64_PATH): prints each range to stderr, and
 * at the end of the process how many are open. */
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int open_ranges;

static nvtxDomainHandle_t domain_create(const char *name)
{
    static char handle;

    fprintf(stderr, "nvtx domain: %s\n", name);
    return (nvtxDomainHandle_t)(void *)&handle;
}

static int range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    (void)domain;
    fprintf(stderr, "nvtx range: %s\n", attributes->message.ascii);
    return open_ranges++;
}

static int range_pop(nvtxDomainHandle_t domain)
{
    (void)domain;
    return --open_ranges;
}

static void report(void)
{
    fprintf(stderr, "nvtx open at the end: %d\n", open_ranges);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable               table;
    unsigned int                    size = 0;

    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) ||
        size <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainCreateA]     = (NvtxFunctionPointer)domain_create;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)range_push;
    *table[NVTX_CBID_CORE2_DomainRangePop]    = (NvtxFunctionPointer)range_pop;
    return atexit(report) == 0;
}
