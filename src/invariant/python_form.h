/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_form.h - invariants as the Python TrainCheck writes them; private to read_file.c
 */
#ifndef TC_INVARIANT_PYTHON_FORM_H
#define TC_INVARIANT_PYTHON_FORM_H

#include "invariant/invariant.h"

/* Is the line one, by what it says of its params? */
bool tc_is_python_invariant(const char *line, size_t size);
/* Add the invariant of the line, unless an equal one is there. TC_E_FORMAT names what is wrong. */
enum tc_status tc_python_invariant_read(struct tc_invariant_set *set, const char *line, size_t size,
                                        struct tc_error *err);

#endif /* TC_INVARIANT_PYTHON_FORM_H */
