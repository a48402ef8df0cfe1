/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_contain_parts.c - EventContain/parts: of a checkpoint that a run goes on from, each state
 * is loaded
 *
 * A part is what a checkpoint holds under a name of its own: the model, the optimizer, an
 * average, a normaliser. A part that was a state when the run saved it was forgotten if two
 * others are loaded and no call gets any of its tensors. What it belongs to starts again.
 *
 * There is an example for each such part of a checkpoint, at the second optimizer step after it
 * was read.
 */
#include "relation/one_claim.h"

#include "replay/symbols.h"
#include "trace/member.h"

#define MAX_DEPTH 10
#define MIN_USED  2 /* parts from which on a checkpoint is one to go on from */
#define MIN_STEPS 2

/* One of a checkpoint that was read. */
struct part {
    tc_sym name;
    bool is_used;
};

/* Of one process. */
struct progress {
    struct tc_map states;      /* tensors of states that were taken */
    struct tc_map saved;       /* names of parts that were states when they were saved */
    struct tc_map tensors;     /* tensor of a part → its number */
    TC_VEC(struct part) parts; /* of the checkpoint that was read last */
    struct tc_place place;     /* where it was */
    unsigned n_steps;          /* since then */
};

static void progress_release(void *of_process)
{
    struct progress *progress = of_process;

    tc_map_release(&progress->states);
    tc_map_release(&progress->saved);
    tc_map_release(&progress->tensors);
    tc_vec_release(&progress->parts);
}

/* ---- tensors in a value --------------------------------------------------------------------- */

typedef void tensor_fn(struct progress *progress, uint64_t tensor, size_t part);

static void each_tensor(struct progress *progress, const struct tc_value *v, size_t part,
                        unsigned depth, tensor_fn *visit)
{
    if (!v || !depth)
        return;
    if (tc_is_tensor(v)) {
        visit(progress, (uint64_t)tc_serial_of(v), part);
        return;
    }
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        each_tensor(progress, &v->items[i], part, depth - 1, visit);
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        each_tensor(progress, &v->members[i].value, part, depth - 1, visit);
}

static void take_tensor(struct progress *progress, uint64_t tensor, size_t part)
{
    (void)part;
    tc_map_put(&progress->states, tensor, 1);
}

static void note(struct progress *progress, uint64_t tensor, size_t part)
{
    tc_map_put(&progress->tensors, tensor, part);
}

static void use(struct progress *progress, uint64_t tensor, size_t part)
{
    uint64_t found;

    (void)part;
    if (tc_map_get(&progress->tensors, tensor, &found))
        progress->parts.items[found].is_used = true;
}

/* Is a tensor of the part one of a state? Told in the last place of its list. */
static void look(struct progress *progress, uint64_t tensor, size_t part)
{
    if (tc_map_get(&progress->states, tensor, &(uint64_t){0}))
        progress->parts.items[part].is_used = true;
}

/* ---- what is saved and read ----------------------------------------------------------------- */

/* The parts of a checkpoint: a dict with dicts in it; NULL if it is none. */
static const struct tc_value *dict_of(const struct tc_value *v)
{
    const struct tc_value *dict = tc_value_get(v, "dict");

    return dict && dict->kind == TC_VALUE_OBJECT ? dict : NULL;
}

static void on_write(struct progress *progress, struct tc_strtab *symbols,
                     const struct tc_value *args)
{
    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_value *dict = dict_of(&args->members[i].value);
        for (uint32_t j = 0; dict && j < dict->n; j++) {
            if (!dict_of(&dict->members[j].value))
                continue;
            tc_vec_push(&progress->parts, (struct part){.is_used = false});
            each_tensor(progress, &dict->members[j].value, progress->parts.n - 1, MAX_DEPTH, look);
            if (progress->parts.items[--progress->parts.n].is_used)
                tc_map_put(&progress->saved, tc_symbols_str(symbols, dict->members[j].key), 1);
        }
    }
}

static void forget(struct progress *progress)
{
    progress->parts.n = 0;
    tc_map_clear(&progress->tensors);
}

static void on_read(struct progress *progress, struct tc_strtab *symbols,
                    const struct tc_event *event)
{
    const struct tc_value *dict = dict_of(event->call->end->value);

    if (!dict)
        return;
    forget(progress);
    progress->n_steps = 0;
    tc_place_of(event, &progress->place);
    for (uint32_t i = 0; i < dict->n; i++) {
        const tc_sym name = tc_symbols_str(symbols, dict->members[i].key);
        if (!dict_of(&dict->members[i].value) ||
            !tc_map_get(&progress->saved, name, &(uint64_t){0}))
            continue;
        tc_vec_push(&progress->parts, (struct part){.name = name});
        each_tensor(progress, &dict->members[i].value, progress->parts.n - 1, MAX_DEPTH, note);
    }
}

/* ---- judging -------------------------------------------------------------------------------- */

static void on_step(const struct tc_hearing *h, struct progress *progress)
{
    size_t n_used = 0;

    if (!progress->parts.n || ++progress->n_steps < MIN_STEPS)
        return;
    for (size_t i = 0; i < progress->parts.n; i++)
        n_used += progress->parts.items[i].is_used;
    for (size_t i = 0; n_used >= MIN_USED && i < progress->parts.n; i++) {
        const struct part *part = &progress->parts.items[i];
        tc_answer_of(h, part->is_used,
                     (struct tc_example){.place = &progress->place, .detail = &part->name});
    }
    forget(progress);
}

static void parts_judge(const struct tc_hearing *h)
{
    const struct tc_call *call = h->event->call;
    struct progress *progress = tc_hearing_state(h);

    if (progress->parts.n && (call->role == TC_ROLE_LOAD || call->role == TC_ROLE_FILL))
        each_tensor(progress, call->args, 0, MAX_DEPTH, use);
    if (call->role == TC_ROLE_SAVE) {
        if (!progress->parts.n)
            on_write(progress, h->symbols, call->args);
        each_tensor(progress, call->end->value, 0, MAX_DEPTH, take_tensor);
    } else if (call->role == TC_ROLE_LOAD) {
        on_read(progress, h->symbols, h->event);
    } else if (call->role == TC_ROLE_STEP) {
        on_step(h, progress);
    }
}

const struct tc_relation_rule tc_rule_parts = {
    TC_RULE(tc_rule_parts),
    .form.name = "EventContain/parts",
    .form.summary = "of a checkpoint that a run goes on from, each state is loaded",
    .form.hint = "Is each state that is saved given to load_state_dict, and to the right object?",
    .form.excused_by = 1u << TC_ROLE_FILL,
    .source.name = "parts",
    .source.judged = "the second optimizer step after a load, for each part",
    .source.process_size = sizeof(struct progress),
    .source.release_process = progress_release,
    TC_CLAIM_ROLES(TC_ROLE_SAVE, TC_ROLE_LOAD, TC_ROLE_STEP),
    TC_CLAIM_ATOMS(TC_SYM_KEPT, TC_SYM_TRUE, TC_SYM_FALSE),
    .claim.if_met = true,
    .claim.support = TC_SUPPORT_LAW,
    .claim.expected =
        "of a checkpoint of which two states are loaded, each state that was saved is",
    .claim.seen = "\"%d\" was read, and nothing of it was used",
    .at = TC_AT(SAVE) | TC_AT(STEP) | TC_AT(FILL) | TC_AT(LOAD),
    .judge = parts_judge,
};
