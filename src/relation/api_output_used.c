/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_used.c - APIOutput/used: what a function returns in place of writing is used
 *
 * Some functions look as if they wrote to their tensor, and return another one, as masked_fill()
 * does. Where a line drops the result nothing was masked.
 *
 * An example for each call whose result takes a gradient, after a step in which its line had called
 * it. It holds if a result of the line was an operand of any call so far, and is broken from the
 * third step on in which none was. Of a function of a class, as autograd has them, only where
 * calls have gone on with what it was given: what it returns may be read in ways that no call
 * tells.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_RESULTS 8192

/* The calls of one function at one line. */
struct line {
    int64_t step;     /* of the last one */
    uint64_t n_steps; /* that are over, and had one */
    bool is_used;
    bool goes_on; /* a call was given what the line had been given before */
};

/* Of one process. */
struct results {
    struct tc_map lines; /* (function, line) → struct line * */
    struct tc_map made;  /* serial of a result → the key of its line */
    struct tc_map given; /* serial of what it was given first, the same */
};

static void results_release(void *of_process)
{
    struct results *results = of_process;

    tc_map_release_structs(&results->lines);
    tc_map_release(&results->made);
    tc_map_release(&results->given);
}

static void note_use(struct results *results, const struct tc_value *operand)
{
    uint64_t key;
    struct line *line;

    if (!operand)
        return;
    if (tc_map_get(&results->made, (uint64_t)tc_serial_of(operand), &key) &&
        (line = tc_map_find(&results->lines, key)))
        line->is_used = true;
    if (tc_map_get(&results->given, (uint64_t)tc_serial_of(operand), &key) &&
        (line = tc_map_find(&results->lines, key)))
        line->goes_on = true;
}

/* Of an operand, or of what stands in a list. */
static void note_uses(struct results *results, const struct tc_value *operand)
{
    for (uint32_t i = 0; operand->kind == TC_VALUE_ARRAY && i < operand->n; i++)
        note_use(results, &operand->items[i]);
    if (operand->kind == TC_VALUE_OBJECT)
        note_use(results, operand);
}

static void note_uses_by(struct results *results, const struct tc_call *call)
{
    note_use(results, call->self);
    for (uint32_t i = 0; call->args && i < call->args->n; i++)
        note_uses(results, &call->args->members[i].value);
}

static bool is_of_a_class(const struct tc_call *call)
{
    return call->self && call->self->kind == TC_VALUE_STR;
}

static void on_result(const struct tc_hearing *h, struct results *results)
{
    const struct tc_call *call = h->event->call;
    const uint64_t key = (uint64_t)call->descriptor << 32 | tc_call_at(call);
    struct line *line = tc_map_struct(&results->lines, key, sizeof(*line));

    line->n_steps += line->step && line->step != call->step + 1;
    line->step = call->step + 1;
    tc_map_remember(&results->made, MAX_RESULTS, (uint64_t)tc_serial_of(call->end->value), key);
    if (is_of_a_class(call))
        tc_map_remember(&results->given, MAX_RESULTS, (uint64_t)tc_serial_of(tc_first_tensor(call)),
                        key);
    if (is_of_a_class(call) && !line->is_used && !line->goes_on)
        return;
    if (line->n_steps >= 1 && (line->is_used || line->n_steps >= TC_THIRD_TIME))
        tc_answer(h, line->is_used);
}

static void used_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *value = call->end->value;
    struct results *results = tc_hearing_state(h);

    note_uses_by(results, call);
    if ((call->role == TC_ROLE_OPERATOR || call->role == TC_ROLE_FUNCTION) && !call->is_root &&
        tc_call_at(call) != TC_NO_SYM && tc_n_dimensions(value) > 0 &&
        tc_requires_gradient(value) && tc_serial_of(value) != tc_serial_of(call->self))
        on_result(h, results);
}

const struct tc_relation_rule tc_rule_used = {
    TC_RULE(tc_rule_used),
    .form.name = "APIOutput/used",
    .form.summary = "what a function returns in place of writing is used",
    .form.hint = "Is the result meant to take the place of the tensor?",
    .form.needs_operators = true,
    .source.name = "used",
    .source.judged = "the call of a function that returns a tensor, after a step with such calls",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct results),
    .source.release_process = results_release,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_LEFT),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "what %c returns is used",
    .claim.seen = "no call has used what was returned at this line, in three steps or more",
    .at = TC_AT_CALL | TC_AT_ROOT,
    .judge = used_judge,
};
