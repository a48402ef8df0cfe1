/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line.c - holes in a line, and their filling
 *
 * A hole covers what stands in the line in case the answer is lost; its filler replaces that text.
 * If all answers have come already the line is filled at once, else it is copied with its holes
 * and waits in the queue. `told` is freed with the hole. One line a thread: between
 * tc_line_begin() and tc_line_end() no other may be begun.
 */
#include "collect/agent/say/line.h"

#include <string.h>

#include "collect/agent/say/queue.h"
#include "collect/agent/say/sink.h"

/* At the end of an item of a list: it stands anyway, or if the answer is yes. */
#define STANDS   '='
#define IS_ASKED '?'

/* Those of the line of one thread. */
struct tc_holes {
    struct tc_questions questions;
    TC_VEC(struct tc_hole) all;
    struct tc_strbuf filled; /* the line without them */
};

static void free_holes(struct tc_holes *holes)
{
    tc_vec_release(&holes->all);
    tc_questions_release(&holes->questions);
    tc_strbuf_release(&holes->filled);
    tc_free(holes);
}

static struct tc_holes *holes_of(struct tc_thread *thread)
{
    if (!thread->holes) {
        thread->holes = tc_calloc(1, sizeof(*thread->holes));
        thread->free_holes = free_holes;
    }
    return thread->holes;
}

static void forget(struct tc_holes *holes)
{
    for (size_t i = 0; i < holes->all.n; i++)
        tc_free(holes->all.items[i].told);
    holes->all.n = 0;
    tc_questions_clear(&holes->questions);
}

struct tc_strbuf *tc_line_begin(struct tc_thread *thread)
{
    if (thread->holes && thread->holes->all.n)
        forget(thread->holes);
    tc_strbuf_reset(&thread->line);
    return &thread->line;
}

void tc_line_add_step(struct tc_thread *thread, struct tc_strbuf *out)
{
    static const char key[] = ",\"step\":";
    static struct tc_strbuf last; /* what was written last, which most calls write again */
    static enum tc_stage stage;
    static int64_t step;

    if (!last.size || step != tc_agent.step || stage != thread->stage) {
        step = tc_agent.step;
        stage = thread->stage;
        tc_strbuf_reset(&last);
        tc_strbuf_adds(&last, key);
        tc_strbuf_add_int(&last, step);
        tc_strbuf_adds(&last, ",\"stage\":\"");
        tc_strbuf_adds(&last, tc_stage_name(stage));
        tc_strbuf_addc(&last, '"');
    }
    thread->step_at = out->size + sizeof(key) - 1;
    tc_strbuf_add(out, last.text, last.size);
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
        if (next[-1] == IS_ASKED && *tc_piece_data(&pieces[n_asked++]))
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

static void fill_holes(struct tc_strbuf *out, const char *line, size_t size,
                       const struct tc_hole *holes, size_t n_holes, const struct tc_piece *pieces)
{
    size_t at = 0;

    for (size_t i = 0; i < n_holes; i++) {
        tc_strbuf_add(out, line + at, holes[i].at - at);
        holes[i].fill(out, &holes[i], line + holes[i].at, pieces + holes[i].first);
        at = holes[i].at + holes[i].size;
    }
    tc_strbuf_add(out, line + at, size - at);
}

/* A line whose answers are still to come. */
struct late_line {
    struct tc_deferred head;
    struct tc_hole *holes;
    struct tc_piece *pieces;
    size_t n_holes, step_at, size;
    char text[];
};

static void run_late_line(struct tc_deferred *self)
{
    static struct tc_strbuf filled; /* the queue's lock is held */
    const struct late_line *l = (const struct late_line *)(void *)self;

    tc_strbuf_reset(&filled);
    fill_holes(&filled, l->text, l->size, l->holes, l->n_holes, l->pieces);
    tc_sink_put_late(filled.text, filled.size, l->step_at);
}

static void free_late_line(struct tc_deferred *self)
{
    struct late_line *l = (struct late_line *)(void *)self;

    for (size_t i = 0; i < l->n_holes; i++)
        tc_free(l->holes[i].told);
    tc_free(l->holes);
    tc_free(l->pieces);
    tc_free(l);
}

static void *copy(const void *items, size_t size)
{
    return size ? memcpy(tc_malloc(size), items, size) : NULL;
}

/* Its holes and what they are told go with it. */
static void put_later(const struct tc_strbuf *line, struct tc_holes *holes, size_t step_at)
{
    const size_t n_pieces = holes->questions.pieces.n;
    const size_t of_holes = holes->all.n * sizeof(struct tc_hole);
    const size_t of_pieces = n_pieces * sizeof(struct tc_piece);
    struct late_line *l = tc_calloc(1, sizeof(*l) + line->size);

    l->head = (struct tc_deferred){.run = run_late_line,
                                   .free = free_late_line,
                                   .size = sizeof(*l) + line->size + of_holes + of_pieces};
    l->holes = copy(holes->all.items, of_holes);
    l->n_holes = holes->all.n;
    l->pieces = copy(holes->questions.pieces.items, of_pieces);
    l->step_at = step_at;
    l->size = line->size;
    memcpy(l->text, line->text, line->size);
    l->head.pieces = l->pieces;
    l->head.n_pieces = n_pieces;
    for (size_t i = 0; i < n_pieces; i++)
        tc_piece_hold(&l->pieces[i]);
    holes->all.n = 0;
    tc_queue_add(&l->head);
}

void tc_line_end(struct tc_thread *thread, size_t step_at)
{
    struct tc_holes *holes = thread->holes;

    if (!holes || !holes->all.n) {
        tc_queue_put(thread->line.text, thread->line.size, step_at);
        return;
    }
    tc_questions_submit(&holes->questions);
    if (tc_queue_is_idle() &&
        tc_pieces_have_come(holes->questions.pieces.items, holes->questions.pieces.n)) {
        tc_strbuf_reset(&holes->filled);
        fill_holes(&holes->filled, thread->line.text, thread->line.size, holes->all.items,
                   holes->all.n, holes->questions.pieces.items);
        tc_sink_put(holes->filled.text, holes->filled.size, step_at);
    } else {
        put_later(&thread->line, holes, step_at);
    }
    forget(holes);
}
