/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_clipped.c - APIOutput/clipped: before the first step a ratio is not clipped
 *
 * The policy's probability of an action is divided by that at the time of the action, and the ratio
 * is clipped around one. Before a step has followed the acting both come from the same weights: the
 * ratio is one, and clipping leaves it as it was. Where it does not, the two are probabilities of
 * different things: a temperature, a mask of actions or a change of the action is in one alone.
 *
 * A ratio is what functions of one tensor make of a difference, of something with a gradient and
 * something without. An example for each clipping of one between bounds below and above one, if the
 * model of the last forward of training had acted, without gradients, since the last step. It is
 * broken from the third on, if the line has left none of these as it was: so a script that learns
 * from older answers again is right. A forward that normalises a batch says other things each time,
 * and nothing is said of it, nor of one that drops as the acting did, nor of a model whose buffers
 * moved while it acted, as running statistics do. One that drops alone makes a ratio of noise.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* What was clipped at one line. */
struct line {
    uint64_t n_cut;
    bool was_whole;
};

/* Of one process. */
struct acting {
    struct tc_map lines;  /* line → struct line * */
    struct tc_map ratios; /* serial of a difference, or of what was made of it → 1 */
    struct tc_map actors; /* roots that answered without gradients since the last step → did
                           * they drop? */
    struct tc_map moved;  /* roots whose buffers have changed since the last step → 1 */
    bool is_fresh;        /* the last forward of training was one of them */
    bool is_drawn;        /* and it normalises by its batch, or both drop */
    int64_t normalised, dropped; /* ids of the last calls that do so */
};

static void acting_release(void *of_process)
{
    struct acting *acting = of_process;

    tc_map_release_structs(&acting->lines);
    tc_map_release(&acting->ratios);
    tc_map_release(&acting->actors);
    tc_map_release(&acting->moved);
}

static bool is_in(const struct tc_map *map, const struct tc_value *object)
{
    uint64_t known;

    return tc_map_get(map, (uint64_t)tc_serial_of(object), &known);
}

static void on_forward(struct acting *acting, const struct tc_call *call)
{
    const bool drops = acting->dropped > call->id;
    uint64_t dropped = 0;

    if (tc_value_get(call->ctx, "grad")) {
        tc_map_get(&acting->actors, (uint64_t)tc_serial_of(call->self), &dropped);
        tc_map_put(&acting->actors, (uint64_t)tc_serial_of(call->self), dropped || drops);
        return;
    }
    acting->is_fresh = tc_map_get(&acting->actors, (uint64_t)tc_serial_of(call->self), &dropped) &&
                       !is_in(&acting->moved, call->self);
    acting->is_drawn = acting->normalised > call->id || (drops && dropped);
}

/* By its mode it makes of the same operand another result each time. */
static void on_drawing(struct acting *acting, const struct tc_call *call)
{
    double p;

    if (!tc_value_number(tc_value_get(call->args, "p"), &p))
        acting->normalised = call->id;
    else if (p > 0)
        acting->dropped = call->id;
}

static bool is_around_one(const struct tc_call *call)
{
    double least, most;

    return tc_value_number(tc_value_get(call->args, "min"), &least) &&
           tc_value_number(tc_value_get(call->args, "max"), &most) && least > 0 && least < 1 &&
           most > 1;
}

/* A difference of what takes a gradient and what takes none, or what is made of one. */
static void note_ratio(struct acting *acting, const struct tc_call *call)
{
    const struct tc_value *first = tc_first_tensor(call),
                          *other = tc_value_get(call->args, "other");
    const bool is_difference = tc_requires_gradient(first) && tc_n_dimensions(other) >= 0 &&
                               !tc_requires_gradient(other) && tc_n_dimensions(first) > 0;

    if (!tc_requires_gradient(call->end->value) ||
        (!is_difference && (tc_n_dimensions(other) >= 0 || !is_in(&acting->ratios, first))))
        return;
    tc_map_remember(&acting->ratios, MAX_KNOWN, (uint64_t)tc_serial_of(call->end->value), 1);
}

static void on_clipping(const struct tc_hearing *h, struct acting *acting)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *same = call->end->same;
    struct line *line;

    if (!same || !acting->is_fresh || acting->is_drawn ||
        !is_in(&acting->ratios, tc_first_tensor(call)) || tc_size_of(call->end->value, 0) < 2)
        return;
    line = tc_map_struct(&acting->lines, tc_call_at(call), sizeof(*line));
    line->was_whole |= same->n > 0;
    line->n_cut += same->n == 0;
    if (line->was_whole || line->n_cut >= TC_THIRD_TIME)
        tc_answer(h, line->was_whole);
}

static void on_change(struct acting *acting, const struct tc_variable *v)
{
    if (v->kind != TC_SYM_PARAMETER && v->root != TC_NONE && v->data != v->first_data)
        tc_map_put(&acting->moved, (uint64_t)v->root, 1);
}

static void clipped_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct acting *acting = tc_hearing_state(h);

    if (h->event->kind == TC_EVENT_CHANGE) {
        on_change(acting, h->event->variable);
    } else if (call->is_root) {
        on_forward(acting, call);
    } else if (call->role == TC_ROLE_STEP) {
        tc_map_clear(&acting->actors);
        tc_map_clear(&acting->moved);
        acting->is_fresh = false;
    } else if (tc_value_is_true(tc_value_get(call->args, "training"))) {
        on_drawing(acting, call);
    } else if (is_around_one(call)) {
        on_clipping(h, acting);
    } else {
        note_ratio(acting, call);
    }
}

const struct tc_relation_rule tc_rule_clipped = {
    TC_RULE(tc_rule_clipped),
    .form.name = "APIOutput/clipped",
    .form.summary = "before the first step a ratio is not clipped",
    .form.hint = "Does the policy that learns see the temperature, the masks and the actions that "
                 "it acted with, and is its dropout off?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "clipped",
    .source.judged = "the clipping of a ratio around one, if a model has acted since the last step",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct acting),
    .source.release_process = acting_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_EQUAL_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_EQUAL, TC_SYM_DIFFERS),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a ratio is within its bounds as long as no step has followed the acting",
    .claim.seen = "the ratio was out of its bounds before any step, for the third time or more: it "
                  "divides probabilities of different things, or one alone has dropout%p",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT_CHANGE,
    .judge = clipped_judge,
};
