/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c - all files of a trace, read in turns
 *
 * A turn is what one read of a file decodes, about a frame. Only the files that
 * had the last turns keep their descriptor and buffers; the others are parked.
 */
#include "trace/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/strbuf.h"
#include "trace/bytes.h"
#include "trace/reader.h"
#include "trace/reader_notes.h"
#include "trace/zio.h"

/* Files that are not parked: at about 1.5 MB each. */
#define MAX_HOT 16

#define NO_MEMBER SIZE_MAX

bool tc_is_trace_name(const char *name)
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

void tc_trace_folder_wait(struct tc_trace_folder *folder, size_t member)
{
    const struct tc_trace_member *m = &folder->members.items[member];

    tc_turns_push(&folder->waiting, (struct tc_turn){m->progress.step, m->time_ns, member});
}

void tc_trace_folder_add(struct tc_trace_folder *folder, struct tc_trace_file *file)
{
    const struct tc_record *process = tc_trace_file_process(file);
    struct tc_trace_member member = {.file = file};

    member.anchor_ns = tc_value_int(tc_value_get(process->object, "unix_ns"), 0);
    member.time_ns = member.anchor_ns;
    tc_trace_file_park(file);
    tc_vec_push(&folder->members, member);
    tc_trace_folder_wait(folder, folder->members.n - 1);
}

static enum tc_status add_file(struct tc_trace_folder *folder, const char *path,
                               struct tc_error *err)
{
    struct tc_error why = {TC_OK, ""};
    struct tc_trace_file *file;
    enum tc_status status =
        tc_trace_file_open_by(folder->zio, path, false, folder->notes, &file, &why);

    if (status == TC_E_FORMAT) {
        tc_trace_folder_add_other(folder, path, why.text);
        return TC_OK;
    }
    if (status != TC_OK)
        return tc_error_set(err, status, "%s", why.text);
    tc_trace_folder_add(folder, file);
    return TC_OK;
}

static enum tc_status add_dir(struct tc_trace_folder *folder, const char *dir, struct tc_error *err)
{
    char **names;
    size_t n;
    enum tc_status status = tc_bytes_list(dir, &names, &n, err);

    for (size_t i = 0; i < n && status == TC_OK; i++) {
        char *path = tc_fs_join(dir, names[i]);

        if (tc_is_trace_name(names[i]))
            status = add_file(folder, path, err);
        else if (tc_is_foreign_name(names[i]))
            tc_trace_folder_add_other(folder, path, NULL);
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return status;
}

/* The error says it of the first file. */
static void withdraw_first_note(struct tc_trace_folder *folder)
{
    for (size_t i = 0; i < folder->others.n; i++) {
        const struct tc_trace_other *other = &folder->others.items[i];

        if (!other->why)
            continue;
        tc_notes_withdraw(folder->notes, "not-a-trace", tc_fs_base(other->path));
        return;
    }
}

/* A folder in DIR with a trace, owned by the caller; NULL: there is none. */
static char *find_below(const char *dir)
{
    struct tc_error ignored = {TC_OK, ""};
    char **names, **files, *found = NULL;
    size_t n, n_files;

    if (tc_bytes_list(dir, &names, &n, &ignored) != TC_OK)
        return NULL;
    for (size_t i = 0; i < n && !found; i++) {
        char *path = tc_fs_join(dir, names[i]);

        if (tc_bytes_is_dir(path) && tc_bytes_list(path, &files, &n_files, &ignored) == TC_OK) {
            for (size_t j = 0; j < n_files && !found; j++)
                found = tc_is_trace_name(files[j]) ? tc_strdup(path) : NULL;
            tc_fs_list_free(files, n_files);
        }
        tc_free(path);
    }
    tc_fs_list_free(names, n);
    return found;
}

static enum tc_status no_trace(const char *path, struct tc_error *err)
{
    char *below = find_below(path);

    tc_error_set(err, TC_E_NOTFOUND,
                 "%s: no trace in this folder, that is no trace_*.jsonl.zst or trace_*.jsonl%s%s%s",
                 path, below ? "; there is one in " : "", below ? below : "",
                 below ? ": name that folder" : "");
    tc_free(below);
    return TC_E_NOTFOUND;
}

enum tc_status tc_trace_folder_missing(const char *path, struct tc_error *err)
{
    struct stat st;

