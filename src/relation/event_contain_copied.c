/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_copied.c - EventContain/copied: what a load gives is not what it writes to
 *
 * A state dict refers to the weights. Kept without a copy, as the best so far, it trains on with
 * them, and a load of it copies each weight onto itself. What was taken just now may be loaded as
 * well, in vain: so an optimizer has stepped since state was taken last.
 *
 * An example for each such load that writes to weights.
 */
#include "relation/claims.h"

#include "replay/symbols.h"

/* Of one process. */
struct progress {
    bool has_trained;         /* since state was taken last */
    bool has_taken;           /* any state */
    size_t n;                 /* weights that the load at hand has written to */
    int64_t copied_to_itself; /* the first of them that was; TC_NONE */
};

static void on_write(struct progress *progress, const struct tc_call *call)
{
    const int64_t serial = tc_value_int(tc_value_get(call->self, "id"), TC_NONE);
    const struct tc_value *operand;

    if (!tc_value_is(tc_value_get(call->self, "tensor"), "Parameter"))
        return;
    if (!progress->n++)
        progress->copied_to_itself = TC_NONE;
    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));)
        if (progress->copied_to_itself == TC_NONE &&
            tc_value_int(tc_value_get(operand, "id"), TC_NONE) == serial)
            progress->copied_to_itself = serial;
}

static void on_load(struct progress *progress, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    const bool is_copy = progress->copied_to_itself == TC_NONE;
    const tc_sym outcome = is_copy ? TC_SYM_DISTINCT : TC_SYM_REPEATED;
    const struct tc_example example = {
        .key = TC_SYM_PARAMETER,
        .situation = &tc_no_situation,
        .outcome = &outcome,
        .n_outcome = 1,
        .variable =
            is_copy ? NULL : tc_process_variable(event->process, progress->copied_to_itself)};

    if (progress->n && progress->has_taken && progress->has_trained && !event->call->raised)
        sink->example(sink->context, event, &example);
    progress->n = 0;
}

static void copied_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (event->kind != TC_EVENT_CALL || event->process->is_worker)
        return;
    struct progress *progress = tc_process_state(state, event->process);
    if (call->role == TC_ROLE_SAVE) {
        progress->has_taken = true;
        progress->has_trained = false;
    } else if (call->role == TC_ROLE_STEP) {
        progress->has_trained = true;
    } else if (call->role == TC_ROLE_FILL && tc_call_is_within(call, TC_ROLE_LOAD)) {
        on_write(progress, call);
    } else if (call->role == TC_ROLE_LOAD && !tc_call_is_within(call->parent, TC_ROLE_LOAD)) {
        on_load(progress, event, sink);
    }
}

const struct tc_source tc_source_copied = {.name = "copied",
                                           .judged = "the end of a load after training",
                                           .is_set = true,
                                           .process_size = sizeof(struct progress),
                                           .observe = copied_observe};

static const struct tc_claim claims[] = {
    {
     .key = {TC_SYM_PARAMETER},
     .kind = TC_SYM_PARAMETER,
     .of = TC_PARAM_VARIABLE,
     .attr = TC_SYM_CONTENT,
     .to = TC_SYM_DISTINCT,
     .held = {TC_SYM_DISTINCT},
     .broken = {TC_SYM_REPEATED},
     .if_met = true,
     .support = TC_SUPPORT_LAW,
     .min_examples = 1,
     .expected = "what is loaded after training is a copy that was made before it, not the "
                    "weights themselves", .seen = "%v was copied onto itself: a reference to weights that have trained on",
     },
};

const struct tc_relation tc_event_contain_copied = {
    .name = "EventContain/copied",
    .summary = "what is loaded after training is a copy that was made before it",
    .hint = "Is the state dict that was kept a copy (copy.deepcopy), or does it refer to the "
            "weights?",
    .source = &tc_source_copied,
    .excused_by = 1u << TC_ROLE_LOAD | 1u << TC_ROLE_SAVE | 1u << TC_ROLE_FILL | 1u << TC_ROLE_STEP,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
