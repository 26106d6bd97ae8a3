/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "driver_doctor.h"
#ifdef DRIVER_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#ifdef DRIVER_HAVE_NCCL
#include <nccl.h>
#endif

#ifdef DRIVER_HAVE_CUDA

/** Pairs of visible devices that cannot read each other's memory. */
static int count_strangers(int devices)
{
    int strangers = 0;

    for (int a = 0; a < devices; a++) {
        for (int b = 0; b < devices; b++) {
            int can = 1;

            if (a != b && cudaDeviceCanAccessPeer(&can, a, b) == cudaSuccess && !can) {
                strangers++;
            }
        }
    }
    return strangers / 2;
}

/** A line for each capability among the visible GPUs. */
static void check_codes(driver_checkup_t *checkup, int devices)
{
    bool seen[1000] = {false};

    for (int d = 0; d < devices; d++) {
        int major, minor;

        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d) == cudaSuccess &&
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d) == cudaSuccess &&
            major < 100 && !seen[10 * major + minor]) {
            seen[10 * major + minor] = true;
            driver_check_code(checkup, DRIVER_CUDA_ARCHITECTURES, 10 * major + minor);
        }
    }
}

int driver_check_cuda(driver_checkup_t *checkup)
{
    int               devices = 0, driver = 0, strangers;
    const cudaError_t status = cudaGetDeviceCount(&devices);

    (void)cudaDriverGetVersion(&driver); /* 0: there is none */
    if (driver == 0 || (status == cudaErrorNoDevice && getenv("CUDA_VISIBLE_DEVICES") == NULL)) {
        driver_find(checkup, DRIVER_CHECK_MISSING, "CUDA",
                    "run on a machine with NVIDIA GPUs; on this one CPUs compute",
                    "%s in this build, but no GPU", DRIVER_CUDA_VERSION);
        return 0;
    }
    if (status != cudaSuccess || devices == 0) {
        driver_find(checkup, DRIVER_CHECK_PROBLEM, "CUDA",
                    "look at CUDA_VISIBLE_DEVICES and at what the job was given; a driver older "
                    "than the toolkit takes a newer driver or a build with an older toolkit",
                    "%s in this build, the driver serves %d.%d, rank 0 sees no GPU: %s",
                    DRIVER_CUDA_VERSION, driver / 1000, driver % 1000 / 10,
                    cudaGetErrorString(status));
        return 0;
    }
    strangers = count_strangers(devices);
    driver_find(checkup, DRIVER_CHECK_GOOD, "CUDA", "",
                "%s in this build, the driver serves %d.%d; rank 0 sees %d GPUs",
                DRIVER_CUDA_VERSION, driver / 1000, driver % 1000 / 10, devices);
    check_codes(checkup, devices);
    if (strangers > 0) {
        driver_find(checkup, DRIVER_CHECK_MISSING, "links",
                    "without NVLink or PCIe peer access NCCL goes through the host; `nvidia-smi "
                    "topo -m` shows the links, and ACS or an IOMMU may forbid them",
                    "%d pairs of GPUs cannot read each other's memory", strangers);
    } else if (devices > 1) {
        driver_find(checkup, DRIVER_CHECK_GOOD, "links", "", "all %d GPUs read each other's memory",
                    devices);
    }
    return devices;
}

#else

int driver_check_cuda(driver_checkup_t *checkup)
{
    driver_find(checkup, DRIVER_CHECK_MISSING, "CUDA",
                "only needed for GPUs: install the CUDA toolkit (12 or later) and configure with "
                "`cmake --preset cuda`",
                "not in this build: CPUs compute");
    return 0;
}

#endif

#ifdef DRIVER_HAVE_NCCL

void driver_check_nccl(driver_checkup_t *checkup)
{
    int version = 0;

    if (ncclGetVersion(&version) != ncclSuccess) {
        driver_find(checkup, DRIVER_CHECK_PROBLEM, "NCCL", "reinstall NCCL",
                    "in this build, but it does not tell its version");
    } else if (version != NCCL_VERSION_CODE) {
        driver_find(checkup, DRIVER_CHECK_MISSING, "NCCL",
                    "build against the NCCL that programs run with: nccl-push needs the same "
                    "version; LD_LIBRARY_PATH may lead to another one",
                    "%d.%d.%d at run time, %d.%d.%d when built", version / 10000,
                    version / 100 % 100, version % 100, NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
    } else {
        driver_find(checkup, DRIVER_CHECK_GOOD, "NCCL", "", "%d.%d.%d", version / 10000,
                    version / 100 % 100, version % 100);
    }
}

#else

void driver_check_nccl(driver_checkup_t *checkup)
{
    driver_find(checkup, DRIVER_CHECK_MISSING, "NCCL",
                "only needed for several GPUs: install libnccl-dev, or give its prefix in "
                "CMAKE_PREFIX_PATH, and configure again",
                "not in this build: no transports nccl and nccl-push");
}

#endif
