/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew.h - whether nothing may be told by a text that was told before
 */
#ifndef TC_COLLECT_ANEW_H
#define TC_COLLECT_ANEW_H

#include <stdbool.h>

/* TRAINCHECK_TEST_ANEW is set, by a test that compares both ways. */
bool tc_anew_always(void);

#endif /* TC_COLLECT_ANEW_H */
