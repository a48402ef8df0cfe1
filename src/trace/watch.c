/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - a folder that is being written
 *
 * A file becomes a member of the folder once its process record is whole. A file that has not
 * grown is not tried again. Notes of a file that is no trace yet are withheld.
 */
#include "trace/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fs.h"
#include "trace/reader.h"

/* -1 if there is no such file. */
static int64_t size_of(const char *path, int64_t *changed_ns)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -1;
    *changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    return (int64_t)st.st_size;
}

static void add_candidate(struct tc_trace_folder *folder, const char *path)
{
    size_t n_known = tc_strtab_count(folder->known);

    if (tc_strtab_intern_text(folder->known, tc_fs_base(path)) == n_known)
        tc_vec_push(&folder->candidates, ((struct tc_trace_candidate){tc_strdup(path), -1}));
}

static enum tc_status find_candidates(struct tc_trace_folder *folder, struct tc_error *err)
{
    char **names;
    size_t n;
    enum tc_status status;

    if (!tc_fs_is_dir(folder->watched)) {
        if (!tc_fs_exists(folder->watched))
            return tc_trace_folder_missing(folder->watched, err);
        add_candidate(folder, folder->watched);
        return TC_OK;
    }
    status = tc_fs_list(folder->watched, &names, &n, err);
    for (size_t i = 0; i < n && status == TC_OK; i++) {
        char *path;

        if (!tc_is_trace_name(names[i]) && !tc_is_foreign_name(names[i]))
            continue;
        path = tc_fs_join(folder->watched, names[i]);
        add_candidate(folder, path);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return status;
}

/*
 * Is its process record whole? What is odd about a file that is no trace yet is not worth a note,
 * so that it is tried with notes of its own first.
 */
static enum tc_status try_candidate(struct tc_trace_folder *folder, const char *path,
                                    struct tc_error *err)
{
    struct tc_notes *scratch = tc_notes_new();
    struct tc_trace_file *file;
    enum tc_status status = tc_trace_file_open_by(folder->zio, path, true, scratch, &file, err);

    if (status == TC_OK) {
        tc_trace_file_close(file);
        status = tc_trace_file_open_by(folder->zio, path, true, folder->notes, &file, err);
    }
    if (status == TC_OK)
        tc_trace_folder_add(folder, file);
    tc_notes_free(scratch);
    return status;
}

/* TC_OK: it is a member now; TC_END: it has not grown since it was looked at. */
static enum tc_status look_at_candidate(struct tc_trace_folder *folder,
                                        struct tc_trace_candidate *candidate, struct tc_error *err)
{
    int64_t changed_ns, size = size_of(candidate->path, &changed_ns);
    struct tc_trace_member *member;
    enum tc_status status;

    if (size <= 0 || size == candidate->size)
        return TC_END;
    candidate->size = size;
    status = try_candidate(folder, candidate->path, err);
    if (status != TC_OK)
        return status;
    member = &folder->members.items[folder->members.n - 1];
    member->progress.size = size;
    member->changed_ns = changed_ns;
    return TC_OK;
}

static enum tc_status try_candidates(struct tc_trace_folder *folder, size_t *n_grown,
                                     struct tc_error *err)
{
    struct tc_trace_candidate *items = folder->candidates.items;
    enum tc_status status = TC_OK;
    size_t n_kept = 0;

    for (size_t i = 0; i < folder->candidates.n; i++) {
        if (status != TC_E_VERSION)
            status = look_at_candidate(folder, &items[i], err);
        /* What may be another tool's is read at the end, but it does grow. */
        *n_grown += status == TC_OK || (status != TC_END && status != TC_E_VERSION &&
                                        !tc_is_trace_name(tc_fs_base(items[i].path)));
        if (status == TC_OK)
            tc_free(items[i].path);
        else
            items[n_kept++] = items[i];
    }
    folder->candidates.n = n_kept;
    return status == TC_E_VERSION ? status : TC_OK;
}

/* A file whose last read failed is read again: what it had may not have been read. */
static bool is_due(const struct tc_trace_member *m, int64_t size)
{
    return size >= 0 && (size != m->progress.size || m->has_failed);
}

static void look_at_members(struct tc_trace_folder *folder, size_t *n_grown)
{
    for (size_t i = 0; i < folder->members.n; i++) {
        struct tc_trace_member *m = &folder->members.items[i];
        int64_t size, changed_ns;

        if (m->progress.has_ended && m->progress.is_dry)
            continue;
        size = size_of(tc_trace_file_path(m->file), &changed_ns);
        if (!is_due(m, size))
            continue;
        *n_grown += size != m->progress.size;
        m->progress.size = size;
        m->changed_ns = changed_ns;
        if (m->progress.is_dry)
            tc_trace_folder_wait(folder, i);
        m->progress.is_dry = false;
    }
}

enum tc_status tc_trace_folder_refresh(struct tc_trace_folder *folder, size_t *n_grown,
                                       struct tc_error *err)
{
    enum tc_status status;

    *n_grown = 0;
    look_at_members(folder, n_grown);
    status = find_candidates(folder, err);
    return status == TC_OK ? try_candidates(folder, n_grown, err) : status;
}

void tc_trace_folder_finish(struct tc_trace_folder *folder)
{
    struct tc_error why = {TC_OK, ""};
    enum tc_status status;

    for (size_t i = 0; i < folder->candidates.n; i++) {
        const char *path = folder->candidates.items[i].path;
        struct tc_trace_file *file = NULL;

        status = tc_trace_file_open_by(folder->zio, path, false, folder->notes, &file, &why);

        if (status == TC_OK)
            tc_trace_folder_add(folder, file);
        else
            tc_trace_folder_add_other(folder, path,
                                      tc_is_trace_name(tc_fs_base(path)) ? why.text : NULL);
        tc_free(folder->candidates.items[i].path);
    }
    folder->candidates.n = 0;
    status = tc_trace_folder_add_foreign(folder, &why);
    if (status != TC_OK)
        tc_notes_add(folder->notes, "unreadable", folder->watched, 0, "%s", why.text);
}
