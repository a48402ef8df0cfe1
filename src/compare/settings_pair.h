/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_pair.h - what two runs began with: interpreter, packages, command line, ranks
 */
#ifndef TC_COMPARE_SETTINGS_PAIR_H
#define TC_COMPARE_SETTINGS_PAIR_H

#include "compare/comparison.h"

void tc_settings_compare(struct tc_comparison *comparison, const struct tc_outline *a,
                         const struct tc_outline *b, struct tc_differences *out);

/* TC_E_FORMAT where the two traces hold calls of different kinds. */
enum tc_status tc_settings_comparable(const struct tc_outline *a, const struct tc_outline *b,
                                      struct tc_error *err);

#endif /* TC_COMPARE_SETTINGS_PAIR_H */
