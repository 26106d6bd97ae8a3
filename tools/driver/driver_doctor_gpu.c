/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <string.h>

#include "driver_doctor.h"
#ifdef DRIVER_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#ifdef DRIVER_HAVE_NCCL
#include <nccl.h>
#endif

/* NVML comes with the driver, not with a toolkit: what is needed of it is declared here and found
 * at run time.  All return 0 for success. */
typedef struct {
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *text, unsigned bytes);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *text, unsigned bytes);
    int (*link)(void *device, unsigned link, unsigned *active);
} nvml_t;

enum { NVML_LINKS = 18, NVML_TEXT = 96 };

static bool nvml_find(void *library, const char *name, void *function)
{
    void *const found = dlsym(library, name);

    memcpy(function, &found, sizeof found); /* C has no cast between the two kinds of pointers */
    return found != NULL;
}

static bool nvml_load(void *library, nvml_t *nvml)
{
    return nvml_find(library, "nvmlInit_v2", &nvml->init) &&
           nvml_find(library, "nvmlShutdown", &nvml->shutdown) &&
           nvml_find(library, "nvmlSystemGetDriverVersion", &nvml->driver_version) &&
           nvml_find(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
           nvml_find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle) &&
           nvml_find(library, "nvmlDeviceGetName", &nvml->name) &&
           nvml_find(library, "nvmlDeviceGetNvLinkState", &nvml->link);
}

static int active_links(const nvml_t *nvml, void *device)
{
    unsigned active;
    int      links = 0;

    for (unsigned k = 0; k < NVML_LINKS; k++) {
        if (nvml->link(device, k, &active) == 0 && active != 0) {
            links++;
        }
    }
    return links;
}

/** After init(). */
static int describe_gpus(const nvml_t *nvml, char text[DRIVER_CHECK_TEXT])
{
    char     driver[NVML_TEXT] = "unknown", name[NVML_TEXT] = "GPU", other[NVML_TEXT] = "";
    unsigned count = 0;
    int      least = NVML_LINKS;
    bool     equal = true;

    (void)nvml->driver_version(driver, sizeof driver);
    if (nvml->count(&count) != 0 || count == 0) {
        (void)snprintf(text, DRIVER_CHECK_TEXT, "none, although there is a driver %s", driver);
        return 0;
    }
    for (unsigned k = 0; k < count; k++) {
        void *device;
        int   links;

        if (nvml->handle(k, &device) != 0) {
            continue;
        }
        if (nvml->name(device, k == 0 ? name : other, NVML_TEXT) == 0 && k > 0) {
            equal = equal && strcmp(name, other) == 0;
        }
        links = active_links(nvml, device);
        least = links < least ? links : least;
    }
    (void)snprintf(text, DRIVER_CHECK_TEXT, "%u x %s%s, driver %s, %d NVLinks active on each",
                   count, name, equal ? "" : " and others", driver, least);
    return (int)count;
}

int driver_node_gpus(char text[DRIVER_CHECK_TEXT])
{
    void  *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    nvml_t nvml;
    int    count = 0;

    (void)snprintf(text, DRIVER_CHECK_TEXT, "none: there is no NVIDIA driver");
    if (library == NULL) {
        return 0;
    }
    if (!nvml_load(library, &nvml) || nvml.init() != 0) {
        (void)snprintf(text, DRIVER_CHECK_TEXT, "none: the NVIDIA driver does not answer");
    } else {
        count = describe_gpus(&nvml, text);
        (void)nvml.shutdown();
    }
    (void)dlclose(library);
    return count;
}

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

void driver_check_cuda(driver_checkup_t *checkup, int gpus_of_node)
{
    int               devices = 0, driver = 0, strangers;
    const cudaError_t status = cudaGetDeviceCount(&devices);

    (void)cudaDriverGetVersion(&driver);
    if (gpus_of_node == 0) {
        driver_find(checkup, DRIVER_CHECK_MISSING, "CUDA",
                    "run on a machine with NVIDIA GPUs; on this one CPUs compute",
                    "%s in this build, but no GPU", DRIVER_CUDA_VERSION);
        return;
    }
    if (status != cudaSuccess || devices == 0) {
        driver_find(checkup, DRIVER_CHECK_PROBLEM, "CUDA",
                    "look at CUDA_VISIBLE_DEVICES and at what the job was given; a driver older "
                    "than the toolkit takes a newer driver or a build with an older toolkit",
                    "%s in this build, the driver serves %d.%d, rank 0 sees no GPU: %s",
                    DRIVER_CUDA_VERSION, driver / 1000, driver % 1000 / 10,
                    cudaGetErrorString(status));
        return;
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
}

#else

void driver_check_cuda(driver_checkup_t *checkup, int gpus_of_node)
{
    driver_find(checkup, DRIVER_CHECK_MISSING, "CUDA",
                gpus_of_node > 0
                    ? "there are GPUs here: install the CUDA toolkit (12 or later) and "
                      "configure with `cmake --preset cuda`"
                    : "only needed for GPUs: `cmake --preset cuda`",
                "not in this build: CPUs compute");
}

#endif

#ifdef DRIVER_HAVE_NCCL

void driver_check_nccl(driver_checkup_t *checkup, int gpus_of_node)
{
    int version = 0;

    (void)gpus_of_node;
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

void driver_check_nccl(driver_checkup_t *checkup, int gpus_of_node)
{
    driver_find(checkup, DRIVER_CHECK_MISSING, "NCCL",
                gpus_of_node > 0 ? "install libnccl-dev, or give its prefix in CMAKE_PREFIX_PATH, "
                                   "and configure again"
                                 : "only needed for several GPUs",
                "not in this build: no transports nccl and nccl-push");
}

#endif
