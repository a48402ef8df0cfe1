/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_cut.c - APIArg/cut: what one model says of the work of another reaches that other
 *
 * A discriminator says how real is what a generator has made, and the generator learns from it. Of
 * what was cut off by detach() before, the gradient ends in the discriminator, whose own optimizer
 * clears it: the term counts in the loss and trains nothing.
 *
 * A root forward with gradients is cut where none of its operands takes a gradient, and one was cut
 * off from what another root gave. Its gradients are discarded where they are cleared before a step
 * of their own, while the same backward served a step of that other root. An example for each
 * backward that follows cut forwards alone, held where a step of their own used it. It is broken
 * from the third on of one line of which no step has used any.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_KNOWN 4096

/* One root. */
struct judge {
    int64_t root;           /* its serial */
    int64_t maker;          /* the root whose work it was given, cut off; 0: none */
    bool is_attached;       /* one of its operands took a gradient */
    struct tc_place place;  /* of the cut forward */
    int64_t backward;       /* id of the last one, if it followed cut forwards alone; else 0 */
    int64_t of;             /* whose work that was */
    struct tc_place origin; /* and where */
    int64_t step;           /* id of the last one of its parameters */
};

/* What became of gradients of one line. */
struct line {
    uint64_t n_discarded;
    bool is_used;
};

/* Of one process. */
struct cuts {
    struct tc_map roots; /* serial → struct judge * */
    struct tc_map made;  /* serial of a tensor → the root that gave it */
    struct tc_map cut;   /* serial of a tensor → the root from whose result it was cut off */
    struct tc_map lines; /* line → struct line * */
};

static void cuts_release(void *of_process)
{
    struct cuts *cuts = of_process;

    tc_map_release_structs(&cuts->roots);
    tc_map_release(&cuts->made);
    tc_map_release(&cuts->cut);
    tc_map_release_structs(&cuts->lines);
}

static struct judge *judge_of(struct cuts *cuts, int64_t root)
{
    struct judge *judge = tc_map_struct(&cuts->roots, (uint64_t)root, sizeof(*judge));

    judge->root = root;
    return judge;
}

static void on_forward(struct cuts *cuts, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const int64_t root = tc_serial_of(call->self);
    struct judge *judge = judge_of(cuts, root);
    const struct tc_value *operand;
    uint64_t maker;

    if (tc_value_get(call->ctx, "grad"))
        return;
    tc_map_remember(&cuts->made, MAX_KNOWN, (uint64_t)tc_serial_of(call->end->value),
                    (uint64_t)root);
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));) {
        judge->is_attached |= tc_requires_gradient(operand);
        if (!tc_map_get(&cuts->cut, (uint64_t)tc_serial_of(operand), &maker) ||
            (int64_t)maker == root)
            continue;
        judge->maker = (int64_t)maker;
        tc_place_of(event, &judge->place);
    }
}

/* A line makes of the result of a root what takes no gradient. */
static void on_operator(struct cuts *cuts, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;
    uint64_t root;

    if (tc_requires_gradient(call->self) && tc_n_dimensions(value) > 0 &&
        !tc_requires_gradient(value) && !tc_value_get(call->ctx, "grad") &&
        tc_map_get(&cuts->made, (uint64_t)tc_serial_of(call->self), &root))
        tc_map_remember(&cuts->cut, MAX_KNOWN, (uint64_t)tc_serial_of(value), root);
}

static bool is_trained(const struct tc_process *process, int64_t root)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->root == root && v->kind == TC_SYM_PARAMETER && v->requires_grad)
            return true;
    return false;
}

/* Of each root: were all of its forwards since the backward before cut? */
static void on_backward(struct cuts *cuts, const struct tc_event *event)
{
    struct judge *judge;

    for (size_t pos = 0; (judge = tc_map_next(&cuts->roots, &pos));) {
        if (!judge->maker && !judge->is_attached)
            continue;
        const bool is_cut = !judge->is_attached && is_trained(event->process, judge->root);
        judge->backward = is_cut ? event->call->id : 0;
        judge->of = judge->maker;
        judge->origin = judge->place;
        judge->maker = 0;
        judge->is_attached = false;
    }
}

static void answer(const struct tc_hearing *h, const struct judge *judge, bool is_used)
{
    struct cuts *cuts = tc_hearing_state(h);
    struct line *line = tc_map_struct(&cuts->lines, judge->origin.at, sizeof(*line));

    line->is_used |= is_used;
    line->n_discarded += !is_used;
    if (line->is_used || line->n_discarded >= TC_THIRD_TIME)
        tc_answer_of(h, line->is_used, (struct tc_example){.place = &judge->origin});
}

static void on_step(const struct tc_hearing *h, struct cuts *cuts)
{
    const struct tc_call *call = h->event->call;

    for (size_t i = 0; i < call->n_params; i++) {
        const struct tc_variable *v = tc_process_variable(h->event->process, call->params[i]);
        struct judge *judge = v && v->root != TC_NONE ? judge_of(cuts, v->root) : NULL;
        if (!judge || judge->step == call->id)
            continue;
        judge->step = call->id;
        if (judge->backward)
            answer(h, judge, true);
        judge->backward = 0;
    }
}

static void on_clearing(const struct tc_hearing *h, struct cuts *cuts)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&h->event->process->variables, &pos));) {
        if (v->root == TC_NONE || v->grad_cause != h->event->call->id)
            continue;
        struct judge *judge = judge_of(cuts, v->root);
        if (judge->backward && judge_of(cuts, judge->of)->step > judge->backward)
            answer(h, judge, false);
        judge->backward = 0;
    }
}

static void cut_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct cuts *cuts = tc_hearing_state(h);

    if (call->is_root)
        on_forward(cuts, h->event);
    else if (call->role == TC_ROLE_BACKWARD)
        on_backward(cuts, h->event);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, cuts);
    else if (call->role == TC_ROLE_ZERO_GRAD)
        on_clearing(h, cuts);
    else
        on_operator(cuts, call);
}

const struct tc_relation_rule tc_rule_cut = {
    TC_RULE(tc_rule_cut),
    .form.name = "APIArg/cut",
    .form.summary = "what one model says of the work of another reaches that other",
    .form.hint = "Does detach() belong into the step of the model that judges alone?",
    .form.fault = TC_FAULT_AT_BEGIN,
    .form.needs_operators = true,
    .source.name = "cut",
    .source.judged = "a step that uses gradients of a model which was given what was cut off, or "
                     "the clearing of them",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct cuts),
    .source.release_process = cuts_release,
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_BACKWARD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_INPUT, TC_SYM_IS, TC_SYM_ATTACHED_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_F_INPUT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a model is not asked about what was cut off from another in vain",
    .claim.seen = "the model was given what was cut off from what another had made, and its "
                  "gradients were cleared unused, for the third time or more: neither learns",
    .at = TC_AT_ROOT | TC_AT(BACKWARD) | TC_AT(STEP) | TC_AT(ZERO_GRAD) | TC_AT(OPERATOR),
    .judge = cut_judge,
};
