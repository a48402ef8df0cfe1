/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.h - the numbers of a dict, and what was told of them last
 *
 * A number is a number, a flag, None, a tuple of these, or a tensor of one
 * element. All else in the dict is passed over.
 *
 * A tensor that lies elsewhere is asked with the others of its look, and what was told changes in
 * the order of the looks (queue.h). So what a look has seen is kept apart from what was told.
 */
#ifndef TC_COLLECT_NUMBERS_H
#define TC_COLLECT_NUMBERS_H

#include <stdatomic.h>

#include "collect/agent/look/transfer.h"

#define TC_MAX_NUMBERS 64 /* of a dict: more are left out */

struct tc_number_seen {
    PyObject *key;   /* interned or not, kept */
    PyObject *value; /* kept where it cannot change without becoming another object or having
                        another version, else NULL */
    int64_t version; /* of value, if it is a tensor */
};

struct tc_numbers {
    TC_VEC(struct tc_number_seen) all;
    size_t next; /* the place that the next key probably has; 0 where the dict begins */
};

/* One that may have become another. */
struct tc_number_said {
    size_t index;                 /* in `all` */
    char *key, *json;             /* as JSON; owned; json is NULL where the number was asked */
    const struct tc_dtype *dtype; /* of the answer */
    size_t question;              /* its number; once submitted, that of its piece */
};

/* Of a look: several dicts may share the questions. */
struct tc_number_news {
    TC_VEC(struct tc_number_said) all;
    TC_VEC(struct tc_piece) pieces; /* held; by tc_numbers_place */
};

/* What was told. Stays where it is; freed by whoever lets go of it last. */
struct tc_numbers_told {
    atomic_uint n_holders;
    bool is_announced; /* the caller's: there is a record */
    char *json[TC_MAX_NUMBERS];
};

/* Add the value to the news, if it is a number and may be another than before. */
void tc_numbers_take(struct tc_numbers *numbers, PyObject *key, PyObject *value,
                     struct tc_questions *questions, struct tc_number_news *news);
/* Once the questions are submitted. What nobody answers is forgotten, and asked once more. */
void tc_numbers_place(struct tc_numbers *numbers, const struct tc_questions *questions,
                      struct tc_number_news *news);
void tc_numbers_release(struct tc_numbers *numbers);

struct tc_numbers_told *tc_numbers_told_new(void);
/* These need no lock of the interpreter. */
struct tc_numbers_told *tc_numbers_told_hold(struct tc_numbers_told *told);
void tc_numbers_told_let_go(struct tc_numbers_told *told);
/* Append those that are not as they were told last, each with a comma before it. */
void tc_numbers_tell(struct tc_strbuf *out, struct tc_numbers_told *told,
                     const struct tc_number_news *news);
void tc_number_news_release(struct tc_number_news *news);

#endif /* TC_COLLECT_NUMBERS_H */
