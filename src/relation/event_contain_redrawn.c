/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_redrawn.c - EventContain/redrawn: rows that were written into a weight are not
 * drawn again
 *
 * A vocabulary grows: a new weight takes over the rows of the old one. Where the weight then passes
 * for one that was not initialised, all of it is drawn again, and the rows are lost.
 *
 * A weight has rows if a line has written a tensor of two dimensions or more into a part of it. An
 * example for each such weight: it holds where a model is called, or a step, comes next, and is
 * broken where an initialiser of the whole weight does.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_WEIGHTS  4096
#define MIN_ELEMENTS 16

/* Of one process. */
struct redrawing {
    struct tc_map weights; /* serial → struct tc_place * of the last write to a part of it */
};

static void redrawing_release(void *of_process)
{
    tc_map_release_structs(&((struct redrawing *)of_process)->weights);
}

static void on_rows(struct redrawing *redrawing, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *rows = tc_value_get(call->args, "value");

    struct tc_place *place = tc_map_find(&redrawing->weights, (uint64_t)tc_serial_of(call->self));

    if (place && tc_is_tensor(rows))
        tc_place_of(event, place);
    if (place || !tc_is_tensor(call->self) || tc_n_dimensions(rows) < 2 ||
        tc_value_get(rows, "constant") ||
        tc_count_elements(tc_value_get(rows, "shape")) < MIN_ELEMENTS ||
        tc_count_elements(tc_value_get(rows, "shape")) >=
            tc_count_elements(tc_value_get(call->self, "shape")) ||
        redrawing->weights.n >= MAX_WEIGHTS)
        return;
    tc_place_of(event, tc_map_struct(&redrawing->weights, (uint64_t)tc_serial_of(call->self),
                                     sizeof(struct tc_place)));
}

static void on_init(const struct tc_hearing *h, struct redrawing *redrawing)
{
    const uint64_t serial = (uint64_t)tc_serial_of(tc_first_tensor(h->event->call));
    struct tc_place *place = tc_map_find(&redrawing->weights, serial), init;

    if (!place)
        return;
    tc_place_of(h->event, &init);
    tc_answer_of(h, false, (struct tc_example){.place = place, .detail = &init});
    tc_map_remove(&redrawing->weights, serial);
    tc_free(place);
}

/* What was written is used now. */
static void on_use(const struct tc_hearing *h, struct redrawing *redrawing)
{
    if (redrawing->weights.n)
        tc_answer(h, true);
    tc_map_release_structs(&redrawing->weights);
}

static void redrawn_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct redrawing *redrawing = tc_hearing_state(h);

    if (call->is_root || call->role == TC_ROLE_STEP)
        on_use(h, redrawing);
    else if (call->role == TC_ROLE_OPERATOR)
        on_rows(redrawing, h->event);
    else if (call->role == TC_ROLE_INIT)
        on_init(h, redrawing);
}

const struct tc_relation_rule tc_rule_redrawn = {
    TC_RULE(tc_rule_redrawn),
    .form.name = "EventContain/redrawn",
    .form.summary = "rows that were written into a weight are not drawn again",
    .form.hint = "Is the module marked as initialised, or made before others are initialised?",
    .form.needs_operators = true,
    .source.name = "redrawn",
    .source.judged = "an initialiser of a weight into which rows were written, or its first use",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct redrawing),
    .source.release_process = redrawing_release,
    TC_CLAIM_ROLES(TC_ROLE_OPERATOR, TC_ROLE_INIT),
    TC_CLAIM_OF(TC_PARAM_VARIABLE, TC_SYM_PARAMETER, TC_SYM_DATA, TC_SYM_KEPT),
    TC_CLAIM_ATOMS(TC_SYM_DATA, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "rows that were written into a weight are not drawn again before it is used",
    .claim.seen = "the whole weight was drawn after rows had been written into it, and before it "
                  "was used: they are lost%b",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(INIT),
    .judge = redrawn_judge,
};
