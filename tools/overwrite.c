/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overwrite.c - is what stands at the place of an output ours to replace?
 */
#include "overwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

/* One of these is among the reports of each kind of check. */
static const char *const reports[] = {"violations.jsonl", "violations_summary.json",
                                      "plan_summary.json", "comparison_summary.json", "runs.jsonl"};

/* The first line of an invariant file: a header, or an invariant that was written by hand. */
static bool is_of_invariants(const char *line)
{
    return line[0] == '{' &&
           (strstr(line, "\"traincheck\":\"invariants\"") || strstr(line, "\"relation\""));
}

/* TC_E_IO if the file cannot be read: nobody knows whose it is. */
static enum tc_status read_first_line(const char *path, char *line, size_t size,
                                      struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, size - 1);
    const int reason = errno;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return tc_error_set(err, TC_E_IO, "%s is there and cannot be read: %s", path,
                            strerror(reason));
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return TC_OK;
}

enum tc_status overwrite_file(const char *path, struct tc_error *err)
{
    struct stat info;
    char line[4096];

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
        tc_fs_is_descriptor(path))
        return TC_OK;
    enum tc_status status = read_first_line(path, line, sizeof(line), err);
    if (status || is_of_invariants(line))
        return status;
    return tc_error_set(err, TC_E_USAGE,
                        "%s is there and is no invariant file; --overwrite replaces it", path);
}

static bool is_report(const char *name)
{
    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports); i++)
        if (!strcmp(name, reports[i]))
            return true;
    return false;
}

enum tc_status overwrite_folder(const char *dir, struct tc_error *err)
{
    struct tc_error ignored;
    bool is_ours = false;
    char **names;
    size_t n;

    if (!tc_fs_is_dir(dir) || tc_fs_list(dir, &names, &n, &ignored) != TC_OK)
        return TC_OK; /* what becomes of it is said by who writes into it */
    for (size_t i = 0; i < n; i++)
        is_ours |= is_report(names[i]);
    tc_fs_list_free(names, n);
    if (!n || is_ours)
        return TC_OK;
    return tc_error_set(err, TC_E_USAGE,
                        "%s holds other files and no report; --overwrite writes the reports among "
                        "them",
                        dir);
}
