/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside.h - which differences count, and why the others do not
 */
#ifndef TC_COMPARE_SET_ASIDE_H
#define TC_COMPARE_SET_ASIDE_H

#include "compare/comparison.h"

/* Fill `edited` and `aside` of each difference, and count those that are not set aside. */
void tc_set_aside(struct tc_comparison *comparison);

#endif /* TC_COMPARE_SET_ASIDE_H */
