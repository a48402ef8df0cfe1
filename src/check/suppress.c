/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppress.c - a file of accepted violations, read whole and looked up line by line
 *
 * The list is short, so a look-up goes through it. A line without a reason is refused, as is a
 * zero byte: what stood behind it would be lost, and a violation told that someone has accepted.
 */
#include "check/suppress.h"

#include <string.h>

#include "base/fs.h"

#define BLANK " \t\r"

static enum tc_status read_line(struct tc_suppressions *suppressions, const char *line, size_t size)
{
    struct tc_suppression item;
    size_t id, gap;

    while (size && strchr(BLANK, line[size - 1]))
        size--;
    gap = strspn(line, BLANK);
    if (gap >= size || line[gap] == '#')
        return TC_OK;
    line += gap;
    size -= gap;
    id = strcspn(line, BLANK);
    if (id >= size)
        return TC_E_FORMAT;
    item.id = tc_arena_text(&suppressions->arena, line, id);
    gap = strspn(line + id, BLANK);
    item.reason = tc_arena_text(&suppressions->arena, line + id + gap, size - id - gap);
    tc_vec_push(&suppressions->items, item);
    return TC_OK;
}

/* As a crash leaves them: what stands behind would be lost without a word. */
static enum tc_status check_zeros(const struct tc_strbuf *text, const char *path,
                                  struct tc_error *err)
{
    const char *zero = text->size ? memchr(text->text, 0, text->size) : NULL;
    unsigned line = 1;

    if (!zero)
        return TC_OK;
    for (const char *p = text->text; p < zero; p++)
        line += *p == '\n';
    return tc_error_set(err, TC_E_FORMAT, "%s: line %u: a zero byte: this is no text", path, line);
}

enum tc_status tc_suppressions_read(struct tc_suppressions *suppressions, const char *path,
                                    struct tc_error *err)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    enum tc_status status = tc_fs_read(path, TC_FS_MAX_SMALL, &text, err);
    const char *line = text.text ? text.text : "";

    if (!status)
        status = check_zeros(&text, path, err);
    for (unsigned n = 1; !status && *line; n++) {
        size_t size = strcspn(line, "\n");
        status = read_line(suppressions, line, size);
        if (status)
            tc_error_set(err, status,
                         "%s: line %u: an id must be followed by the reason why its violations are "
                         "accepted",
                         path, n);
        line += size + (line[size] == '\n');
    }
    tc_strbuf_release(&text);
    return status;
}

void tc_suppressions_release(struct tc_suppressions *suppressions)
{
    tc_vec_release(&suppressions->items);
    tc_arena_release(&suppressions->arena);
}

const char *tc_suppressions_reason(const struct tc_suppressions *suppressions, const char *id)
{
    for (size_t i = 0; i < suppressions->items.n; i++)
        if (!strcmp(suppressions->items.items[i].id, id))
            return suppressions->items.items[i].reason;
    return NULL;
}

static bool is_known(const struct tc_engine *engine, const char *id)
{
    for (size_t i = 0; i < tc_engine_count(engine); i++)
        if (!strcmp(tc_engine_judgement(engine, i)->invariant->id, id))
            return true;
    return false;
}

void tc_suppressions_note_unused(const struct tc_suppressions *suppressions, const char *path,
                                 const struct tc_engine *engine, struct tc_notes *notes)
{
    for (size_t i = 0; i < suppressions->items.n; i++)
        if (!is_known(engine, suppressions->items.items[i].id))
            tc_notes_add(notes, "unused-suppression", path, 0, "no invariant has the id %s",
                         suppressions->items.items[i].id);
}
