/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign.c - the files of a folder that other tools wrote
 */
#include "trace/foreign.h"

#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "trace/folder.h"

static const struct tc_trace_format *const formats[] = {&tc_python_tool_format};
#define N_FORMATS (sizeof(formats) / sizeof(*formats))

bool tc_is_foreign_name(const char *name)
{
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i]->has_name(name))
            return true;
    return false;
}

void tc_trace_folder_add_other(struct tc_trace_folder *folder, const char *path, const char *why)
{
    tc_vec_push(&folder->others,
                ((struct tc_trace_other){tc_strdup(path), why ? tc_strdup(why) : NULL}));
}

/* What the format does not take stays among the others. */
static void remove_taken(struct tc_trace_folder *folder, const bool *taken)
{
    size_t n_left = 0;

    for (size_t i = 0; i < folder->others.n; i++) {
        struct tc_trace_other *other = &folder->others.items[i];
        if (!taken[i]) {
            folder->others.items[n_left++] = *other;
            continue;
        }
        tc_free(other->path);
        tc_free(other->why);
    }
    folder->others.n = n_left;
}

static enum tc_status open_format(struct tc_trace_folder *folder,
                                  const struct tc_trace_format *format, struct tc_error *err)
{
    size_t n = folder->others.n;
    const char **paths = tc_calloc(n, sizeof(*paths));
    bool *taken = tc_calloc(n, sizeof(*taken));
    struct tc_foreign_files files = {NULL, 0};
    enum tc_status status;

    for (size_t i = 0; i < n; i++)
        paths[i] = folder->others.items[i].path;
    status = format->open(paths, n, folder->notes, taken, &files, err);
    for (size_t i = 0; i < files.n; i++)
        tc_trace_folder_add(folder, files.items[i]);
    remove_taken(folder, taken);
    tc_free(files.items);
    tc_free(paths);
    tc_free(taken);
    return status;
}

/* The name stands before a note already. */
static const char *without_path(const struct tc_trace_other *other)
{
    size_t size = strlen(other->path);
    bool has_it = strncmp(other->why, other->path, size) == 0 && other->why[size] == ':';

    return has_it ? other->why + size + 2 : other->why;
}

enum tc_status tc_trace_folder_add_foreign(struct tc_trace_folder *folder, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (size_t i = 0; i < N_FORMATS && folder->others.n && status == TC_OK; i++)
        status = open_format(folder, formats[i], err);
    for (size_t i = 0; i < folder->others.n; i++) {
        const struct tc_trace_other *other = &folder->others.items[i];

        if (!other->why)
            continue;
        tc_notes_add(folder->notes, "not-a-trace", tc_fs_base(other->path), 0, "%s",
                     without_path(other));
        if (!folder->rejected)
            folder->rejected = tc_strdup(other->why);
    }
    return status;
}
