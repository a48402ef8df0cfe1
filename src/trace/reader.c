/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - one trace file as records
 *
 * Lines become records in the caller's arena. The process record is read when the file is
 * opened, and outlives it. A damaged line or an unknown key is noted, once for each kind, and
 * skipped. A torn last line is noted until a growing file brings the rest.
 */
#include <traincheck/trace.h>

#include <inttypes.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/vec.h"
#include "trace/lines.h"
#include "trace/reader.h"
#include "trace/reader_notes.h"
#include "trace/schema.h"
#include <traincheck/version.h>

struct tc_trace_file {
    char *path;
    struct tc_notes *notes;
    struct tc_lines *lines;
    struct tc_arena arena; /* of the record that tc_trace_file_next gave; reset for each */
    struct tc_arena process_arena;
    struct tc_record process;
    size_t torn;                      /* bytes of the note "torn-tail"; 0 without one */
    const struct tc_foreign_ops *ops; /* of another tool's trace; NULL for ours */
    void *foreign;
};

/* The whole line moves to the arena, as the process record outlives the text. */
static enum tc_status parse_process(struct tc_trace_file *file, struct tc_str line,
                                    struct tc_error *err)
{
    struct tc_arena *arena = &file->process_arena;
    struct tc_value *object = tc_arena_alloc(arena, sizeof(*object));
    const char *text = tc_arena_text(arena, line.text, line.size);
    enum tc_status status = tc_scan(text, line.size, arena, object, err);
    int64_t schema;

    if (status != TC_OK)
        return status;
    if (!tc_value_is(tc_value_get(object, "type"), "process"))
        return tc_error_set(err, TC_E_FORMAT, "the first record is no process record");
    /* Before the other fields, which a newer schema may have changed. */
    schema = tc_value_int(tc_value_get(object, "schema"), TC_TRACE_SCHEMA);
    if (schema > TC_TRACE_SCHEMA)
        return tc_error_set(err, TC_E_VERSION,
                            "its schema is %" PRId64 ", the newest known here is %d", schema,
                            TC_TRACE_SCHEMA);
    if (schema < 1)
        return tc_error_set(err, TC_E_FORMAT, "\"schema\" is %" PRId64, schema);
    status = tc_record_fill(object, &file->process, err);
    file->process.line = tc_lines_number(file->lines);
    return status;
}

static enum tc_status read_process(struct tc_trace_file *file, bool is_whole, struct tc_error *err)
{
    struct tc_str line;
    enum tc_status status = tc_lines_next(file->lines, &line, err);

    if (status == TC_END) {
        line = tc_lines_tail(file->lines);
        if (!line.size || is_whole)
            return tc_error_set(err, TC_E_FORMAT, "%s: not a trace: no whole record in it",
                                file->path);
        tc_lines_take_tail(file->lines);
    } else if (status != TC_OK) {
        return status;
    }
    status = parse_process(file, line, err);
    if (status == TC_E_FORMAT)
        tc_error_prefix(err, "%s: not a trace: line %" PRIu64, file->path,
                        tc_lines_number(file->lines));
    else if (status != TC_OK)
        tc_error_prefix(err, "%s", file->path);
    return status;
}

enum tc_status tc_trace_file_open_by(struct tc_zio *zio, const char *path, bool is_whole,
                                     struct tc_notes *notes, struct tc_trace_file **out,
                                     struct tc_error *err)
{
    struct tc_trace_file *file = tc_calloc(1, sizeof(*file));
    enum tc_status status;

    *out = NULL;
    file->path = tc_strdup(path);
    file->notes = notes;
    status = tc_lines_open(file->path, tc_trace_file_name(file), notes, &file->lines, err);
    if (status == TC_OK && zio)
        tc_lines_share(file->lines, zio);
    if (status == TC_OK)
        status = read_process(file, is_whole, err);
    if (status == TC_OK)
        *out = file;
    else
        tc_trace_file_close(file);
    return status;
}

enum tc_status tc_trace_file_open(const char *path, struct tc_notes *notes,
                                  struct tc_trace_file **out, struct tc_error *err)
{
    return tc_trace_file_open_by(NULL, path, false, notes, out, err);
}

enum tc_status tc_trace_file_open_whole(const char *path, struct tc_notes *notes,
                                        struct tc_trace_file **out, struct tc_error *err)
{
    return tc_trace_file_open_by(NULL, path, true, notes, out, err);
}

struct tc_trace_file *tc_trace_file_new_foreign(const char *path, const struct tc_foreign_ops *ops,
                                                void *state, const struct tc_record *process)
{
    struct tc_trace_file *file = tc_calloc(1, sizeof(*file));

    file->path = tc_strdup(path);
    file->ops = ops;
    file->foreign = state;
    file->process = *process;
    return file;
}

void tc_trace_file_close(struct tc_trace_file *file)
{
    if (!file)
        return;
    if (file->ops)
        file->ops->close(file->foreign);
    tc_lines_close(file->lines);
    tc_arena_release(&file->arena);
    tc_arena_release(&file->process_arena);
    tc_free(file->path);
    tc_free(file);
}

