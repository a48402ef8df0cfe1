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
    TC_WHAT_STRIPES,   /* 8: the digest of the pieces that stand for large data (digest.h), with the
                          seed of the dtype */
    TC_WHAT_ROWS,      /* 4 of each row (digest.h): the lower half of its digest */
    TC_WHAT_SAMPLE,    /* of the kernel a scale (packed.h); of torch the elements of which one is
                          taken (summary.h) */
    TC_WHAT_FIRST,   /* twice 4, or 8 where elements have 8: the first byte is 0 where all elements
                        are like the first; then that */
    TC_WHAT_SAME,    /* 1: 0 where the bytes are those of another tensor, which has as many */
    TC_WHAT_SUMMARY, /* of the kernel: packed.h; of torch enum tc_summed, 8 each */
    TC_WHAT_RANGE,   /* of the kernel: packed.h; of torch all, as BYTES */
};

/* The numbers of a summary (summary.h) as torch sends them. */
enum tc_summed {
    TC_SUMMED_MIN,
    TC_SUMMED_MAX,
    TC_SUMMED_NEGATIVE,
    TC_SUMMED_ZERO,
    TC_SUMMED_ONE,
    TC_SUMMED_DISTINCT,
    TC_SUMMED_HAS_FIRST, /* these where there are two dimensions or more */
    TC_SUMMED_FIRST,
    TC_SUMMED_HAS_LAST,
    TC_SUMMED_LAST,
};

struct tc_question {
    PyObject *tensor, *other; /* owned; other is NULL but for SAME */
    enum tc_what what;
    uint64_t seed; /* of STRIPES */
};

#endif /* TC_COLLECT_QUESTION_H */
