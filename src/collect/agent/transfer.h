/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - questions to devices, and the one copy in which the answers of a look come
 *
 * device.py of the policy asks them by operators of torch.
 */
#ifndef TC_COLLECT_TRANSFER_H
#define TC_COLLECT_TRANSFER_H

#include "collect/agent/agent.h"

/* What is asked of one tensor, and the bytes of the answer. device.py has the same numbers. */
enum tc_what {
    TC_WHAT_DIGEST,    /* 8: the sum of all bytes (lanes.h) */
    TC_WHAT_MAGNITUDE, /* the largest magnitude, as f32, or f64 of an f64; NaN where there is one */
    TC_WHAT_BOUNDS,    /* two such: the smallest and the largest element; NaN where there is one */
    TC_WHAT_BYTES,     /* all, in logical order */
    TC_WHAT_STRIPES,   /* the pieces of digest.h that stand for large data */
    TC_WHAT_ROWS,      /* the pieces of content.h that stand for each row */
    TC_WHAT_SAMPLE,    /* the elements of which a scale is taken (summary.h) */
    TC_WHAT_FIRST,     /* 8: 1 where all elements have the bits of the first; then that element */
    TC_WHAT_SAME,      /* 1: 1 where the bytes are those of another tensor, which has as many */
};

/* What one device sends: bytes in this process's memory, once they have come. */
struct tc_transfer;

/* Where an answer lies. */
struct tc_piece {
    struct tc_transfer *transfer; /* NULL: there is none */
    size_t at;                    /* a multiple of 8, but for magnitudes */
};

/*
 * Pieces hold nothing by themselves. These need no lock of the interpreter. give_up: what has not
 * come never will, as at the end.
 */
void tc_piece_hold(const struct tc_piece *piece);
void tc_piece_let_go(const struct tc_piece *piece);
void tc_piece_give_up(const struct tc_piece *piece);
/* Has its transfer come, or is there none to come? */
bool tc_piece_has_come(const struct tc_piece *piece);
/* Of one that has come: NULL where there is no answer. */
const unsigned char *tc_piece_data(const struct tc_piece *piece);

/* The same of a transfer, or NULL. */
struct tc_transfer *tc_transfer_hold(struct tc_transfer *transfer);
void tc_transfer_let_go(struct tc_transfer *transfer);
/* With the interpreter's lock, which may be let go of: has it come by now? And wait until it has.
 */
bool tc_transfer_ask(struct tc_transfer *transfer);
void tc_transfer_wait(struct tc_transfer *transfer);

/* Bytes of all that are held. */
size_t tc_transfers_size(void);
/* In a forked child: those of the parent are never asked. */
void tc_transfers_abandon(void);

struct tc_question {
    PyObject *tensor, *other; /* owned; other is NULL but for SAME */
    enum tc_what what;
};

/* Of one look. */
struct tc_questions {
    TC_VEC(struct tc_question) all;
    TC_VEC(struct tc_piece) pieces;         /* once submitted, one of each */
    TC_VEC(struct tc_transfer *) transfers; /* held */
};

/* Returns the number of the question. other: NULL but for SAME. */
size_t tc_questions_add(struct tc_questions *questions, enum tc_what what, PyObject *tensor,
                        PyObject *other);
/* Leaves no Python error. What no device answers has no piece. */
void tc_questions_submit(struct tc_questions *questions);
/* Forget all of them, and what came. */
void tc_questions_clear(struct tc_questions *questions);
/* The memory of what holds none. Needs no lock of the interpreter. */
void tc_questions_release(struct tc_questions *questions);

#endif /* TC_COLLECT_TRANSFER_H */
