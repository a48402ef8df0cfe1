/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_summed.c - APIOutput/summed: a loss to which a term is added is the one that is
 * propagated; a term that is weighed in it takes a gradient
 *
 * A script makes the sum of its loss and of another term, and propagates the loss alone: the sum
 * is logged, or returned beside it, and the term trains nothing.
 *
 * By values: a sum is a number of one element that a line makes of two others, all of which take
 * gradients and were made since the last step. What is propagated is the number that a backward is
 * called of, with all that it was made of. A sum is left at a step if one of its two numbers was
 * propagated, and neither the other one nor the sum. An example at the end of the run for each line
 * at which ten sums were left, or propagated. It is broken where none was ever propagated, nor a
 * number that one had left: another backward, or a phase of training, may still come to it.
 *
 * Or one of the two was computed from what has no graph, as values that were stored when a policy
 * acted. It counts if a weight has multiplied it: what makes a loss the right number, as the
 * entropy of a teacher, is added as it is. An example at the end of the run for each line at which
 * ten such sums were propagated, or ten of terms that take a gradient. It is broken where none of
 * its terms has ever taken one, and they differ.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_NUMBERS 4096
#define MAX_SUMS    64
#define MAX_DEPTH   32

/* What a number of one element was made of; 0: of nothing more. */
struct number {
    int64_t a, b;
    bool is_propagated;
};

struct sum {
    int64_t value, a, b; /* b 0: a term without a graph */
    double term;
    uint64_t at; /* its line, and how many of the line it is made of */
};

/* Of one line. */
struct line {
    uint64_t n_left, n_propagated;
    uint64_t n_taught, n_untaught; /* terms of sums that were propagated */
    double least, most;            /* of those without a graph */
    struct tc_place place, term;   /* of the sum; of what made such a term */
};

/* Of one process. */
struct summing {
    struct tc_map numbers; /* serial → struct number *, since the last step */
    struct tc_map left;    /* serial of what a sum had left → its line */
    struct tc_map lines;   /* at of sums → struct line * */
    struct tc_map made;    /* number without a graph → struct tc_spot * of what made it of many */
    struct tc_map weighed; /* the same of those that a weight has multiplied */
    struct sum sums[MAX_SUMS];
    size_t n_sums;
};

static void summing_release(void *of_process)
{
    struct summing *summing = of_process;

    tc_map_release_structs(&summing->numbers);
    tc_map_release(&summing->left);
    tc_map_release_structs(&summing->lines);
    tc_map_release_structs(&summing->made);
    tc_map_release_structs(&summing->weighed);
}

/* ---- looking -------------------------------------------------------------------------------- */

static struct number *number_of(const struct summing *summing, int64_t serial)
{
    return serial ? tc_map_find(&summing->numbers, (uint64_t)serial) : NULL;
}

static int64_t loss_in(const struct tc_value *tensor)
{
    return tc_is_loss_value(tensor) ? tc_serial_of(tensor) : 0;
}

static void keep_spot(struct tc_map *map, const struct tc_value *value, struct tc_spot spot)
{
    if (map->n < MAX_NUMBERS)
        tc_spot_keep(map, value, spot);
}

static const struct tc_spot *spot_of(const struct tc_map *map, const struct tc_value *number)
{
    return number ? tc_map_find(map, (uint64_t)tc_serial_of(number)) : NULL;
}

/* A number without a graph: made of many, or of another one and a weight. */
static void note_term(struct summing *summing, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const struct tc_value *value = call->end->value, *from = tc_first_tensor(call),
                          *other = tc_value_get(call->args, "other");
    const struct tc_spot *spot = spot_of(&summing->weighed, from);
    double weight, before, after;

    if (tc_n_dimensions(value) || tc_requires_gradient(value) ||
        !tc_value_number(tc_value_get(value, "value"), &after))
        return;
    if (tc_n_dimensions(from) > 0)
        keep_spot(&summing->made, value, tc_spot_of(event));
    if (!tc_value_number(tc_value_get(from, "value"), &before) ||
        !tc_value_number(other, &weight) || weight == 0 || weight == 1 || weight == -1 ||
        !tc_is_near(before * weight, after))
        return;
    spot = spot ? spot : spot_of(&summing->made, from);
    keep_spot(&summing->weighed, value, spot ? *spot : tc_spot_of(event));
}