    if (tc_bytes_is_remote(path))
        return tc_bytes_open(&(struct tc_bytes){0}, path, err) != TC_OK
                   ? TC_E_NOTFOUND
                   : tc_error_set(err, TC_E_NOTFOUND, "%s: no such trace folder or file", path);
    if (stat(path, &st) < 0 && errno == EACCES)
        return tc_error_set(err, TC_E_IO, "%s: %s", path, strerror(errno));
    return tc_error_set(err, TC_E_NOTFOUND, "%s: no such trace folder or file", path);
}

static enum tc_status add_all(struct tc_trace_folder *folder, const char *path,
                              struct tc_error *err)
{
    bool is_dir = tc_bytes_is_dir(path);
    enum tc_status status;

    if (!is_dir && !tc_bytes_exists(path))
        return tc_trace_folder_missing(path, err);
    status = is_dir ? add_dir(folder, path, err) : add_file(folder, path, err);
    if (status == TC_OK)
        status = tc_trace_folder_add_foreign(folder, err);
    if (status != TC_OK || folder->members.n)
        return status;
    if (!folder->rejected)
        return no_trace(path, err);
    withdraw_first_note(folder);
    return tc_error_set(err, TC_E_NOTFOUND, "%s", folder->rejected);
}

static struct tc_trace_folder *folder_new(struct tc_notes *notes)
{
    struct tc_trace_folder *folder = tc_calloc(1, sizeof(*folder));

    folder->notes = notes;
    folder->zio = tc_zio_new();
    folder->limit = INT64_MAX;
    folder->turn = NO_MEMBER;
    return folder;
}

enum tc_status tc_trace_folder_open(const char *path, struct tc_notes *notes,
                                    struct tc_trace_folder **out, struct tc_error *err)
{
    struct tc_trace_folder *folder = folder_new(notes);
    enum tc_status status = add_all(folder, path, err);

    *out = NULL;
    if (status != TC_OK) {
        tc_trace_folder_close(folder);
        return status;
    }
    *out = folder;
    return TC_OK;
}

struct tc_trace_folder *tc_trace_folder_watch(const char *path, struct tc_notes *notes)
{
    struct tc_trace_folder *folder = folder_new(notes);

