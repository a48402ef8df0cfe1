/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.h - the stack of C in a deep recursion
 *
 * From Python 3.11 on calls of Python functions need none, and traced ones do.
 */
#ifndef TC_COLLECT_DEEP_H
#define TC_COLLECT_DEEP_H

#include <stdbool.h>

#define TC_DEEP 1000 /* Python's own limit, until a script raises it */

/* Has this thread used three quarters of its stack? */
bool tc_deep_is_stack_low(void);
/* Say, once, that calls are not traced for that. */
void tc_deep_tell(void);

#endif /* TC_COLLECT_DEEP_H */
