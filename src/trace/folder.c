/*
 * folder.c - all files of a trace, merged by time
 *
 * A binary heap holds the next record of each file. Its time never goes back
 * within a file, so that the order of a file survives clocks that do, and
 * records without a time stay with the one before them.
 */
#include <traincheck/trace.h>

#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include "base/banned.h"

struct member {
    struct tc_trace_file *file;
    const struct tc_record *record; /* read ahead */
    int64_t anchor_ns;              /* wall-clock time of t = 0; 0 where it is not known */
    int64_t time_ns;                /* of record, not before that of the one before it */
};

struct tc_trace_folder {
    struct tc_notes *notes;
    TC_VEC(struct member) members;
    size_t *heap; /* indices of members with a record, first of all at the root */
    size_t n_heap;
    bool is_used;   /* the record of the root was handed out */
    char *rejected; /* why the first file was no trace */
};

static bool is_trace_name(const char *name)
{
    static const char *const suffixes[] = {".jsonl.zst", ".jsonl"};
    size_t size = strlen(name);

    if (strncmp(name, "trace_", 6) != 0)
        return false;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(suffixes[i]);

        if (size >= n && !strcmp(name + size - n, suffixes[i]))
            return true;
    }
    return false;
}

/* A file that is no trace is noted and left out. */
static enum tc_status add_file(struct tc_trace_folder *folder, const char *path,
                               struct tc_error *err)
{
    struct tc_error why = {TC_OK, ""};
    struct member member = {NULL, NULL, 0, 0};
    enum tc_status status = tc_trace_file_open(path, folder->notes, &member.file, &why);
    const struct tc_record *process;

    if (status == TC_E_FORMAT) {
        tc_notes_add(folder->notes, "not-a-trace", tc_fs_base(path), 0, "%s", why.text);
        if (!folder->rejected)
            folder->rejected = tc_strdup(why.text);
        return TC_OK;
    }
    if (status != TC_OK)
        return tc_error_set(err, status, "%s", why.text);
    process = tc_trace_file_process(member.file);
    member.anchor_ns = tc_value_int(tc_value_get(process->object, "unix_ns"), 0);
    member.time_ns = member.anchor_ns;
    tc_vec_push(&folder->members, member);
    return TC_OK;
}

static enum tc_status add_dir(struct tc_trace_folder *folder, const char *dir, struct tc_error *err)
{
    char **names;
    size_t n;
    enum tc_status status = tc_fs_list(dir, &names, &n, err);

    for (size_t i = 0; i < n && status == TC_OK; i++) {
        char *path;

        if (!is_trace_name(names[i]))
            continue;
        path = tc_fs_join(dir, names[i]);
        status = add_file(folder, path, err);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return status;
}

static enum tc_status add_all(struct tc_trace_folder *folder, const char *path,
                              struct tc_error *err)
{
    bool is_dir = tc_fs_is_dir(path);
    enum tc_status status;

    if (!is_dir && !tc_fs_exists(path))
        return tc_error_set(err, TC_E_NOTFOUND, "%s: no such trace folder or file", path);
    status = is_dir ? add_dir(folder, path, err) : add_file(folder, path, err);
    if (status != TC_OK || folder->members.n)
        return status;
    if (folder->rejected)
        return tc_error_set(err, TC_E_NOTFOUND, "%s", folder->rejected);
    return tc_error_set(err, TC_E_NOTFOUND,
                        "%s: no trace in this folder, that is no trace_*.jsonl.zst or "
                        "trace_*.jsonl",
                        path);
}

enum tc_status tc_trace_folder_open(const char *path, struct tc_notes *notes,
                                    struct tc_trace_folder **out, struct tc_error *err)
{
    struct tc_trace_folder *folder = tc_calloc(1, sizeof(*folder));
    enum tc_status status;