/* A sum of a line: the first of it, or one that another of it is a part of. */
static void keep_sum(struct summing *summing, const struct tc_event *event,
                     const struct tc_spot *spot, struct sum sum)
{
    const tc_sym line = tc_call_at(event->call);
    struct line *of;

    sum.at = line;
    for (size_t i = 0; i < summing->n_sums; i++)
        if (summing->sums[i].value == sum.a && (tc_sym)summing->sums[i].at == line)
            sum.at = summing->sums[i].at + ((uint64_t)1 << 32);
    of = tc_map_struct(&summing->lines, sum.at, sizeof(*of));
    if (!of->place.file)
        tc_place_of(event, &of->place);
    if (spot && !of->term.file) {
        tc_place_of(event, &of->term);
        tc_place_move(&of->term, spot);
    }
    summing->sums[summing->n_sums++] = sum;
}

/* A loss and a term that no gradient comes through. */
static void note_untaught(struct summing *summing, const struct tc_event *event, int64_t loss)
{
    const struct tc_call *call = event->call;
    const struct tc_value *operand = call->self;
    uint32_t pos = 0;
    const struct tc_spot *spot;
    double term;

    do {
        if (tc_is_tensor(operand) && !tc_requires_gradient(operand) &&
            (spot = spot_of(&summing->weighed, operand)) &&
            tc_value_number(tc_value_get(operand, "value"), &term) && number_of(summing, loss)) {
            keep_sum(summing, event, spot,
                     (struct sum){tc_serial_of(call->end->value), loss, 0, term, 0});
            return;
        }
    } while ((operand = tc_call_next_tensor(call, &pos)));
}

static void on_call(struct summing *summing, const struct tc_event *event)
{
    const struct tc_call *call = event->call;
    const int64_t value = loss_in(call->end->value);
    const struct tc_value *operand;
    int64_t of[2] = {0};
    uint32_t pos = 0, n = 0, n_tensors = tc_is_tensor(call->self);

    if (!value)
        note_term(summing, event);
    if (!value || summing->numbers.n >= MAX_NUMBERS)
        return;
    if ((of[n] = loss_in(call->self)))
        n++;
    while ((operand = tc_call_next_tensor(call, &pos)) && ++n_tensors)
        if (n < 2 && (of[n] = loss_in(operand)))
            n++;
    if (of[0] == value || of[1] == value)
        return;
    *(struct number *)tc_map_struct(&summing->numbers, (uint64_t)value, sizeof(struct number)) =
        (struct number){of[0], of[1], false};
    if (n_tensors != 2 || summing->n_sums == MAX_SUMS)
        return;
    if (n == 1)
        note_untaught(summing, event, of[0]);
    if (n < 2 || of[0] == of[1] || !number_of(summing, of[0]) || !number_of(summing, of[1]))
        return;
    keep_sum(summing, event, NULL, (struct sum){value, of[0], of[1], 0, 0});
}

static void propagate(struct summing *summing, int64_t serial, unsigned depth)
{
    struct number *number = number_of(summing, serial);
    struct line *line;
    uint64_t at;

    if (serial && tc_map_get(&summing->left, (uint64_t)serial, &at) &&
        (line = tc_map_find(&summing->lines, at)))
        line->n_propagated++;
    if (!number || number->is_propagated || !depth)
        return;
    number->is_propagated = true;
    propagate(summing, number->a, depth - 1);
    propagate(summing, number->b, depth - 1);
}

static bool is_propagated(const struct summing *summing, int64_t serial)
{
    const struct number *number = number_of(summing, serial);

    return number && number->is_propagated;
}

static void on_untaught(const struct summing *summing, struct line *line, const struct sum *sum)
{
    if (!is_propagated(summing, sum->value))
        return;
    if (!line->n_untaught++)
        line->least = line->most = sum->term;
    line->least = sum->term < line->least ? sum->term : line->least;
    line->most = sum->term > line->most ? sum->term : line->most;
}

static void on_step(struct summing *summing)
{
    for (size_t i = 0; i < summing->n_sums; i++) {
        const struct sum *sum = &summing->sums[i];
        const bool a = is_propagated(summing, sum->a), b = is_propagated(summing, sum->b);
        struct line *line = tc_map_find(&summing->lines, sum->at);
        if (line && !sum->b)
            on_untaught(summing, line, sum);
        if (!line || !sum->b || (!a && !b))
            continue;
        if (is_propagated(summing, sum->value)) {
            line->n_propagated++;
            line->n_taught++;
        } else if (a != b) {
            line->n_left++;
            tc_map_remember(&summing->left, MAX_NUMBERS, (uint64_t)(a ? sum->b : sum->a), sum->at);
        }
    }
    summing->n_sums = 0;
    tc_map_release_structs(&summing->numbers);
    tc_map_release_structs(&summing->made);
    tc_map_release_structs(&summing->weighed);
}

