/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_notes.c - what readers met, one note per file and code
 *
 * A note is found by its code and file, keeps the first place, and counts. A note that was
 * withdrawn has the count 0 and is not shown. Not for several threads: each has its own notes,
 * which are taken from it afterwards.
 */
#include "trace/reader_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"

/* keys holds "code\0file"; a symbol of it is an index into all. A note that was taken back has
 * count 0. */
struct tc_notes {
    struct tc_strtab *keys;
    TC_VEC(struct tc_note *) all;
    TC_VEC(struct tc_note *) shown;
    struct tc_strbuf key;
};

struct tc_notes *tc_notes_new(void)
{
    struct tc_notes *notes = tc_calloc(1, sizeof(*notes));

    notes->keys = tc_strtab_new();
    return notes;
}

void tc_notes_free(struct tc_notes *notes)
{
    if (!notes)
        return;
    for (size_t i = 0; i < notes->all.n; i++)
        tc_free(notes->all.items[i]);
    tc_vec_release(&notes->all);
    tc_vec_release(&notes->shown);
    tc_strbuf_release(&notes->key);
    tc_strtab_free(notes->keys);
    tc_free(notes);
}

static struct tc_note *find_note(struct tc_notes *notes, const char *code, const char *file)
{
    struct tc_note *note;
    const char *key;
    tc_sym sym;

    tc_strbuf_reset(&notes->key);
    tc_strbuf_add(&notes->key, code, strlen(code) + 1);
    tc_strbuf_adds(&notes->key, file ? file : "");
    sym = tc_strtab_intern(notes->keys, notes->key.text, notes->key.size);
    if (sym < notes->all.n)
        return notes->all.items[sym];
    key = tc_strtab_text(notes->keys, sym);
    note = tc_calloc(1, sizeof(*note));
    note->code = key;
    note->file = key + strlen(key) + 1;
    tc_vec_push(&notes->all, note);
    return note;
}

void tc_notes_add(struct tc_notes *notes, const char *code, const char *file, uint64_t line,
                  const char *fmt, ...)
{
    struct tc_note *note;
    va_list args;

    if (!notes)
        return;
    note = find_note(notes, code, file);
    if (note->count++)
        return;
    note->line = line;
    va_start(args, fmt);
    vsnprintf(note->text, sizeof(note->text), fmt, args);
    va_end(args);
    tc_vec_push(&notes->shown, note);
}

void tc_notes_withdraw(struct tc_notes *notes, const char *code, const char *file)
{
    struct tc_note *note = notes ? find_note(notes, code, file) : NULL;

    if (!note || !note->count)
        return;
    note->count = 0;
    for (size_t i = 0; i < notes->shown.n; i++) {
        if (notes->shown.items[i] != note)
            continue;
        memmove(&notes->shown.items[i], &notes->shown.items[i + 1],
                (notes->shown.n - i - 1) * sizeof(note));
        notes->shown.n--;
        return;
    }
}

void tc_notes_take(struct tc_notes *notes, struct tc_notes *more)
{
    if (!notes || !more)
        return;
    for (size_t i = 0; i < more->shown.n; i++) {
        struct tc_note *from = more->shown.items[i];
        struct tc_note *note = find_note(notes, from->code, from->file);

        if (!note->count) {
            note->line = from->line;
            memcpy(note->text, from->text, sizeof(note->text));
            tc_vec_push(&notes->shown, note);
        }
        note->count += from->count;
        from->count = 0;
    }
    more->shown.n = 0;
}

size_t tc_notes_count(const struct tc_notes *notes)
{
    return notes ? notes->shown.n : 0;
}

const struct tc_note *tc_notes_get(const struct tc_notes *notes, size_t i)
{
    return notes->shown.items[i];
}
