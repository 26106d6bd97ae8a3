// SPDX-License-Identifier: Apache-2.0
// The headers serve C++ and the library answers: prints the version when both agree on it.
#include <spmm_dist/spmm_dist.h>

#include <cstdio>
#include <cstring>

int main()
{
    std::puts(spmm_version());
    return std::strcmp(spmm_version(), SPMM_VERSION_STRING) != 0;
}
