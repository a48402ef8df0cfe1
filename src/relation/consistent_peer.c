/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_peer.c - Consistent/peer: all variables of one kind in one root module have one dtype
 */
#include "relation/one_claim.h"

#include <string.h>

#include "replay/symbols.h"

/* One kind of variable in one root. */
struct peers {
    int64_t root;
    tc_sym kind, dtype;
    bool differs;
    const struct tc_variable *last;
};

#define MAX_PEERS 64

static struct peers *peers_at(struct peers *all, size_t *n, const struct tc_variable *v)
{
    for (size_t i = 0; i < *n; i++)
        if (all[i].root == v->root && all[i].kind == v->kind)
            return &all[i];
    if (*n == MAX_PEERS)
        return NULL;
    all[*n] = (struct peers){.root = v->root, .kind = v->kind, .dtype = v->dtype, .last = v};
    return &all[(*n)++];
}

/* Counters and masks are what they are. */
static bool is_floating(const struct tc_strtab *symbols, const struct tc_variable *v)
{
    const char *dtype = tc_strtab_text(symbols, v->dtype);

    return strstr(dtype, "float") || strstr(dtype, "complex");
}

/* Norms in a wider type than the rest are a choice. */
static void peer_judge(const struct tc_hearing *h)
{
    struct peers all[MAX_PEERS];
    const struct tc_variable *v;
    size_t n = 0;

    for (size_t pos = 0; (v = tc_map_next(&h->event->process->variables, &pos));) {
        struct peers *peers =
            v->root == TC_NONE || !is_floating(h->symbols, v) ? NULL : peers_at(all, &n, v);
        if (!peers || peers->dtype == v->dtype)
            continue;
        peers->differs = true;
        peers->last = v;
    }
    for (size_t i = 0; i < n; i++)
        tc_answer_of(h, !all[i].differs, (struct tc_example){.variable = all[i].last});
}

const struct tc_relation_rule tc_rule_peer = {
    TC_RULE(tc_rule_peer),
    .form.name = "Consistent/peer",
    .form.summary = "variables of one kind in one model share their dtype",
    .form.hint = "Was a part of the model converted, or created later with another dtype?",
    .source.name = "peer",
    .source.judged = "the end of a step window",
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_BLANK_KIND, TC_SYM_DTYPE, TC_SYM_EQUAL),
    TC_CLAIM_ATOMS(TC_BLANK_KIND, TC_WORDS(TC_SYM_DTYPE, TC_SYM_EQUAL),
                   TC_WORDS(TC_SYM_DTYPE, TC_SYM_DIFFERS)),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_COIN,
    .claim.expected = "%a of each %k of a model is the same",
    .claim.seen = "%a of %v differs from that of others in the model",
    .at = TC_AT_WINDOW,
    .judge = peer_judge,
};
