/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.h - words for descriptors and preconditions
 */
#ifndef TC_INVARIANT_DESCRIBE_H
#define TC_INVARIANT_DESCRIBE_H

#include "invariant/invariant.h"

/* "Optimizer.step()", "clip_grad_norm_()", "the root forward in training mode". */
void tc_describe_call(const struct tc_strtab *symbols, tc_sym name, struct tc_strbuf *out);

/* The same of the name itself. */
void tc_describe_call_name(const char *name, struct tc_strbuf *out);

/* ", after a backward and when lr is not zero", or nothing. */
void tc_describe_when(const struct tc_strtab *symbols, const struct tc_clause *when, size_t n_when,
                      struct tc_strbuf *out);

/* "a, b and c" helper: what stands before item i of n. */
const char *tc_describe_join(size_t i, size_t n);

#endif /* TC_INVARIANT_DESCRIBE_H */
