/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_ahead.c - APIArg/ahead: a model that learns the next word does not look ahead
 *
 * A script cuts one tensor twice: `x[:, :-1]` is the input of the model, `x[:, 1:]` its target.
 * Attention without a mask then sees at each place the word that it should predict. The loss
 * falls to nothing, and the model has learned nothing that it can use to generate.
 *
 * There is an example for each loss whose labels are all but the first of each row, of a root
 * forward that embedded all but the last of the same rows. It is broken from the third on, if
 * that forward had attention over these places and none of it was causal or had a mask. A model
 * without attention has no example.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_CUTS 4096

/* Of one process. */
struct cuts {
    struct tc_map without_last;  /* digest of what was cut → that of the whole */
    struct tc_map without_first; /* the same */
    int64_t root;                /* id of the last root forward that embedded a cut, from 1 on */
    uint64_t whole;              /* of which */
    int64_t columns;
    bool has_attention, is_masked;
    uint64_t n_ahead;
};

static void cuts_release(void *of_process)
{
    struct cuts *cuts = of_process;

    tc_map_release(&cuts->without_last);
    tc_map_release(&cuts->without_first);
}

static int64_t bound(const struct tc_value *slice, const char *which, int64_t absent)
{
    return tc_value_int(tc_value_get(tc_value_get(slice, "attrs"), which), absent);
}

static void note_cut(struct tc_map *cuts, uint64_t cut, uint64_t whole)
{
    if (cuts->n >= MAX_CUTS)
        tc_map_clear(cuts);
    if (cut && whole)
        tc_map_put(cuts, cut, whole);
}

/* `[:, :-1]` or `[:, 1:]`, of a matrix. */
static void on_index(struct cuts *cuts, const struct tc_call *call)
{
    const struct tc_value *index = tc_value_get(call->args, "index"), *columns;

    if (!index || index->kind != TC_VALUE_ARRAY || index->n != 2 ||
        tc_n_dimensions(call->self) != 2)
        return;
    columns = &index->items[1];
    if (!tc_value_is(tc_value_get(columns, "object"), "slice"))
        return;
    const int64_t start = bound(columns, "start", 0), stop = bound(columns, "stop", INT64_MAX);
    if (start == 0 && stop == -1)
        note_cut(&cuts->without_last, tc_rich_content(call->end->value),
                 tc_rich_content(call->self));
    else if (start == 1 && stop == INT64_MAX)
        note_cut(&cuts->without_first, tc_rich_content(call->end->value),
                 tc_rich_content(call->self));
}

static void on_embedding(struct cuts *cuts, const struct tc_call *call)
{
    const struct tc_value *input = tc_value_get(call->args, "input");
    const struct tc_call *root = tc_root_around(call);
    const uint64_t content = tc_rich_content(input);
    uint64_t whole;

    if (!root || !content || !tc_map_get(&cuts->without_last, content, &whole))
        return;
    cuts->root = root->id + 1;
    cuts->whole = whole;
    cuts->columns = tc_size_of(input, 1);
    cuts->has_attention = cuts->is_masked = false;
}

static void on_attention(struct cuts *cuts, const struct tc_call *call)
{
    const struct tc_call *root = tc_root_around(call);
    const struct tc_value *key = tc_value_get(call->args, "key"),
                          *mask = tc_value_get(call->args, "attn_mask"),
                          *flag = tc_value_get(call->args, "is_causal");
    const int64_t n = tc_n_dimensions(key);

    if (!root || cuts->root != root->id + 1 || n < 3 ||
        tc_size_of(key, n == 4 ? 2 : 0) != cuts->columns)
        return;
    cuts->has_attention = true;
    cuts->is_masked |= (mask && mask->kind != TC_VALUE_NULL) || tc_value_is_true(flag);
}

static void on_loss(const struct tc_hearing *h, struct cuts *cuts)
{
    const struct tc_call *call = h->event->call;
    const uint64_t content = tc_rich_content(tc_value_get(call->args, "target"));
    uint64_t whole;

    if (!content || !cuts->has_attention || !tc_is_loss_value(call->end->value) ||
        !tc_map_get(&cuts->without_first, content, &whole) || whole != cuts->whole)
        return;
    cuts->n_ahead += !cuts->is_masked;
    if (cuts->is_masked || cuts->n_ahead >= TC_THIRD_TIME)
        tc_answer(h, cuts->is_masked);
}

static void ahead_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct cuts *cuts = tc_hearing_state(h);

    if (call->role == TC_ROLE_OPERATOR)
        on_index(cuts, call);
    else if (tc_value_get(call->args, "attn_mask"))
        on_attention(cuts, call);
    else if (tc_value_get(call->args, "padding_idx"))
        on_embedding(cuts, call);
    else
        on_loss(h, cuts);
}

const struct tc_relation_rule tc_rule_ahead = {
    TC_RULE(tc_rule_ahead),
    .form.name = "APIArg/ahead",
    .form.summary = "a model that learns the next word does not look ahead",
    .form.hint = "Is attention causal, or is the mask handed on to it?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "ahead",
    .source.judged = "the return of a loss of the next words",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct cuts),
    .source.release_process = cuts_release,
    TC_CLAIM_ROLES(TC_ROLE_FUNCTION, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_ATTENTION, TC_SYM_IS, TC_SYM_NEXT),
    TC_CLAIM_ATOMS(TC_SYM_ATTENTION, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a model that learns the next word has causal attention, or a mask",
    .claim.seen = "the labels are the next words of what the model was given, and its attention "
                  "sees them: it is not causal and has no mask",
    .at = TC_AT(FUNCTION) | TC_AT(OPERATOR),
    .judge = ahead_judge,
};
