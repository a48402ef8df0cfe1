/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "fuzz.h"

static char root[64];

static int remove_one(const char *path, const struct stat *state, int type, struct FTW *where)
{
    (void)state;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_all(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_root(void)
{
    snprintf(root, sizeof(root), "%s/traincheck_fuzz_XXXXXX",
             tc_fs_is_dir("/dev/shm") ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(root));
    atexit(remove_all);
}

const char *fuzz_path(const char *name)
{
    static char paths[16][128];
    static size_t n;
    char path[128];

    if (!root[0])
        make_root();
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(paths[i], path))
            return paths[i];
    FUZZ_CHECK(n < sizeof(paths) / sizeof(*paths));
    return memcpy(paths[n++], path, sizeof(path));
}

const char *fuzz_folder(const char *name)
{
    const char *path = fuzz_path(name);

    FUZZ_CHECK(tc_fs_is_dir(path) || mkdir(path, 0700) == 0);
    return path;
}

void fuzz_put(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    FUZZ_CHECK(fd >= 0 && (!size || write(fd, data, size) == (ssize_t)size));
    close(fd);
}

void fuzz_get(const char *path, struct tc_strbuf *out)
{
    tc_strbuf_reset(out);
    FUZZ_CHECK(tc_fs_read(path, TC_FS_MAX_LARGE, out, NULL) == TC_OK);
}
