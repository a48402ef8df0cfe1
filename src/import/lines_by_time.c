/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines_by_time.c - a window of parsed lines, kept sorted by insertion
 *
 * Lines come nearly in order, so an insertion is short. Each held line has its own text and arena,
 * which are used again when it is handed out; so what was handed out is valid until the next call.
 * A line later than the window is handed out late, with a note, and never dropped.
 */
#include "import/lines_by_time.h"

#include <string.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "trace/lines.h"
#include "trace/reader_notes.h"
#include "trace/scan.h"

struct held {
    struct tc_strbuf text;
    struct tc_arena arena;
    struct tc_python_line line;
};

struct tc_lines_by_time {
    char *path;
    struct tc_notes *notes;
    struct tc_lines *lines;
    struct held held[TC_LINES_HELD_BACK + 1];    /* one more: what was handed out last */
    struct held *sorted[TC_LINES_HELD_BACK + 1]; /* the first to go stands last */
    struct held *spare[TC_LINES_HELD_BACK + 1];
    size_t n_sorted, n_used, n_spare;
    struct held *out; /* handed out, free again at the next call */
    int64_t last_time;
    size_t torn; /* bytes of the note "torn-tail"; 0 without one */
};

enum tc_status tc_lines_by_time_open(const char *path, struct tc_notes *notes,
                                     struct tc_lines_by_time **out, struct tc_error *err)
{
    struct tc_lines_by_time *l = tc_calloc(1, sizeof(*l));
    enum tc_status status;

    l->path = tc_strdup(path);
    l->notes = notes;
    l->last_time = INT64_MIN;
    status = tc_lines_open(l->path, tc_fs_base(l->path), notes, &l->lines, err);
    if (status != TC_OK) {
        tc_lines_by_time_close(l);
        l = NULL;
    }
    *out = l;
    return status;
}

void tc_lines_by_time_close(struct tc_lines_by_time *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n_used; i++) {
        tc_strbuf_release(&l->held[i].text);
        tc_arena_release(&l->held[i].arena);
    }
    tc_lines_close(l->lines);
    tc_free(l->path);
    tc_free(l);
}

static const char *const types[] = {
    "function_call (pre)",
    "function_call (post)",
    "function_call (post) (exception)",
    "state_change",
};

static bool is_type(struct tc_str type)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (tc_str_is(type, types[i]))
            return true;
    return false;
}

bool tc_python_line_parse(const struct tc_value *object, struct tc_python_line *out,
                          const char **why)
{
    bool is_var;

    out->object = object;
    out->type = tc_value_str(tc_value_get(object, "type"));
    out->time = tc_value_int(tc_value_get(object, "time"), TC_NONE);
    out->process = tc_value_int(tc_value_get(object, "process_id"), TC_NONE);
    out->thread = tc_value_int(tc_value_get(object, "thread_id"), TC_NONE);
    is_var = tc_str_is(out->type, "state_change");
    *why = !is_type(out->type)       ? "no \"type\" of the Python tool"
           : out->time == TC_NONE    ? "no integer \"time\""
           : out->process == TC_NONE ? "no integer \"process_id\""
           : out->thread == TC_NONE  ? "no integer \"thread_id\""
           : is_var                  ? NULL
           : !tc_value_str(tc_value_get(object, "func_call_id")).text ? "no \"func_call_id\""
           : !tc_value_str(tc_value_get(object, "function")).text     ? "no \"function\""
                                                                      : NULL;
    if (is_var && !*why) {
        const struct tc_value *attributes = tc_value_get(object, "attributes");
        if (!tc_value_str(tc_value_get(object, "var_name")).text)
            *why = "no \"var_name\"";
        else if (!attributes || attributes->kind != TC_VALUE_OBJECT)
            *why = "no object \"attributes\"";
    }
    return !*why;
}

static struct held *take_slot(struct tc_lines_by_time *l)
{
    return l->n_spare ? l->spare[--l->n_spare] : &l->held[l->n_used++];
}

static void give_slot(struct tc_lines_by_time *l, struct held *slot)
{
    if (slot)
        l->spare[l->n_spare++] = slot;
}

