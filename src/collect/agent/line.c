/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/line.h"

#include <string.h>

#include "base/banned.h"
#include "collect/agent/sink.h"

/* At the end of an item of a list: it stands anyway, or if the answer is yes. */
#define STANDS   '='
#define IS_ASKED '?'

/* Those of the line of one thread. */
struct tc_holes {
    struct tc_questions questions;
    TC_VEC(struct tc_hole) all;
};

static struct tc_holes *holes_of(struct tc_thread *thread)
{
    if (!thread->holes)
        thread->holes = tc_calloc(1, sizeof(*thread->holes));
    return thread->holes;
}

static void forget(struct tc_holes *holes)
{
    for (size_t i = 0; i < holes->all.n; i++)
        tc_free(holes->all.items[i].told);
    holes->all.n = 0;
    tc_questions_clear(&holes->questions);
}

void tc_holes_free(struct tc_holes *holes)
{
    if (!holes)
        return;
    tc_vec_release(&holes->all);
    tc_questions_release(&holes->questions);
    tc_free(holes);
}

struct tc_strbuf *tc_line_begin(struct tc_thread *thread)
{
    if (thread->holes)
        forget(thread->holes);
    tc_strbuf_reset(&thread->line);
    return &thread->line;
}

void tc_line_open(tc_filler *fill, void *told)
{
    struct tc_thread *thread = tc_thread_current();
    struct tc_holes *holes = holes_of(thread);
    const struct tc_hole fresh = {
        .at = thread->line.size, .fill = fill, .told = told, .first = holes->questions.all.n};

    tc_vec_push(&holes->all, fresh);
}

void tc_line_close(void)
{
    struct tc_thread *thread = tc_thread_current();
    struct tc_hole *hole = &thread->holes->all.items[thread->holes->all.n - 1];

    hole->size = thread->line.size - hole->at;
    hole->n_pieces = thread->holes->questions.all.n - hole->first;
}

void tc_line_ask(enum tc_what what, PyObject *tensor, PyObject *other)
{
    tc_questions_add(&tc_thread_current()->holes->questions, what, tensor, other);
}

/* ---- lists ---- */

static void fill_list(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                      const struct tc_piece *pieces)
{
    const char *end = text + hole->size;
    size_t n = 0, n_asked = 0;

    for (size_t i = 0; i < hole->n_pieces; i++)
        if (!tc_piece_data(&pieces[i]))
            return;
    for (const char *at = text, *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (at == text) { /* the key */
            tc_strbuf_add(out, at, (size_t)(next - at));
            continue;
        }
        if (next[-1] == IS_ASKED && !*tc_piece_data(&pieces[n_asked++]))
            continue;
        if (n++)
            tc_strbuf_addc(out, ',');
        tc_strbuf_add(out, at, (size_t)(next - 1 - at));
    }
    tc_strbuf_addc(out, ']');
}

void tc_line_open_list(const char *key)
{
    struct tc_strbuf *out = &tc_thread_current()->line;

    tc_line_open(fill_list, NULL);
    tc_strbuf_adds(out, key);
    tc_strbuf_addc(out, '\n');
}

void tc_line_end_item(PyObject *tensor, PyObject *other)
{
    struct tc_strbuf *out = &tc_thread_current()->line;

    if (other)
        tc_line_ask(TC_WHAT_SAME, tensor, other);
    tc_strbuf_addc(out, other ? IS_ASKED : STANDS);
    tc_strbuf_addc(out, '\n');
}

void tc_line_close_list(void)
{
    tc_line_close();
}

/* ---- the end ---- */

static void fill(struct tc_strbuf *out, const struct tc_strbuf *line, const struct tc_holes *holes)
{
    size_t at = 0;

    for (size_t i = 0; i < holes->all.n; i++) {
        const struct tc_hole *hole = &holes->all.items[i];

        tc_strbuf_add(out, line->text + at, hole->at - at);
        hole->fill(out, hole, line->text + hole->at,
                   holes->questions.pieces.items + hole->first);
        at = hole->at + hole->size;
    }
    tc_strbuf_add(out, line->text + at, line->size - at);
}

void tc_line_end(struct tc_thread *thread, size_t step_at)
{
    static struct tc_strbuf filled;

    if (!thread->holes || !thread->holes->all.n) {
        tc_sink_put(thread->line.text, thread->line.size, step_at);
        return;
    }
    tc_questions_submit(&thread->holes->questions);
    tc_strbuf_reset(&filled);
    fill(&filled, &thread->line, thread->holes);
    tc_sink_put(filled.text, filled.size, step_at);
    forget(thread->holes);
}
