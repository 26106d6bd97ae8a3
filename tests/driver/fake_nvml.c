/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_nvml.c  The functions of NVML that --doctor calls, telling of two GPUs. */
#include <stdio.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlSystemGetDriverVersion(char *text, unsigned bytes);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *text, unsigned bytes);
int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned bytes)
{
    return snprintf(text, bytes, "123.45") < 0;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    static char devices[2];

    *device = &devices[index];
    return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned bytes)
{
    return snprintf(text, bytes, "Pretended GPU") < 0;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active)
{
    *active = link < 12;
    return link >= 16;
}
