/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consequence.h - what follows from a changed setting by its size, and is no broken law
 */
#ifndef TC_CHECK_CONSEQUENCE_H
#define TC_CHECK_CONSEQUENCE_H

#include "check/violation.h"

/* Of these violations, n, those of laws about an amount become settings where a setting that was
 * changed in the same run accounts for the amount. */
void tc_consequences_mark(struct tc_violation *const *violations, size_t n,
                          const struct tc_strtab *symbols);

#endif /* TC_CHECK_CONSEQUENCE_H */
