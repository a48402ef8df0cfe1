/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question.h - what is asked of tensors that lie elsewhere, and how the answers look
 */
#ifndef TC_COLLECT_QUESTION_H
#define TC_COLLECT_QUESTION_H

#include "collect/agent/agent.h"

/* What is asked of one tensor, and the bytes of the answer. device.py has the same numbers. */
enum tc_what {
    TC_WHAT_DIGEST,    /* 8: the sum of all bytes (lanes.h) */
    TC_WHAT_MAGNITUDE, /* the largest magnitude, as f32, or f64 of an f64; NaN where there is one */
    TC_WHAT_FINITE,    /* of the kernel 1: its flags; of torch the smallest and the largest element,
                          as magnitudes are sent, NaN where there is one */
    TC_WHAT_BYTES,     /* all, in logical order */
    TC_WHAT_STRIPES,   /* 8 of each piece that stands for large data (digest.h): its sum */
    TC_WHAT_ROWS,      /* 8 of each piece of each row (see below): its sum */
    TC_WHAT_SAMPLE,    /* the elements of which a scale is taken (summary.h) */
    TC_WHAT_FIRST,     /* 8: the first byte is 0 where all elements are like the first; then that */
    TC_WHAT_SAME,      /* 1: 0 where the bytes are those of another tensor, which has as many */
};

/* Of ROWS: pieces of a row, evenly spaced from its first byte to its last, and the bytes of each.
 */
#define TC_N_PIECES   4
#define TC_PIECE_SIZE ((size_t)256)

struct tc_question {
    PyObject *tensor, *other; /* owned; other is NULL but for SAME */
    enum tc_what what;
};

/* Where piece i of a row of so many bytes begins. */
static inline size_t tc_piece_at(size_t size, size_t i)
{
    return (size - TC_PIECE_SIZE) * i / (TC_N_PIECES - 1);
}

#endif /* TC_COLLECT_QUESTION_H */
