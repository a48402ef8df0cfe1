/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_ratio.c - APIOutput/ratio: a ratio to the policy that acted is not always one
 *
 * The policy's probability of an action is divided by that at the time of the action, exp(new -
 * old). In the first step both are the same, and the ratio is one. When the same batch comes
 * again the policy has learned. A ratio of one there means that the old answer was computed
 * again, and nothing is ever clipped.
 *
 * There is an example for each line that makes ones of zeros which take a gradient, at each batch
 * that its model already had in an earlier step. It is broken from the third on, if the line has
 * never made anything else. A script that learns from each batch once is right.
 *
 * So it is where a copy acts that has other weights than the model that learns has by then: the
 * model was drawn from never, and the copy, with matrices of the same names, last.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "base/hash.h"
#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_BATCHES 65536

/* What a function has made at one line. */
struct ratio {
    uint64_t n_again; /* results, of batches that came again */
    bool has_varied;
};

/* Of one process. */
struct ratios {
    struct tc_map lines;   /* (function, line) → struct ratio * */
    struct tc_map batches; /* content → the first step that had it, from 1 on */
    struct tc_map draws;   /* function → does it draw? */
    bool is_again;         /* the last batch of training had come in an earlier step */
    int64_t asked, acted;  /* the root that was called last; from which was drawn last; 0: none */
    int64_t learns;        /* the root of the last batch of training; 0: none */
    bool acts_itself;      /* was drawn from a model that learns */
    int64_t judged;        /* step in which the copy was compared, from 1 on */
    bool is_older;         /* it has other weights */
};

static void ratios_release(void *of_process)
{
    struct ratios *ratios = of_process;

    tc_map_release_structs(&ratios->lines);
    tc_map_release(&ratios->batches);
    tc_map_release(&ratios->draws);
}

/* Of all that a forward is given; 0 where none of it has enough to be known by. Prompts come again,
 * with other answers. */
static uint64_t batch_of(const struct tc_call *forward)
{
    const struct tc_value *operand;
    uint64_t batch = 0;
    bool is_known = false;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(forward, &pos));) {
        const struct tc_str digest = tc_value_str(tc_value_get(operand, "digest"));
        if (digest.text)
            batch = tc_hash64(digest.text, digest.size, batch);
        is_known |= digest.text &&
                    tc_count_elements(tc_value_get(operand, "shape")) >= TC_MIN_ELEMENTS &&
                    !tc_value_get(operand, "constant") &&
                    (!tc_value_get(operand, "summary") || tc_is_rich(operand));
    }
    return is_known ? batch : 0;
}

static void on_forward(struct ratios *ratios, const struct tc_call *forward)
{
    const uint64_t batch = batch_of(forward), now = (uint64_t)forward->step + 1;
    bool is_new;

    if (ratios->batches.n >= MAX_BATCHES)
        tc_map_clear(&ratios->batches);
    ratios->is_again = false;
    if (!batch)
        return;
    uint64_t *first = tc_map_at(&ratios->batches, batch, &is_new);
    *first = is_new ? now : *first;
    ratios->is_again = *first < now;
}

/* The names of the matrices of a model, and what they hold. */
struct content {
    uint64_t names, data;
};

static struct content content_of(const struct tc_hearing *h, int64_t root)
{
    const struct tc_variable *v;
    struct content content = {0};

    for (size_t pos = 0; (v = tc_map_next(&h->event->process->variables, &pos));) {
        if (v->root != root || !tc_is_told_matrix(v))
            continue;
        content.names += tc_content_in_model(h->symbols, v, v->shape);
        content.data += tc_content_in_model(h->symbols, v, v->data);
    }
    return content;
}

/* Has a copy acted, which is older than the model that learns? */
static bool is_of_an_older_one(const struct tc_hearing *h, struct ratios *ratios)
{
    const int64_t now = h->event->call->step + 1;

    if (!ratios->acted || !ratios->learns || ratios->acts_itself)
        return false;
    if (ratios->judged != now) {
        const struct content learns = content_of(h, ratios->learns),
                             acted = content_of(h, ratios->acted);
        ratios->is_older = learns.names && learns.names == acted.names && learns.data != acted.data;
        ratios->judged = now;
    }
    return ratios->is_older;
}

static bool is_constant(const struct tc_value *tensor, double number)
{
    double constant;

    return tc_value_number(tc_value_get(tensor, "constant"), &constant) && constant == number;
}

static void on_function(const struct tc_hearing *h, struct ratios *ratios)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value, *operand = tc_first_tensor(call);
    const bool is_one = is_constant(operand, 0) && is_constant(value, 1);
    const uint64_t line = (uint64_t)call->descriptor << 32 | tc_call_at(call);
    struct ratio *ratio;
    uint64_t known;

    if (!tc_requires_gradient(operand) || !tc_requires_gradient(value) ||
        (!is_one && !tc_map_get(&ratios->lines, line, &known)))
        return;
    ratio = tc_map_struct(&ratios->lines, line, sizeof(*ratio));
    ratio->has_varied |= !is_one;
    const bool is_again = ratios->is_again || is_of_an_older_one(h, ratios);
    ratio->n_again += is_again;
    if (is_again && (ratio->has_varied || ratio->n_again >= TC_THIRD_TIME))
        tc_answer(h, ratio->has_varied);
}

/* Known by its name, which is looked at once. */
static bool is_draw(const struct tc_hearing *h, struct ratios *ratios)
{
    bool is_new;
    uint64_t *known = tc_map_at(&ratios->draws, h->event->call->descriptor, &is_new);

    if (is_new)
        *known = tc_is_draw(h->symbols, h->event->call);
    return *known;
}

static void on_draw(struct ratios *ratios)
{
    ratios->acted = ratios->asked;
    ratios->acts_itself |= ratios->asked == ratios->learns;
}

static void ratio_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value;
    struct ratios *ratios = tc_hearing_state(h);

    if (call->is_root)
        ratios->asked = tc_serial_of(call->self);
    if (tc_is_training_forward(call)) {
        if (!tc_is_tensor(value) || tc_requires_gradient(value))
            ratios->learns = tc_serial_of(call->self);
        on_forward(ratios, call);
    } else if (!call->is_root) {
        if (ratios->asked != ratios->acted && is_draw(h, ratios))
            on_draw(ratios);
        on_function(h, ratios);
    }
}

const struct tc_relation_rule tc_rule_ratio = {
    TC_RULE(tc_rule_ratio),
    .form.name = "APIOutput/ratio",
    .form.summary = "a ratio to the policy that acted is not always one",
    .form.hint = "Is what the old policy said computed once, before the first step of its batch?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "ratio",
    .source.judged = "a function of zeros that makes ones, of a batch that comes again",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct ratios),
    .source.release_process = ratios_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_VARIED),
    TC_CLAIM_ATOMS(TC_SYM_VALUE, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a ratio is not one in each step of a batch that is learned from again",
    .claim.seen = "the ratio was one throughout, of a batch that was learned from before: what it "
                  "is divided by was computed anew",
    .at = TC_AT_ROOT | TC_AT(OPERATOR) | TC_AT(FUNCTION),
    .judge = ratio_judge,
};