    folder->watched = tc_strdup(path);
    folder->known = tc_strtab_new();
    return folder;
}

void tc_trace_folder_close(struct tc_trace_folder *folder)
{
    if (!folder)
        return;
    for (size_t i = 0; i < folder->members.n; i++)
        tc_trace_file_close(folder->members.items[i].file);
    for (size_t i = 0; i < folder->candidates.n; i++)
        tc_free(folder->candidates.items[i].path);
    for (size_t i = 0; i < folder->others.n; i++) {
        tc_free(folder->others.items[i].path);
        tc_free(folder->others.items[i].why);
    }
    tc_vec_release(&folder->others);
    tc_vec_release(&folder->members);
    tc_vec_release(&folder->candidates);
    tc_turns_release(&folder->waiting);
    tc_vec_release(&folder->hot);
    tc_free(folder->rejected);
    tc_free(folder->watched);
    tc_strtab_free(folder->known);
    tc_zio_free(folder->zio);
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

struct tc_trace_progress tc_trace_folder_progress(const struct tc_trace_folder *folder, size_t i)
{
    return folder->members.items[i].progress;
}

size_t tc_trace_folder_n_candidates(const struct tc_trace_folder *folder)
{
    return folder->candidates.n;
}

void tc_trace_folder_limit(struct tc_trace_folder *folder, int64_t step)
{
    folder->limit = step;
}

/* ---- turns --------------------------------------------------------------------------------- */

/* Of a file that is read to where it ended when somebody looked, nothing is read in vain: the next
 * look sees whether it has grown. */
static void end_turn(struct tc_trace_folder *folder)
{
    struct tc_trace_member *m = &folder->members.items[folder->turn];

    m->progress.is_dry = tc_trace_file_has_all_of(m->file, m->progress.size);
    if (!m->progress.is_dry)
        tc_trace_folder_wait(folder, folder->turn);
}

/* The member whose turn it is, which waits no more; the one that had the last turn may wait again.
 */
static size_t next_turn(struct tc_trace_folder *folder)
{
    const struct tc_turn *first;
    size_t member;

    if (folder->turn != NO_MEMBER)
        end_turn(folder);
    first = tc_turns_first(&folder->waiting);
    if (!first || first->step > folder->limit)
        return NO_MEMBER;
    member = first->member;
    tc_turns_pop(&folder->waiting);
    return member;
}

/* Make the member the newest of those that are hot. */
static void warm(struct tc_trace_folder *folder, size_t member)
{
    size_t *hot = folder->hot.items, i = 0;

    while (i < folder->hot.n && hot[i] != member)
        i++;
    if (i == folder->hot.n && i < MAX_HOT) {
        tc_vec_push(&folder->hot, member);
        return;
    }
    if (i == folder->hot.n)
        tc_trace_file_park(folder->members.items[hot[i = 0]].file);
    memmove(&hot[i], &hot[i + 1], (folder->hot.n - 1 - i) * sizeof(*hot));
    hot[folder->hot.n - 1] = member;
}

/* anchor + t, within int64 whatever a file says. */
static int64_t wall_time(int64_t anchor_ns, int64_t t)
{
    int64_t sum;

    if (!__builtin_add_overflow(anchor_ns, t, &sum))
        return sum;
    return t < 0 ? INT64_MIN : INT64_MAX;
}

/* Step and time of a member never go back, whatever its records say. */
static void move_on(struct tc_trace_member *m, const struct tc_record *record)
{
    if (record->t != TC_NONE) {
        int64_t time_ns = wall_time(m->anchor_ns, record->t);
        if (time_ns > m->time_ns)
            m->time_ns = time_ns;
    }
    if (record->step != TC_NONE && record->step > m->progress.step)
        m->progress.step = record->step;
    m->progress.has_ended |= record->type == TC_RECORD_END;
}

/* A file of a growing folder that is gone, or not to be read for now, stops no other. */
static enum tc_status fail_to_read(struct tc_trace_folder *folder, struct tc_trace_member *m,
                                   enum tc_status status, struct tc_error *why,
                                   struct tc_error *err)
{
    if (!folder->watched)
        return tc_error_set(err, status, "%s", why->text);
    if (!m->has_failed)
        tc_notes_add(folder->notes, "unreadable", tc_trace_file_name(m->file), 0, "%s", why->text);
    m->has_failed = true;
    tc_trace_file_park(m->file); /* a descriptor of a mount that is gone is of no more use */
    return TC_END;
}

static void end_failure(struct tc_trace_folder *folder, struct tc_trace_member *m)
{
    if (m->has_failed)
        tc_notes_withdraw(folder->notes, "unreadable", tc_trace_file_name(m->file));
    m->has_failed = false;
}

/* The next record of the file whose turn it is; TC_END ends the turn. */
static enum tc_status read_turn(struct tc_trace_folder *folder, struct tc_arena *arena,
                                const struct tc_record **out, struct tc_error *err)
{
    struct tc_trace_member *m = &folder->members.items[folder->turn];
    struct tc_error why;
    enum tc_status status = arena ? tc_trace_file_take(m->file, arena, out, &why)
                                  : tc_trace_file_next(m->file, out, &why);

    if (status == TC_OK || status == TC_END)
        end_failure(folder, m);
    if (status == TC_OK) {
        move_on(m, *out);
        return TC_OK;
    }
    m->progress.is_dry = true;
    folder->turn = NO_MEMBER;
    return status == TC_END ? TC_END : fail_to_read(folder, m, status, &why, err);
}

/* A file decodes text only when none of it is waiting. */
static void count_text(struct tc_trace_folder *folder, struct tc_trace_member *member)
{
    uint64_t now = tc_trace_file_json_bytes(member->file);

    folder->json_bytes += now - member->json_bytes;
    member->json_bytes = now;
}

uint64_t tc_trace_folder_json_bytes(const struct tc_trace_folder *folder)
{
    return folder->json_bytes;
}

enum tc_status tc_trace_folder_take(struct tc_trace_folder *folder, struct tc_arena *arena,
                                    size_t *file_index, const struct tc_record **out,
                                    struct tc_error *err)
{
    enum tc_status status;

    do {
        size_t turn = folder->turn;
        bool is_fresh =
            turn == NO_MEMBER || !tc_trace_file_is_waiting(folder->members.items[turn].file);
        if (is_fresh) {
            folder->turn = next_turn(folder);
            if (folder->turn == NO_MEMBER)
                return TC_END;
            if (folder->turn != turn)
                warm(folder, folder->turn);
        }
        *file_index = folder->turn;
        status = read_turn(folder, arena, out, err);
        if (is_fresh)
            count_text(folder, &folder->members.items[*file_index]);
    } while (status == TC_END);
    return status;
}

enum tc_status tc_trace_folder_next(struct tc_trace_folder *folder, size_t *file_index,
                                    const struct tc_record **out, struct tc_error *err)
{
    return tc_trace_folder_take(folder, NULL, file_index, out, err);
}
