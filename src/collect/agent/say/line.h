/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line.h - the line of a record about a call, and the places in it that wait for answers
 *
 * The room say puts what happened into records, and these in their order into the trace by a thread
 * of its own; it may depend on look and torch.
 *
 * A line is written into thread->line. Where something depends on the content of tensors that lie
 * elsewhere a hole is left, and filled when the answers have come: all of a line are asked
 * together.
 */
#ifndef TC_COLLECT_LINE_H
#define TC_COLLECT_LINE_H

#include "collect/agent/look/transfer.h"

struct tc_hole;

/* Append what stands in the hole. text is what was written into it; pieces are those of its
 * questions, in the order in which they were asked. */
typedef void tc_filler(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                       const struct tc_piece *pieces);

struct tc_hole {
    size_t at, size; /* of the line */
    tc_filler *fill;
    void *told;             /* what the filler is told, or NULL; owned */
    size_t first, n_pieces; /* questions */
};

/* The line of the current thread: empty, with its type. */
struct tc_strbuf *tc_line_begin(struct tc_thread *thread);
/* Add "step":n,"stage":"..." and note in the thread where the number stands. */
void tc_line_add_step(struct tc_thread *thread, struct tc_strbuf *out);
/* What is written between the two is text for the filler. told is taken over, and freed. */
void tc_line_open(tc_filler *fill, void *told);
void tc_line_close(void);
/* Within a hole. other: NULL but for SAME. */
void tc_line_ask(enum tc_what what, PyObject *tensor, PyObject *other);
/* Put it into the trace. */
void tc_line_end(struct tc_thread *thread, size_t step_at);

/*
 * A list within a hole, as ,"same":["a","b"]: of items that stand if the answer to a question is
 * yes, and of some that stand anyway. key: as ,"same":[
 */
void tc_line_open_list(const char *key);
/* The item was written at the end of the line. other: NULL, if there is no question. */
void tc_line_end_item(PyObject *tensor, PyObject *other);
void tc_line_close_list(void);

#endif /* TC_COLLECT_LINE_H */
