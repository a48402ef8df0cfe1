/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_apart.c - APIOutput/apart: ranks with rows of their own draw noise of their own
 *
 * Where all ranks have one seed, each adds the same noise to other rows: half of the draws, or
 * more, are lost. Nothing differs but the spread of the gradients.
 *
 * A draw is a call of a line that returns floating point numbers of which the trace has a digest.
 * It counts if a root forward of the same step is given something of its shape: noise for parts of
 * a row that ranks share is drawn for the whole of it. An example for each step of all ranks that
 * drew such for a training, and whose root forwards were given different things. It is broken from
 * the third in a row on in which all have drawn the same.
 */
#include "relation/one_claim.h"
#include "relation/operand.h"
#include "relation/third_time.h"

#include "base/hash.h"
#include "replay/symbols.h"

#define MAX_DRAWS    32
#define MAX_SHAPES   32
#define MIN_ELEMENTS 16 /* fewer may be alike by chance, or be a seed */

/* Of one process, since its last step. */
struct drawing {
    struct draw {
        uint64_t shape, content;
        struct tc_spot spot;
    } draws[MAX_DRAWS];
    uint64_t given[MAX_SHAPES],
        inputs; /* shapes of what root forwards were given, and its content */
    size_t n_draws, n_given;
};

/* What all ranks drew in one step. */
struct step_of_ranks {
    struct tc_told_step told;
    uint64_t draws, inputs; /* of the first rank */
    bool differs, inputs_differ;
};

struct apart_state {
    struct tc_process_states processes; /* struct drawing */
    struct tc_map steps;                /* (restart, step) → struct step_of_ranks * */
    uint64_t n_alike;                   /* steps in a row */
};

static void apart_release(void *state)
{
    tc_map_release_structs(&((struct apart_state *)state)->steps);
}

/* 0: none that could not be alike by chance. */
static uint64_t shape_of(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    return tc_count_elements(shape) >= MIN_ELEMENTS &&
                   tc_is_of_dtype(tc_value_get(tensor, "dtype"), "float")
               ? tc_operand_mix(1, shape)
               : 0;
}

static void on_forward(struct drawing *drawing, const struct tc_call *call)
{
    const struct tc_value *operand;

    for (uint32_t pos = 0; (operand = tc_call_next_tensor(call, &pos));) {
        const uint64_t of[] = {drawing->inputs, tc_content_of(operand)}, shape = shape_of(operand);
        drawing->inputs = tc_hash64(of, sizeof(of), 0);
        if (shape && drawing->n_given < MAX_SHAPES)
            drawing->given[drawing->n_given++] = shape;
    }
}

static void on_call(struct drawing *drawing, const struct tc_event *event)
{
    const struct tc_value *value = event->call->end->value, *from = tc_first_tensor(event->call);
    const uint64_t shape = shape_of(value), content = tc_content_of(value);

    if (!shape || !content || tc_requires_gradient(value) || content == tc_content_of(from) ||
        tc_value_get(event->call->ctx, "grad") || drawing->n_draws >= MAX_DRAWS)
        return;
    drawing->draws[drawing->n_draws++] =
        (struct draw){.shape = shape, .content = content, .spot = tc_spot_of(event)};
}

static bool is_given(const struct drawing *drawing, const struct draw *draw)
{
    for (size_t i = 0; i < drawing->n_given; i++)
        if (drawing->given[i] == draw->shape)
            return true;
    return false;
}

/* All of them in one; NULL: there is none that counts. */
static const struct draw *join(const struct drawing *drawing, uint64_t *joined)
{
    const struct draw *first = NULL;

    *joined = 0;
    for (size_t i = 0; i < drawing->n_draws; i++) {
        const struct draw *draw = &drawing->draws[i];
        const uint64_t of[] = {*joined, draw->spot.at, draw->content};
        if (!is_given(drawing, draw))
            continue;
        *joined = tc_hash64(of, sizeof(of), 0);
        first = first ? first : draw;
    }
    return first;
}

static void judge_ranks(const struct tc_hearing *h, const struct step_of_ranks *step)
{
    struct apart_state *state = h->state;

    if (!step->inputs_differ)
        return;
    state->n_alike = tc_in_a_row(state->n_alike, !step->differs);
    if (step->differs || state->n_alike >= TC_THIRD_TIME)
        tc_answer_of(h, step->differs, (struct tc_example){.place = &step->told.place});
}

/* A step waits until all ranks have told of it. */
static void on_step(const struct tc_hearing *h, const struct drawing *drawing)
{
    struct apart_state *state = h->state;
    uint64_t draws;
    const struct draw *first = join(drawing, &draws);

    if (!first)
        return;
    struct step_of_ranks *step = tc_tell_step(&state->steps, sizeof(*step), h->event, &first->spot);
    if (step->told.n > 1) {
        step->differs |= step->draws != draws;
        step->inputs_differ |= step->inputs != drawing->inputs;
    }
    step->draws = draws;
    step->inputs = drawing->inputs;
    if (step->told.n == (uint64_t)h->event->process->world)
        judge_ranks(h, step);
}

static void apart_judge(const struct tc_hearing *h)
{
    const struct tc_process *process = h->event->process;
    struct drawing *drawing = tc_hearing_state(h);

    if (process->world < 2 || process->rank < 0)
        return;
    if (h->event->call->role == TC_ROLE_STEP) {
        on_step(h, drawing);
        *drawing = (struct drawing){.n_draws = 0};
    } else if (h->event->call->is_root) {
        on_forward(drawing, h->event->call);
    } else {
        on_call(drawing, h->event);
    }
}

const struct tc_relation_rule tc_rule_draws_apart = {
    TC_RULE(tc_rule_draws_apart),
    .form.name = "APIOutput/apart",
    .form.summary = "ranks with rows of their own draw noise of their own",
    .form.hint = "Has each rank a seed of its own, such as the seed plus its rank?",
    .form.needs_content = true,
    .form.needs_operators = true,
    .source.name = "draws_apart",
    .source.judged = "an optimizer step of all ranks that have drawn what a model is given",
    .source.looks_closely = true,
    .source.state_size = sizeof(struct apart_state),
    .source.release = apart_release,
    .source.process_size = sizeof(struct drawing),
    TC_CLAIM_ROLES(TC_ROLE_FORWARD, TC_ROLE_STEP, TC_ROLE_OPERATOR),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_APART_VALUE),
    TC_CLAIM_ATOMS(TC_SYM_DRAWN, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "ranks with rows of their own draw noise of their own",
    .claim.seen = "all ranks drew the same noise for rows of their own, in a third step in a row: "
                  "one seed for all%p",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(OPERATOR) | TC_AT(FUNCTION) | TC_AT(INIT) | TC_AT(DRAW),
    .judge = apart_judge,
};
