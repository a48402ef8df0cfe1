/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h - numbers and tensors within what a call is given or returns
 */
#ifndef TC_FACT_WALK_H
#define TC_FACT_WALK_H

#include <traincheck/value.h>

typedef void tc_fact_visitor(void *context, const char *path, const struct tc_value *value);
/* Visit what is neither a list nor a dict: the value, or what it holds, by its path, as "args.x[0]"
 * of what a call is given, path "args". */
void tc_fact_walk(const struct tc_value *value, const char *path, tc_fact_visitor *visit,
                  void *context);

#endif /* TC_FACT_WALK_H */
