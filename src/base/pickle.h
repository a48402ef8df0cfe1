/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.h - Python's pickles of plain data, as JSON
 *
 * Dictionaries whose keys are strings, lists, tuples, strings, numbers, True, False and None. A
 * pickle that names a class or calls anything is refused: nothing of it is ever run.
 */
#ifndef TC_BASE_PICKLE_H
#define TC_BASE_PICKLE_H

#include <stddef.h>

#include "base/json.h"

/*
 * Tuples become arrays; an integer of more than eight bytes is refused. Errors say the byte at
 * which the pickle is not what is read here. The caller owns *out.
 */
enum tc_status tc_pickle_parse(const void *data, size_t size, struct tc_json **out,
                               struct tc_error *err);

#endif /* TC_BASE_PICKLE_H */
