/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_peer.c - Consistent/peer: all variables of one kind in one root module have one dtype
 */
#include "relation/consistent.h"

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

static void peer_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct peers all[MAX_PEERS];
    const struct tc_variable *v;
    size_t n = 0;

    (void)state;
    if (!tc_is_step_window(event))
        return;
    for (size_t pos = 0; (v = tc_map_next(&event->process->variables, &pos));) {
        struct peers *peers =
            v->root == TC_NONE || !is_floating(symbols, v) ? NULL : peers_at(all, &n, v);
        if (!peers || peers->dtype == v->dtype)
            continue;
        peers->differs = true;
        peers->last = v;
    }
    for (size_t i = 0; i < n; i++) {
        tc_sym outcome[] = {tc_consistent_agreement(symbols, TC_SYM_DTYPE, !all[i].differs)};
        tc_consistent_emit(sink, event, all[i].kind, &tc_no_situation, outcome, 1, all[i].last);
    }
}

const struct tc_source tc_source_peer = {
    .name = "peer", .judged = "the end of a step window", .is_set = true, .observe = peer_observe};

/* Norms in a wider type than the rest are a choice. */
static const struct tc_claim claims[] = {
    TC_CONSISTENT_CLAIM(TC_SYM_DTYPE, TC_SUPPORT_COIN, "%a of each %k of a model is the same",
                        "%a of %v differs from that of others in the model"),
};

const struct tc_relation tc_consistent_peer = {
    .name = "Consistent/peer",
    .summary = "variables of one kind in one model share their dtype",
    .hint = "Was a part of the model converted, or created later with another dtype?",
    .source = &tc_source_peer,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
