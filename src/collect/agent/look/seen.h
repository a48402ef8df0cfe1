/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen.h - what a look sees of one variable
 */
#ifndef TC_COLLECT_SEEN_H
#define TC_COLLECT_SEEN_H

#include "collect/agent/look/tracked.h"

/*
 * See the tensor as it is now. verify: read the content though its version says that nothing was
 * written. False, perhaps with a Python error set, if it cannot be read at all.
 */
bool tc_seen_take(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s, struct tc_news *news,
                  bool verify);
/* Add to the open look (look.h) what seeing it will ask, where it lies elsewhere. */
void tc_seen_ask(const struct tc_tracked *v, PyObject *tensor, bool verify);
/* Bytes of variables that may be digested in full at one look. */
void tc_seen_set_budget(uint64_t bytes);
/* The next look reads its gradient, whatever its version counter says. */
void tc_seen_distrust_grad(struct tc_tracked *v);
void tc_seen_reset(void);

#endif /* TC_COLLECT_SEEN_H */
