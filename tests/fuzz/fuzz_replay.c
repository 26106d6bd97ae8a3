/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzz target without a fuzzer: each input named on the command line, or all of a folder,
 * once. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/engine/keep_loaded.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 };

static int replay(const char *path)
{
    uint8_t *room  = malloc(MOST), *exact;
    FILE    *input = fopen(path, "rb");
    size_t   size;

    if (room == NULL || input == NULL) {
        perror(path);
        exit(1);
    }
    size  = fread(room, 1, MOST, input);
    exact = malloc(size + 1); /* not a byte more than a sanitizer needs to see a read beyond */
    if (exact == NULL) {
        exit(1);
    }
    memcpy(exact, room, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    (void)fclose(input);
    free(exact);
    free(room);
    return 1;
}

static int replay_folder(const char *folder)
{
    DIR                 *dir = opendir(folder);
    const struct dirent *entry;
    char                 path[4096];
    int                  count = 0;

    if (dir == NULL) {
        return replay(folder);
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            count += replay(path);
        }
    }
    (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        count += replay_folder(argv[i]);
    }
    (void)printf("%d inputs\n", count);
    return count == 0;
}
