/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_copied.c - EventContain/copied: what a load gives is not what it writes to
 *
 * A state dict refers to the weights. If it is kept without a copy, as the best so far, it trains
 * on with them, and loading it copies each weight onto itself. State that was taken just now may
 * be loaded, too, without effect: so an optimizer must have stepped since state was last taken.
 *
 * There is an example for each such load that writes to weights.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"

/* Of one process. */
struct progress {
    bool has_trained;         /* since state was taken last */
    bool has_taken;           /* any state */
    struct tc_place taken;    /* where, last */
    size_t n;                 /* weights that the load at hand has written to */
    int64_t copied_to_itself; /* the first of them that was; TC_NONE */
};

static void on_write(struct progress *progress, const struct tc_call *call)
{
    const int64_t serial = tc_serial_of(call->self);
    const struct tc_value *operand;

    if (!tc_value_is(tc_value_get(call->self, "tensor"), "Parameter"))
        return;
    if (!progress->n++)
        progress->copied_to_itself = TC_NONE;
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        if (progress->copied_to_itself == TC_NONE && tc_serial_of(operand) == serial)
            progress->copied_to_itself = serial;
}

static void on_load(const struct tc_hearing *h, struct progress *progress)
{
    const int64_t serial = progress->copied_to_itself;
    const struct tc_variable *copied =
        serial == TC_NONE ? NULL : tc_process_variable(h->event->process, serial);

    if (progress->n && progress->has_taken && progress->has_trained && !h->event->call->raised)
        tc_answer_of(h, serial == TC_NONE,
                     (struct tc_example){.variable = copied, .detail = &progress->taken});
    progress->n = 0;
}

static void copied_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct progress *progress = tc_hearing_state(h);

    if (call->role == TC_ROLE_SAVE) {
        progress->has_taken = true;
        tc_place_of(h->event, &progress->taken);
        progress->has_trained = false;
    } else if (call->role == TC_ROLE_STEP) {
        progress->has_trained = true;
    } else if (call->role == TC_ROLE_FILL && tc_call_is_within(call, TC_ROLE_LOAD)) {
        on_write(progress, call);
    } else if (call->role == TC_ROLE_LOAD && !tc_call_is_within(call->parent, TC_ROLE_LOAD)) {
        on_load(h, progress);
    }
}

const struct tc_relation_rule tc_rule_copied = {
    TC_RULE(tc_rule_copied),
    .form.name = "EventContain/copied",
    .form.summary = "what is loaded after training is a copy that was made before it",
    .form.hint =
        "Is the state dict that was kept a copy (copy.deepcopy), or does it refer to the weights?",
    .form.excused_by =
        1u << TC_ROLE_LOAD | 1u << TC_ROLE_SAVE | 1u << TC_ROLE_FILL | 1u << TC_ROLE_STEP,
    .source.name = "copied",
    .source.judged = "the end of a load after training",
    .source.process_size = sizeof(struct progress),
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_CONTENT, TC_SYM_DISTINCT),
    TC_CLAIM_ATOMS(TC_SYM_PARAMETER, TC_SYM_DISTINCT, TC_SYM_REPEATED),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.min_examples = 1,
    .claim.expected =
        "what is loaded after training is a copy that was made before it, not the weights "
        "themselves",
    .claim.seen = "%v was copied onto itself: a reference to weights that have trained on%b",
    .at = TC_AT(SAVE) | TC_AT(STEP) | TC_AT(FILL) | TC_AT(LOAD) | TC_AT_RAISED,
    .judge = copied_judge,
};
