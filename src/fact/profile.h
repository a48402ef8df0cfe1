/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what is known of each call of a script, as a signature
 */
#ifndef TC_FACT_PROFILE_H
#define TC_FACT_PROFILE_H

#include "invariant/invariant.h"

/*
 * One line for each call and context that the facts of the set speak of, by stage and name:
 *
 *     training  linear() in Linear.forward() of Linear(input float32[32,16] from relu(), ...)
 *               -> float32[32,4] with gradient, finite; 2 a step
 */
void tc_fact_profile(const struct tc_strtab *symbols, const struct tc_invariant_set *set,
                     struct tc_strbuf *out);

#endif /* TC_FACT_PROFILE_H */
