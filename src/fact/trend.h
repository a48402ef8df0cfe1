/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trend.h - how a number goes on from call to call, as it is met
 */
#ifndef TC_FACT_TREND_H
#define TC_FACT_TREND_H

#include "fact/facts.h"

/* The numbers in what a call is given, path "args", or returns, "value"; returns what breaks by
 * them. */
tc_fact_lead tc_fact_meet_trends(struct tc_facts *facts, struct tc_fact_watch *watch,
                                 uint32_t subject, const char *path, const struct tc_value *value,
                                 bool is_saved, tc_fact_lead cause);
/* Learning, at the end of a run. */
void tc_fact_say_trends(struct tc_facts *facts, struct tc_fact_watch *watch);

#endif /* TC_FACT_TREND_H */