    *out = NULL;
    folder->notes = notes;
    status = add_all(folder, path, err);
    if (status != TC_OK) {
        tc_trace_folder_close(folder);
        return status;
    }
    folder->heap = tc_malloc(folder->members.n * sizeof(*folder->heap));
    *out = folder;
    return TC_OK;
}

void tc_trace_folder_close(struct tc_trace_folder *folder)
{
    if (!folder)
        return;
    for (size_t i = 0; i < folder->members.n; i++)
        tc_trace_file_close(folder->members.items[i].file);
    tc_vec_release(&folder->members);
    tc_free(folder->heap);
    tc_free(folder->rejected);
    tc_free(folder);
}

size_t tc_trace_folder_n_files(const struct tc_trace_folder *folder)
{
    return folder->members.n;
}

struct tc_trace_file *tc_trace_folder_file(const struct tc_trace_folder *folder, size_t i)
{
    return folder->members.items[i].file;
}

/* Is file a to be read before file b? */
static bool is_before(const struct tc_trace_folder *folder, size_t a, size_t b)
{
    int64_t time_a = folder->members.items[a].time_ns, time_b = folder->members.items[b].time_ns;

    return time_a < time_b || (time_a == time_b && a < b);
}

static void swap(size_t *a, size_t *b)
{
    size_t c = *a;

    *a = *b;
    *b = c;
}

static void sift_up(struct tc_trace_folder *folder, size_t at)
{
    size_t *heap = folder->heap;

    for (; at && is_before(folder, heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
}

static void sift_down(struct tc_trace_folder *folder)
{
    size_t *heap = folder->heap, at = 0;

    for (;;) {
        size_t left = 2 * at + 1, first = at;

        if (left < folder->n_heap && is_before(folder, heap[left], heap[first]))
            first = left;
        if (left + 1 < folder->n_heap && is_before(folder, heap[left + 1], heap[first]))
            first = left + 1;
        if (first == at)
            return;
        swap(&heap[at], &heap[first]);
        at = first;
    }
}

/* anchor + t, within int64 whatever a file says. */
static int64_t wall_time(int64_t anchor_ns, int64_t t)
{
    int64_t sum;

    if (!__builtin_add_overflow(anchor_ns, t, &sum))
        return sum;
    return t < 0 ? INT64_MIN : INT64_MAX;
}

static enum tc_status read_ahead(struct member *m, struct tc_error *err)
{
    enum tc_status status = tc_trace_file_next(m->file, &m->record, err);

    if (status == TC_OK && m->record->t != TC_NONE) {
        int64_t time_ns = wall_time(m->anchor_ns, m->record->t);

        if (time_ns > m->time_ns)
            m->time_ns = time_ns;
    }
    return status;
}

/* Read ahead in all files, at the start or to see whether they have grown. */
static enum tc_status fill_heap(struct tc_trace_folder *folder, struct tc_error *err)
{
    for (size_t i = 0; i < folder->members.n; i++) {
        enum tc_status status = read_ahead(&folder->members.items[i], err);

        if (status == TC_END)
            continue;
        if (status != TC_OK)
            return status;
        folder->heap[folder->n_heap] = i;
        sift_up(folder, folder->n_heap++);
    }
    return TC_OK;
}

/* Only now, as the record that was handed out had to live until the next call. */
static enum tc_status replace_root(struct tc_trace_folder *folder, struct tc_error *err)
{
    enum tc_status status = read_ahead(&folder->members.items[folder->heap[0]], err);

    if (status == TC_END)
        folder->heap[0] = folder->heap[--folder->n_heap];
    else if (status != TC_OK)
        return status;
    folder->is_used = false;
    sift_down(folder);
    return TC_OK;
}

enum tc_status tc_trace_folder_next(struct tc_trace_folder *folder, size_t *file_index,
                                    const struct tc_record **out, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    if (folder->is_used)
        status = replace_root(folder, err);
    if (status == TC_OK && !folder->n_heap)
        status = fill_heap(folder, err);
    if (status != TC_OK)
        return status;
    if (!folder->n_heap)
        return TC_END;
    *file_index = folder->heap[0];
    *out = folder->members.items[folder->heap[0]].record;
    folder->is_used = true;
    return TC_OK;
}
