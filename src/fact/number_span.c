/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_span.c - which numbers a call is given in a whole run
 *
 * A number with several values is no fact by them. But a weight that rises step by step, a pointer
 * that goes round: a script that computes its numbers has the same ones in each run of that many
 * calls. The claim has the smallest, the largest and a digest of all.
 */
#include "fact/number_span.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "fact/one_value.h"

/* Of fewer different numbers nothing is said. */
#define MIN_NUMBERS 4

/* Different ones, or fewer. */
static int count_numbers(const struct tc_fact_span *span)
{
    return __builtin_popcountll(span->bits[0]) + __builtin_popcountll(span->bits[1]);
}

static void print_span(const struct tc_fact_span *span, struct tc_strbuf *out)
{
    const uint64_t numbers[] = {span->least, span->most, span->bits[0], span->bits[1]};

    tc_strbuf_addf(out, "\"from %.4g to %.4g in %llu calls (digest %08x)\"", span->low, span->high,
                   (unsigned long long)span->n_calls,
                   (unsigned)tc_hash64(numbers, sizeof(numbers), 0));
}

bool tc_fact_tell_span(const struct tc_fact_slot *slot, struct tc_strbuf *out)
{
    if (count_numbers(&slot->span) < MIN_NUMBERS || slot->span.n_calls < TC_FACT_ENOUGH)
        return false;
    print_span(&slot->span, out);
    return true;
}

/* A run of more or fewer calls has other numbers. */
static enum tc_fact_run spans_otherwise(const struct tc_strtab *symbols,
                                        const struct tc_fact_slot *slot, struct tc_strbuf *out)
{
    const char *expected = tc_strtab_text(symbols, slot->fact.value);
    const char *calls = strstr(expected, " in ");

    if (slot->is_mixed || !calls || slot->span.n_calls != strtoull(calls + 4, NULL, 10))
        return TC_FACT_RUN_UNDECIDED;
    print_span(&slot->span, out);
    return strcmp(out->text, expected) ? TC_FACT_RUN_BROKEN : TC_FACT_RUN_HELD;
}

const struct tc_fact_rule tc_fact_number_span = {
    .propose = tc_fact_propose_one, .holds = tc_fact_holds_one, .of_run = spans_otherwise};
