/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_steady.c - Consistent/steady: a variable is as it was one step before
 *
 * It has to be as the optimizer's steps left it: a variable that is converted after the last of
 * them trains no more. If only optimizers step that never stepped before, another training
 * begins, and the script decides what it begins with.
 */
#include "relation/consistent.h"

#include "replay/symbols.h"

struct moment {
    struct tc_snapshot before, now; /* after the last step of the window before, and of this one */
    unsigned n_gaps;                /* of the process: behind another one lies no step before */
    bool has_before, has_now;
};

/* The optimizers of one process, and how they left its variables. */
struct optimizers {
    struct tc_map stepped; /* id → number of the window of its first step */
    bool goes_on;          /* one of an earlier window stepped in the open one */
    struct tc_map moments; /* variable → struct moment * */
};

static void optimizers_release(void *of_process)
{
    struct optimizers *optimizers = of_process;

    tc_map_release(&optimizers->stepped);
    tc_map_release_structs(&optimizers->moments);
}

/* Content is compared only where nothing should train it. */
static void judge_steady(const struct moment *m, const struct tc_variable *v,
                         struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    const struct tc_snapshot *before = &m->before, *now = &m->now;
    bool is_frozen = !before->requires_grad && !now->requires_grad && v->kind == TC_SYM_PARAMETER;
    struct tc_situation situation;
    tc_sym outcome[3];
    size_t n = 0;

    if (is_frozen && tc_snapshots_compare(before, now))
        outcome[n++] = tc_consistent_agreement(symbols, TC_SYM_DATA, before->data == now->data);
    outcome[n++] = tc_consistent_agreement(symbols, TC_SYM_DTYPE, before->dtype == now->dtype);
    outcome[n++] = tc_consistent_agreement(symbols, TC_SYM_SHAPE, before->shape == now->shape);
    tc_consistent_situation(&situation, v);
    tc_consistent_emit(sink, event, v->kind, &situation, outcome, n, v);
}

static struct moment *moment_of(struct optimizers *optimizers, const struct tc_variable *v)
{
    return tc_map_struct(&optimizers->moments, (uintptr_t)v, sizeof(struct moment));
}

static void on_step(void *state, const struct tc_event *event)
{
    const struct tc_process *process = event->process;
    const int64_t id = tc_serial_of(event->call->self);
    struct optimizers *optimizers = tc_process_state(state, process);
    const struct tc_variable *v;
    bool is_new;

    uint64_t *first = tc_map_at(&optimizers->stepped, (uint64_t)id, &is_new);
    if (is_new)
        *first = process->window.number;
    optimizers->goes_on |= *first != process->window.number;
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        struct moment *m = moment_of(optimizers, v);
        m->now = tc_snapshot_of(v);
        m->has_now = true;
    }
}

static void on_window(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                      const struct tc_sink *sink)
{
    struct optimizers *optimizers = tc_process_state(state, event->process);
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&event->process->variables, &pos));) {
        struct moment *m = moment_of(optimizers, v);
        if (!m->has_now)
            continue;
        if (m->has_before && m->n_gaps != event->process->n_gaps)
            tc_sink_excuse(sink, v->kind, TC_EXCUSE_GAP);
        else if (m->has_before && !optimizers->goes_on)
            tc_sink_excuse(sink, v->kind, TC_EXCUSE_NEW_TRAINING);
        else if (m->has_before)
            judge_steady(m, v, symbols, event, sink);
        *m =
            (struct moment){.before = m->now, .has_before = true, .n_gaps = event->process->n_gaps};
    }
    optimizers->goes_on = false;
}

static void steady_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    if (tc_is_step_window(event))
        on_window(state, symbols, event, sink);
    else if (event->kind == TC_EVENT_CALL && event->call->role == TC_ROLE_STEP &&
             !event->call->raised && !event->process->is_worker)
        on_step(state, event);
}

const struct tc_source tc_source_steady = {.name = "steady",
                                           .judged = "the end of a step window",
                                           .is_set = true,
                                           .process_size = sizeof(struct optimizers),
                                           .release_process = optimizers_release,
                                           .observe = steady_observe};

#define SEEN "%a of %v is another than after the step before"

static const struct tc_claim claims[] = {
    TC_CONSISTENT_CLAIM(TC_SYM_DATA, TC_SUPPORT_LAW,
                        "%a of each %k that requires no gradient stays the same from step to step",
                        SEEN),
    TC_CONSISTENT_CLAIM(TC_SYM_DTYPE, TC_SUPPORT_LAW,
                        "%a of each %k stays the same from step to step", SEEN),
    TC_CONSISTENT_CLAIM(TC_SYM_SHAPE, TC_SUPPORT_LAW,
                        "%a of each %k stays the same from step to step", SEEN),
};

const struct tc_relation tc_consistent_steady = {
    .name = "Consistent/steady",
    .summary =
        "dtype and shape of a variable, and content where it is frozen, stay from step to step",
    .hint = "What writes to this variable besides the optimizer?",
    .source = &tc_source_steady,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
