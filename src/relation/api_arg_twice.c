/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_twice.c - APIArg/twice: labels are shifted by one place, and not again
 *
 * The next word is the label of a place, so the words are shifted by one. Where the script has done
 * that, and a loss that shifts by itself does it again, each place learns the word after the next.
 *
 * A shift is a slice that leaves out the first column alone. What a line makes of one tensor, as by
 * reshape(), has its shifts. An example for each step whose losses had labels that are such words.
 * The shifts of the labels count, less those of what was embedded and less those of the scores.
 * It is broken from the third step on in which each loss had two: heads for several words ahead
 * have one for the next word as well.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_KNOWN 8192

/* Of one process. */
struct shifting {
    struct tc_map shifts;     /* content, or serial → how often it was shifted */
    uint64_t embedded;        /* shifts of what was embedded last */
    uint64_t n_once, n_twice; /* losses of the open step */
    uint64_t n_steps;         /* that had twice alone */
    struct tc_place place;    /* of the last loss of two */
};

static void shifting_release(void *of_process)
{
    tc_map_release(&((struct shifting *)of_process)->shifts);
}

/* Words are known again by their content, scores by themselves. */
static uint64_t key_of(const struct tc_value *tensor)
{
    const uint64_t content = tc_rich_content(tensor);

    return content ? content : (uint64_t)tc_serial_of(tensor);
}

static uint64_t shifts_of(const struct shifting *shifting, const struct tc_value *tensor)
{
    uint64_t n = 0;

    if (tensor)
        tc_map_get(&shifting->shifts, key_of(tensor), &n);
    return n;
}

/* The last column of an index that is one, or several: it begins at the second and goes on. */
static bool is_shift(const struct tc_value *index)
{
    const struct tc_value *last = index, *slice;

    if (index && index->kind == TC_VALUE_ARRAY && index->n)
        last = &index->items[index->n - 1];
    slice = tc_value_get(last, "attrs");
    return slice && tc_value_int(tc_value_get(slice, "start"), 0) == 1 &&
           !tc_value_get(slice, "step");
}

/* Scores have their places in the dimension before the last. */
static bool is_shift_of_scores(const struct tc_value *index)
{
    return index && index->kind == TC_VALUE_ARRAY && index->n == 2 && is_shift(index);
}

static void on_call(struct shifting *shifting, const struct tc_call *call)
{
    const struct tc_value *value = call->end->value, *from = tc_first_tensor(call),
                          *index = tc_value_get(call->args, "index");
    const bool is_scores = tc_is_of_dtype(tc_value_get(from, "dtype"), "float");
    uint64_t n = shifts_of(shifting, from);

    if (!tc_is_tensor(value) || key_of(value) == key_of(from))
        return;
    n += is_scores ? tc_n_dimensions(from) > 2 && is_shift_of_scores(index) : is_shift(index);
    if (n)
        tc_map_remember(&shifting->shifts, MAX_KNOWN, key_of(value), n);
}

static void on_loss(struct shifting *shifting, const struct tc_event *event,
                    const struct tc_value *target)
{
    const uint64_t n = shifts_of(shifting, target),
                   less = shifting->embedded +
                          shifts_of(shifting, tc_value_get(event->call->args, "input"));

    if (!tc_rich_content(target) || !tc_is_loss_value(event->call->end->value) || n < less + 1)
        return;
    if (n >= less + 2)
        tc_place_of(event, &shifting->place);
    *(n >= less + 2 ? &shifting->n_twice : &shifting->n_once) += 1;
}

static void on_step(const struct tc_hearing *h, struct shifting *shifting)
{
    const bool is_once = shifting->n_once, is_met = is_once || shifting->n_twice;

    shifting->n_once = shifting->n_twice = 0;
    if (!is_met)
        return;
    shifting->n_steps = tc_in_a_row(shifting->n_steps, !is_once);
    if (is_once)
        tc_answer(h, true);
    else if (shifting->n_steps >= TC_THIRD_TIME)
        tc_answer_of(h, false, (struct tc_example){.place = &shifting->place});
}

static void twice_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    const struct tc_value *target = tc_value_get(call->args, "target");
    struct shifting *shifting = tc_hearing_state(h);

    if (call->role == TC_ROLE_STEP)
        on_step(h, shifting);
    else if (tc_value_get(call->args, "padding_idx"))
        shifting->embedded = shifts_of(shifting, tc_value_get(call->args, "input"));
    else if (target)
        on_loss(shifting, h->event, target);
    else
        on_call(shifting, call);
}

const struct tc_relation_rule tc_rule_twice = {
    TC_RULE(tc_rule_twice),
    .form.name = "APIArg/twice",
    .form.summary = "labels are shifted by one place, and not again",
    .form.hint = "Does the loss, or the model, shift the labels by itself?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "twice",
    .source.judged = "an optimizer step after losses of labels that lines have shifted",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct shifting),
    .source.release_process = shifting_release,
    TC_CLAIM_ROLES(TC_ROLE_FUNCTION, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_F_TARGET, TC_SYM_IS, TC_SYM_EXACT),
    TC_CLAIM_ATOMS(TC_SYM_F_TARGET, TC_SYM_ONE, TC_SYM_MANY),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "labels that a script shifts by one place are not shifted again",
    .claim.seen = "the labels were shifted by one place, and by another one again, in a third step "
                  "in a row: each place learns the word after the next%p",
    .at = TC_AT(FUNCTION) | TC_AT(OPERATOR) | TC_AT(METHOD) | TC_AT(STEP),
    .judge = twice_judge,
};
