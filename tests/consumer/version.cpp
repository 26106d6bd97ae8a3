// SPDX-License-Identifier: Apache-2.0
// The headers serve C++ and the library answers: prints the version when both agree on it, in words
// and in numbers.
#include <spmm_dist/spmm_dist.h>

#include <cstdio>
#include <cstring>

int main()
{
    char numbers[40];

    std::snprintf(numbers, sizeof numbers, "%d.%d.%d", SPMM_VERSION_MAJOR, SPMM_VERSION_MINOR,
                  SPMM_VERSION_PATCH);
    std::puts(spmm_version());
    return std::strcmp(spmm_version(), SPMM_VERSION_STRING) != 0 ||
           std::strcmp(numbers, SPMM_VERSION_STRING) != 0;
}
