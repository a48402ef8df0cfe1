/* SPDX-License-Identifier: Apache-2.0 */
#include "overwrite.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"

/* One of these is among the reports of each kind of check. */
static const char *const reports[] = {"violations.jsonl", "violations_summary.json",
                                      "plan_summary.json", "comparison_summary.json"};

/* The first line of an invariant file: a header, or an invariant that was written by hand. */
static bool is_of_invariants(const char *line)
{
    return line[0] == '{' &&
           (strstr(line, "\"traincheck\":\"invariants\"") || strstr(line, "\"relation\""));
}

static bool is_our_file(const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    bool is_ours = false;

    if (!file)
        return true; /* what becomes of it is said by who writes it */
    if (!fgets(line, sizeof(line), file))
        is_ours = !ferror(file); /* it is empty */
    else
        is_ours = is_of_invariants(line);
    fclose(file);
    return is_ours;
}

enum tc_status overwrite_file(const char *path, struct tc_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || tc_fs_is_descriptor(path) ||
        is_our_file(path))
        return TC_OK;
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