/* The line as a record in slot; on failure code says what kind of note it deserves. */
static enum tc_status parse(struct held *slot, struct tc_str line, uint64_t number,
                            const char **code, struct tc_error *err)
{
    struct tc_value *object;
    const char *why;
    enum tc_status status;

    tc_strbuf_reset(&slot->text);
    tc_strbuf_add(&slot->text, line.text, line.size);
    tc_arena_reset(&slot->arena);
    object = tc_arena_alloc(&slot->arena, sizeof(*object));
    *code = "bad-json";
    status = tc_scan(slot->text.text, slot->text.size, &slot->arena, object, err);
    if (status != TC_OK)
        return status;
    *code = "bad-record";
    if (!tc_python_line_parse(object, &slot->line, &why))
        return tc_error_set(err, TC_E_FORMAT, "%s", why);
    slot->line.number = number;
    return TC_OK;
}

static bool is_before(const struct held *a, const struct held *b)
{
    if (a->line.time != b->line.time)
        return a->line.time < b->line.time;
    return a->line.number < b->line.number;
}

/* Lines come nearly in order: the search is short. */
static void hold(struct tc_lines_by_time *l, struct held *slot)
{
    size_t at = 0;

    while (at < l->n_sorted && is_before(slot, l->sorted[at]))
        at++;
    memmove(&l->sorted[at + 1], &l->sorted[at], (l->n_sorted - at) * sizeof(*l->sorted));
    l->sorted[at] = slot;
    l->n_sorted++;
}

static void note_torn(struct tc_lines_by_time *l, struct tc_str tail)
{
    const char *name = tc_fs_base(l->path);
    size_t torn = tc_lines_torn(l->lines);

    if (torn == l->torn)
        return;
    tc_notes_withdraw(l->notes, "torn-tail", name);
    if (torn)
        tc_notes_add(l->notes, "torn-tail", name, tc_lines_number(l->lines) + 1,
                     "the last %zu bytes are the start of a %s that was never finished", torn,
                     tail.size ? "line" : "frame");
    l->torn = torn;
}

/* The last line may be whole without its newline. */
static enum tc_status read_tail(struct tc_lines_by_time *l)
{
    struct tc_str tail = tc_lines_tail(l->lines);
    struct held *slot = take_slot(l);
    struct tc_error why;
    const char *code;

    if (!tail.size || parse(slot, tail, tc_lines_number(l->lines) + 1, &code, &why) != TC_OK) {
        give_slot(l, slot);
        note_torn(l, tail);
        return TC_END;
    }
    tc_lines_take_tail(l->lines);
    hold(l, slot);
    return TC_OK;
}

static enum tc_status read_line(struct tc_lines_by_time *l, struct tc_error *err)
{
    struct tc_error why;
    struct tc_str line;
    const char *code;
    enum tc_status status;

    while ((status = tc_lines_next(l->lines, &line, err)) == TC_OK) {
        uint64_t number = tc_lines_number(l->lines);
        struct held *slot = take_slot(l);

        if (parse(slot, line, number, &code, &why) == TC_OK) {
            hold(l, slot);
            return TC_OK;
        }
        give_slot(l, slot);
        tc_notes_add(l->notes, code, tc_fs_base(l->path), number, "%s", why.text);
    }
    return status == TC_END ? read_tail(l) : status;
}

enum tc_status tc_lines_by_time_next(struct tc_lines_by_time *l, struct tc_python_line *out,
                                     struct tc_error *err)
{
    enum tc_status status = TC_OK;

    give_slot(l, l->out);
    l->out = NULL;
    while (l->n_sorted < TC_LINES_HELD_BACK && (status = read_line(l, err)) == TC_OK)
        ;
    if (status != TC_OK && status != TC_END)
        return status;
    if (!l->n_sorted)
        return TC_END;
    l->out = l->sorted[--l->n_sorted];
    *out = l->out->line;
    if (out->time < l->last_time)
        tc_notes_add(l->notes, "late-record", tc_fs_base(l->path), out->number,
                     "a record stands more than %d lines behind its time", TC_LINES_HELD_BACK);
    else
        l->last_time = out->time;
    return TC_OK;
}

bool tc_lines_by_time_is_waiting(const struct tc_lines_by_time *l)
{
    return tc_lines_is_waiting(l->lines);
}

void tc_lines_by_time_park(struct tc_lines_by_time *l)
{
    tc_lines_park(l->lines);
}

const char *tc_lines_by_time_name(const struct tc_lines_by_time *l)
{
    return tc_fs_base(l->path);
}

uint64_t tc_lines_by_time_bytes(const struct tc_lines_by_time *l)
{
    return tc_lines_file_bytes(l->lines);
}

uint64_t tc_lines_by_time_json_bytes(const struct tc_lines_by_time *l)
{
    return tc_lines_json_bytes(l->lines);
}