/* ---- judging -------------------------------------------------------------------------------- */

static void tell(const struct tc_place *place, tc_sym key, bool holds, const struct tc_event *event,
                 const struct tc_sink *sink)
{
    const tc_sym outcome = holds ? TC_SYM_TRUE : TC_SYM_FALSE;
    const struct tc_example example = {.key = key,
                                       .situation = &tc_no_situation,
                                       .outcome = &outcome,
                                       .n_outcome = 1,
                                       .place = place};

    sink->example(sink->context, event, &example);
}

static void judge(const struct summing *summing, const struct tc_event *event,
                  const struct tc_sink *sink)
{
    const struct line *line;

    for (size_t pos = 0; (line = tc_map_next(&summing->lines, &pos));) {
        const bool is_left = !line->n_propagated, differs = line->least < line->most;
        if (line->n_propagated + line->n_left >= TC_TENTH_TIME && (is_left || !line->n_left))
            tell(&line->place, TC_SYM_SELF, !is_left, event, sink);
        if (line->n_taught >= TC_TENTH_TIME || (line->n_untaught >= TC_TENTH_TIME && differs))
            tell(line->n_taught ? &line->place : &line->term, TC_SYM_TERM, line->n_taught > 0,
                 event, sink);
    }
}

static void summed_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct tc_process_states *states = state;
    struct summing *summing;

    (void)symbols;
    if (event->kind == TC_EVENT_FINISH)
        for (size_t pos = 0; (summing = tc_map_next(&states->items, &pos));)
            judge(summing, event, sink);
    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised)
        return;
    summing = tc_process_state(state, event->process);
    if (event->call->role == TC_ROLE_BACKWARD)
        propagate(summing, tc_serial_of(event->call->self), MAX_DEPTH);
    else if (event->call->role == TC_ROLE_STEP)
        on_step(summing);
    else if (event->call->role == TC_ROLE_OPERATOR || event->call->role == TC_ROLE_FUNCTION ||
             event->call->role == TC_ROLE_SCALER)
        on_call(summing, event);
}

const struct tc_source tc_source_summed = {.name = "summed",
                                           .judged = "the end of the run, where lines add losses",
                                           .is_set = true,
                                           .looks_closely = true,
                                           .process_size = sizeof(struct summing),
                                           .release_process = summing_release,
                                           .observe = summed_observe};

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_SELF},
     .roles = {TC_ROLE_BACKWARD, TC_ROLE_OPERATOR, TC_ROLE_STEP},
     .n_roles = 3,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_VALUE,
     .attr = TC_SYM_IS,
     .to = TC_SYM_READ,
     .held = {TC_SYM_TRUE},
     .broken = {TC_SYM_FALSE},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "a loss to which a term is added is the one that is propagated",
     .seen = "the sum of a loss and of a term was made in each step, and the loss alone was "
             "propagated: the term trains nothing%p"      },
    {.key = {TC_SYM_TERM},
     .roles = {TC_ROLE_BACKWARD, TC_ROLE_OPERATOR, TC_ROLE_STEP},
     .n_roles = 3,
     .of = TC_PARAM_OPERAND,
     .kind = TC_SYM_TERM,
     .attr = TC_SYM_IS,
     .to = TC_SYM_ATTACHED_VALUE,
     .held = {TC_SYM_TRUE},
     .broken = {TC_SYM_FALSE},
     .if_met = true,
     .support = TC_SUPPORT_RULE,
     .expected = "a term that is weighed in a loss takes a gradient",
     .seen = "a term that a weight multiplies was added to the loss in each step, and was computed "
             "from what has no graph: it trains nothing%p"},
};

const struct tc_relation tc_api_output_summed = {
    .name = "APIOutput/summed",
    .summary = "a loss to which a term is added is the one that is propagated, and the term trains",
    .hint = "Is backward() called of the sum, and is the term computed with gradients?",
    .needs_content = true,
    .needs_operators = true,
    .source = &tc_source_summed,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