/* What a newer writer may have added is skipped and counted. */
static void note_unknown(struct tc_trace_file *file, const struct tc_record *record)
{
    struct tc_str type = tc_value_str(tc_value_get(record->object, "type"));
    struct tc_str key = record->unknown_key;

    if (record->type == TC_RECORD_UNKNOWN)
        tc_notes_add(file->notes, "unknown-type", tc_trace_file_name(file), record->line,
                     "records of type \"%.*s\" are not known and skipped",
                     (int)(type.size < 64 ? type.size : 64), type.text);
    else if (key.text)
        tc_notes_add(file->notes, "unknown-key", tc_trace_file_name(file), record->line,
                     "\"%.*s\" of a %s record is not known and skipped",
                     (int)(key.size < 64 ? key.size : 64), key.text,
                     tc_record_type_text(record->type));
}

/* The line as a record in arena; on failure code says what kind of note it deserves. */
static enum tc_status parse(struct tc_trace_file *file, struct tc_str line, uint64_t number,
                            struct tc_arena *arena, const struct tc_record **out, const char **code,
                            struct tc_error *err)
{
    struct tc_value *object = tc_arena_alloc(arena, sizeof(*object));
    struct tc_record *record = tc_arena_alloc(arena, sizeof(*record));
    enum tc_status status;

    *out = record;
    *code = "bad-json";
    status = tc_scan(line.text, line.size, arena, object, err);
    if (status != TC_OK)
        return status;
    *code = "bad-record";
    status = tc_record_fill(object, record, err);
    record->line = number;
    if (status == TC_OK && (record->unknown_key.text || record->type == TC_RECORD_UNKNOWN))
        note_unknown(file, record);
    return status;
}

static struct tc_str copy_line(struct tc_arena *arena, struct tc_str line)
{
    return (struct tc_str){tc_arena_copy(arena, line.text, line.size), line.size};
}

/* The last line of a plain file may be whole without its newline. Else it is torn, and noted so
 * until the rest of it comes. */
static enum tc_status read_tail(struct tc_trace_file *file, struct tc_arena *arena,
                                const struct tc_record **out)
{
    struct tc_str tail = tc_lines_tail(file->lines);
    size_t torn = tc_lines_torn(file->lines);
    uint64_t number = tc_lines_number(file->lines) + 1;
    const char *code;

    if (tail.size &&
        parse(file, copy_line(arena, tail), number, arena, out, &code, NULL) == TC_OK) {
        tc_lines_take_tail(file->lines);
        return TC_OK;
    }
    if (torn == file->torn)
        return TC_END;
    tc_notes_withdraw(file->notes, "torn-tail", tc_trace_file_name(file));
    if (torn)
        tc_notes_add(file->notes, "torn-tail", tc_trace_file_name(file), number,
                     "the last %zu bytes are the start of a %s that was never finished", torn,
                     tail.size ? "line" : "frame");
    file->torn = torn;
    return TC_END;
}

enum tc_status tc_trace_file_take(struct tc_trace_file *file, struct tc_arena *arena,
                                  const struct tc_record **out, struct tc_error *err)
{
    struct tc_error why;
    struct tc_str line;
    const char *code;
    enum tc_status status;

    if (file->ops)
        return file->ops->next(file->foreign, out, err);
    while ((status = tc_lines_next(file->lines, &line, err)) == TC_OK) {
        uint64_t number = tc_lines_number(file->lines);
        struct tc_arena_mark mark = tc_arena_mark(arena);

        if (parse(file, copy_line(arena, line), number, arena, out, &code, &why) == TC_OK)
            return TC_OK;
        tc_arena_rewind(arena, mark);
        tc_notes_add(file->notes, code, tc_trace_file_name(file), number, "%s", why.text);
    }
    return status == TC_END ? read_tail(file, arena, out) : status;
}

enum tc_status tc_trace_file_next(struct tc_trace_file *file, const struct tc_record **out,
                                  struct tc_error *err)
{
    tc_arena_reset(&file->arena);
    return tc_trace_file_take(file, &file->arena, out, err);
}

bool tc_trace_file_is_waiting(const struct tc_trace_file *file)
{
    return file->ops ? file->ops->is_waiting(file->foreign) : tc_lines_is_waiting(file->lines);
}

bool tc_trace_file_has_all_of(const struct tc_trace_file *file, int64_t size)
{
    return !file->ops && !file->torn && size > 0 &&
           tc_lines_has_all_of(file->lines, (uint64_t)size);
}

void tc_trace_file_park(struct tc_trace_file *file)
{
    if (file->ops) {
        file->ops->park(file->foreign);
        return;
    }
    tc_lines_park(file->lines);
    tc_arena_release(&file->arena);
}

const struct tc_record *tc_trace_file_process(const struct tc_trace_file *file)
{
    return &file->process;
}

bool tc_trace_file_is_foreign(const struct tc_trace_file *file)
{
    return file->ops;
}

const char *tc_trace_file_path(const struct tc_trace_file *file)
{
    return file->path;
}

const char *tc_trace_file_name(const struct tc_trace_file *file)
{
    return tc_fs_base(file->path);
}

uint64_t tc_trace_file_bytes(const struct tc_trace_file *file)
{
    return file->ops ? file->ops->bytes(file->foreign) : tc_lines_file_bytes(file->lines);
}

uint64_t tc_trace_file_json_bytes(const struct tc_trace_file *file)
{
    return file->ops ? file->ops->json_bytes(file->foreign) : tc_lines_json_bytes(file->lines);
}
