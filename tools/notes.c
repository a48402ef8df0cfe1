/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notes.c - the first notes on stderr, and how many more there are
 */
#include "notes.h"

#include <inttypes.h>

#define SHOWN 8

static void say_note(struct tc_app *app, const struct tc_note *note)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    if (note->file && *note->file)
        tc_strbuf_addf(&line, "%s: ", note->file);
    if (note->line)
        tc_strbuf_addf(&line, "line %" PRIu64 ": ", note->line);
    tc_strbuf_adds(&line, note->text);
    if (note->count > 1)
        tc_strbuf_addf(&line, " (%" PRIu64 " times)", note->count);
    tc_app_say(app, "note: %s", line.text);
    tc_strbuf_release(&line);
}

void notes_say(struct tc_app *app, const struct tc_notes *notes, bool verbose)
{
    size_t n = tc_notes_count(notes);
    size_t shown = verbose || n <= SHOWN ? n : SHOWN;
    for (size_t i = 0; i < shown; i++)
        say_note(app, tc_notes_get(notes, i));
    if (shown < n)
        tc_app_say(app, "note: %zu more of these, shown with -v", n - shown);
}
