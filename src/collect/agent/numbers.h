/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.h - the numbers of a dict, as they were told last
 *
 * A number is a number, a flag, None, a tuple of these, or a tensor of one
 * element. All else in the dict is passed over.
 */
#ifndef TC_COLLECT_NUMBERS_H
#define TC_COLLECT_NUMBERS_H

#include "collect/agent/agent.h"

struct tc_number_said {
    PyObject *key;   /* interned or not, kept */
    PyObject *value; /* kept where it cannot change without becoming another object or having
                        another version, else NULL */
    int64_t version; /* of value, if it is a tensor */
    char *json;
};

struct tc_numbers {
    TC_VEC(struct tc_number_said) all;
    size_t next; /* the place that the next key probably has; 0 where the dict begins */
};

/* The JSON of the value if it is a number and not the one told last, borrowed; else NULL. */
const char *tc_numbers_take(struct tc_numbers *numbers, PyObject *key, PyObject *value);
void tc_numbers_release(struct tc_numbers *numbers);

#endif /* TC_COLLECT_NUMBERS_H */
