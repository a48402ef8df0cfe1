/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_seeded.c - APIArg/seeded: a generator that a training draws from is not seeded again with
 * the same number
 *
 * Crops, noise or an order are drawn by a generator that is given its seed again in each epoch:
 * each epoch draws the same numbers. The seed should have the epoch in it, or be given once.
 *
 * A generator draws for a training if a model is called for training, with gradients, right after
 * it drew. An example for each seed that such a generator is given after it drew for a training
 * that goes on: no optimizer makes its first step next, as in another fold. It is broken from the
 * third on in a row that is the one before it.
 */
#include "relation/one_claim.h"
#include "relation/third_time.h"

#include "replay/symbols.h"

#define MAX_GENERATORS 4096

/* One generator. */
struct generator {
    int64_t seed;
    bool has_drawn;   /* since the last root forward */
    bool has_trained; /* a forward of training followed, since the last seed */
    uint64_t n_steps; /* of the process at the last seed */
    uint64_t n;       /* equal seeds in a row */
    bool is_asked;    /* about the last seed, at the next step */
    struct tc_place place;
};

/* Of one process. */
struct seeding {
    struct tc_map generators; /* serial → struct generator * */
    struct tc_map stepped;    /* optimizers */
    uint64_t n_steps;
};

static void seeding_release(void *of_process)
{
    struct seeding *seeding = of_process;

    tc_map_release_structs(&seeding->generators);
    tc_map_release(&seeding->stepped);
}

static void on_seed(struct seeding *seeding, const struct tc_event *event, int64_t seed)
{
    const uint64_t serial = (uint64_t)tc_serial_of(event->call->self);
    struct generator *generator = tc_map_find(&seeding->generators, serial);

    if (!generator) {
        if (seeding->generators.n >= MAX_GENERATORS)
            return;
        generator = tc_map_struct(&seeding->generators, serial, sizeof(*generator));
        *generator = (struct generator){.seed = seed - 1};
    }
    if (generator->has_trained && seeding->n_steps > generator->n_steps) {
        generator->n = tc_in_a_row(generator->n, generator->seed == seed);
        generator->is_asked = true;
        tc_place_of(event, &generator->place);
    }
    generator->seed = seed;
    generator->has_drawn = generator->has_trained = false;
    generator->n_steps = seeding->n_steps;
}

/* The training goes on, or another one begins. */
static void on_step(const struct tc_hearing *h, struct seeding *seeding)
{
    struct generator *generator;
    bool is_new;

    seeding->n_steps++;
    tc_map_at(&seeding->stepped, (uint64_t)tc_serial_of(h->event->call->self), &is_new);
    for (size_t pos = 0; (generator = tc_map_next(&seeding->generators, &pos));) {
        generator->n = is_new ? 0 : generator->n;
        if (generator->is_asked && !is_new && (!generator->n || generator->n >= TC_THIRD_TIME))
            tc_answer_of(h, !generator->n, (struct tc_example){.place = &generator->place});
        generator->is_asked = false;
    }
}

static void note_draw(struct seeding *seeding, const struct tc_value *object)
{
    struct generator *generator =
        object ? tc_map_find(&seeding->generators, (uint64_t)tc_serial_of(object)) : NULL;

    if (generator)
        generator->has_drawn = true;
}

static void on_forward(struct seeding *seeding, const struct tc_call *call)
{
    const bool is_training = tc_is_training_forward(call);
    struct generator *generator;

    for (size_t pos = 0; (generator = tc_map_next(&seeding->generators, &pos));) {
        generator->has_trained |= generator->has_drawn && is_training;
        generator->has_drawn = false;
    }
}

static void seeded_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct seeding *seeding = tc_hearing_state(h);
    const int64_t seed = tc_value_int(tc_value_get(call->args, "seed"), TC_NONE);

    if (call->is_root)
        on_forward(seeding, call);
    else if (call->role == TC_ROLE_STEP)
        on_step(h, seeding);
    else if (call->role == TC_ROLE_DRAW && seed != TC_NONE && tc_value_get(call->self, "id"))
        on_seed(seeding, h->event, seed);
    else
        note_draw(seeding, tc_value_get(call->args, "generator"));
}

const struct tc_relation_rule tc_rule_seeded = {
    TC_RULE(tc_rule_seeded),
    .form.name = "APIArg/seeded",
    .form.summary = "a generator that a training draws from is not seeded with the same again",
    .form.hint = "Should the seed have the epoch in it, or be given once?",
    .form.needs_operators = true,
    .source.name = "seeded",
    .source.judged = "a seed, given to a generator that has drawn for a training",
    .source.looks_closely = true,
    .source.process_size = sizeof(struct seeding),
    .source.release_process = seeding_release,
    TC_CLAIM_ROLES(TC_ROLE_DRAW, TC_ROLE_FORWARD, TC_ROLE_STEP),
    TC_CLAIM_OF(TC_PARAM_OPERAND, TC_SYM_SEED, TC_SYM_IS, TC_SYM_VARIED),
    TC_CLAIM_ATOMS(TC_SYM_SEED, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_RULE,
    .claim.expected = "a generator that a training draws from is not given the same seed again and "
                      "again",
    .claim.seen = "the generator was given the seed that it had, again and again, and what a "
                  "training draws begins anew each time%p",
    .at = TC_AT_ROOT | TC_AT(STEP) | TC_AT(DRAW) | TC_AT(FUNCTION) | TC_AT(OPERATOR) | TC_AT(INIT),
    .judge = seeded_judge,
};
