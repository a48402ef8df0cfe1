/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_output_distinct.c - APIOutput/distinct: what is drawn for training is drawn anew
 *
 * An order of the data, or a choice of rows, comes again in a later step while the same optimizer
 * goes on: a generator was seeded again, or a sampler does not know the epoch.
 *
 * A draw is a call without tensors or data that returns a vector of integers: 16 or more, 8 of them
 * distinct, so that they do not come again by chance. The runs learned from show functions that
 * always return the same, as arange(). It is judged at the next step of an optimizer. An optimizer
 * that has not stepped before begins another training, which may have the same seed. So does a
 * load, after which the order of an epoch is drawn again to go on within it. What a backward
 * computes again, what evaluations draw, and what is drawn without gradients does not count.
 */
#include "relation/one_claim.h"

#include "base/hash.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* Longer lists are data. */
#define MAX_SIZES 8
/* Draws of one process that are known. */
#define MAX_DRAWS 65536

struct draw {
    tc_sym function;
    uint64_t key; /* in `known` */
    bool is_repeated;
    struct tc_place place;
};

/* Of one process. */
struct draws {
    struct tc_map known; /* (function, content) → number of steps when it was drawn, from 1 on */
    struct tc_map stepped;       /* optimizers, by serial */
    TC_VEC(struct draw) pending; /* since the last step */
    uint64_t n_steps;
};

static void draws_release(void *of_process)
{
    struct draws *draws = of_process;

    tc_map_release(&draws->known);
    tc_map_release(&draws->stepped);
    tc_vec_release(&draws->pending);
}

/* ---- what a draw is ------------------------------------------------------------------------- */

/* A number, a generator, a size: nothing that has elements of its own. */
static bool is_no_data(const struct tc_value *v)
{
    if (v->kind == TC_VALUE_ARRAY) {
        bool is_size = v->n <= MAX_SIZES;
        for (uint32_t i = 0; is_size && i < v->n; i++)
            is_size = v->items[i].kind == TC_VALUE_INT;
        return is_size;
    }
    return !tc_is_tensor(v) && !tc_value_get(v, "array") && !tc_value_get(v, "dict");
}

static bool is_of_numbers(const struct tc_value *args)
{
    bool is_so = true;

    for (uint32_t i = 0; is_so && args && args->kind == TC_VALUE_OBJECT && i < args->n; i++)
        is_so = is_no_data(&args->members[i].value);
    return is_so;
}

/* The digest of what was drawn; no text where the call is no draw. */
static struct tc_str digest_of(const struct tc_call *call)
{
    const struct tc_value *value = call->end->value;

    if (call->self || (call->stage != TC_SYM_TRAINING && call->stage != TC_SYM_INIT) ||
        tc_value_get(call->ctx, "grad") || !tc_is_tensor(value) || tc_n_dimensions(value) > 1 ||
        !is_of_numbers(call->args) || !tc_is_rich(value) ||
        tc_call_is_within(call, TC_ROLE_BACKWARD))
        return (struct tc_str){0};
    return tc_value_str(tc_value_get(value, "digest"));
}

/* ---- events --------------------------------------------------------------------------------- */

static void forget(struct draws *draws)
{
    tc_map_clear(&draws->known);
    draws->pending.n = 0;
}

/* What was drawn for this step is the first of another training. */
static void begin_anew(struct draws *draws)
{
    tc_map_clear(&draws->known);
    for (size_t i = 0; i < draws->pending.n; i++) {
        struct draw *draw = &draws->pending.items[i];
        tc_map_put(&draws->known, draw->key, draws->n_steps + 1);
        draw->is_repeated = false;
    }
}

static void on_draw(struct draws *draws, const struct tc_event *event, struct tc_str digest)
{
    const tc_sym function = event->call->descriptor;
    struct draw draw = {.function = function, .key = tc_hash64(digest.text, digest.size, function)};
    bool is_new;

    if (draws->known.n >= MAX_DRAWS)
        forget(draws);
    uint64_t *when = tc_map_at(&draws->known, draw.key, &is_new);
    if (is_new)
        *when = draws->n_steps + 1;
    draw.is_repeated = *when != draws->n_steps + 1;
    tc_place_of(event, &draw.place);
    tc_vec_push(&draws->pending, draw);
}

static void on_step(const struct tc_hearing *h, struct draws *draws)
{
    bool is_new;

    tc_map_at(&draws->stepped, (uint64_t)tc_serial_of(h->event->call->self), &is_new);
    if (is_new)
        begin_anew(draws);
    for (size_t i = 0; i < draws->pending.n; i++) {
        const struct draw *draw = &draws->pending.items[i];
        tc_answer_of(h, !draw->is_repeated,
                     (struct tc_example){.key = draw->function, .place = &draw->place});
    }
    draws->pending.n = 0;
    draws->n_steps++;
}

static void drawn_judge(const struct tc_hearing *h)
{
    struct draws *draws = tc_hearing_state(h);
    struct tc_str digest;

    if (h->event->call->role == TC_ROLE_STEP)
        on_step(h, draws);
    else if (h->event->call->role == TC_ROLE_LOAD)
        forget(draws);
    else if ((digest = digest_of(h->event->call)).text)
        on_draw(draws, h->event, digest);
}

const struct tc_relation_rule tc_rule_drawn = {
    TC_RULE(tc_rule_drawn),
    .form.name = "APIOutput/distinct",
    .form.summary = "what is drawn for a training is drawn anew",
    .form.hint =
        "Is a generator seeded in each epoch, or a sampler not told the epoch (set_epoch)?",
    .form.excused_by = 1u << TC_ROLE_LOAD | 1u << TC_ROLE_STEP,
    .form.needs_content = true,
    .source.name = "draws",
    .source.judged = "the return of a call that draws integers",
    .source.process_size = sizeof(struct draws),
    .source.release_process = draws_release,
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_VALUE, TC_SYM_IS, TC_SYM_DISTINCT_VALUE),
    TC_CLAIM_ATOMS(TC_BLANK_CALL, TC_SYM_DISTINCT, TC_SYM_REPEATED),
    .claim.calls = {TC_BLANK_CALL},
    .claim.support = TC_SUPPORT_USAGE,
    .claim.expected = "what %c draws for a training is drawn anew",
    .claim.seen = "%c returned what it had returned for a step before, in the same order",
    .at = TC_AT(STEP) | TC_AT(LOAD) | TC_AT(FUNCTION),
    .judge = drawn_judge,
};
