/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers.c - what DataLoader workers that live at the same time have in common
 *
 * Two workers of one parent are siblings when their lifetimes overlap, from first to last record;
 * those of the next epoch may well begin alike. As lifetimes only grow while more is read, and of
 * two equal values the later is the repeated one, the examples are the same in whatever order the
 * files of the workers are read.
 */
#include "relation/workers.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

/* An operand with more values than these is data and no seed: it is not followed any longer. */
#define MAX_USES 16384

/* A value, as one worker gave it first. */
struct use {
    const struct tc_process *process;
    struct tc_place place;
    bool is_told;
};

struct value {
    struct operand *operand;
    TC_VEC(struct use) uses;
};

/* One operand of one call, in the workers of one parent. */
struct operand {
    tc_sym key;
    bool is_content;                             /* of arrays; else a seed */
    TC_VEC(const struct tc_process *) processes; /* that made the call */
    TC_VEC(struct value *) values;
    size_t n_uses;
};

/* Values to be looked at again when a worker has lived until then. */
struct waiting {
    int64_t until_ns; /* of the first */
    TC_VEC(struct value *) values;
};

static void drop_values(struct operand *operand)
{
    for (size_t i = 0; i < operand->values.n; i++)
        tc_vec_release(&operand->values.items[i]->uses);
}

void tc_workers_release(struct tc_workers *workers)
{
    struct waiting *waiting;

    for (size_t i = 0; i < workers->operands.n; i++) {
        struct operand *operand = workers->operands.items[i];
        drop_values(operand);
        tc_vec_release(&operand->values);
        tc_vec_release(&operand->processes);
    }
    for (size_t pos = 0; (waiting = tc_map_next(&workers->waiting, &pos));)
        tc_vec_release(&waiting->values);
    tc_vec_release(&workers->operands);
    tc_map_release_structs(&workers->by_operand);
    tc_map_release_structs(&workers->by_value);
    tc_map_release_structs(&workers->waiting);
}

/* ---- lifetimes ----------------------------------------------------------------------------- */

static bool are_siblings(const struct tc_process *a, const struct tc_process *b)
{
    return a != b && tc_process_began(a) <= tc_process_lived_until(b) &&
           tc_process_began(b) <= tc_process_lived_until(a);
}

static bool is_before(const struct use *a, const struct use *b)
{
    if (a->place.unix_ns != b->place.unix_ns)
        return a->place.unix_ns < b->place.unix_ns;
    return strcmp(a->place.file, b->place.file) < 0;
}

/* ---- examples ------------------------------------------------------------------------------ */

static void tell_operand(const struct operand *operand, const struct use *use, bool is_repeated,
                         struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    const tc_sym word = is_repeated ? TC_SYM_REPEATED : TC_SYM_DISTINCT;
    const tc_sym outcome[] = {operand->is_content ? TC_ATOM(symbols, word, TC_SYM_CONTENT) : word};
    struct tc_example example = {.key = operand->key,
                                 .situation = &tc_no_situation,
                                 .outcome = outcome,
                                 .n_outcome = 1,
                                 .place = &use->place,
                                 .detail = &use->process->pid};

    sink->example(sink->context, event, &example);
}

static bool is_repeated(const struct value *value, const struct use *use)
{
    for (size_t i = 0; i < value->uses.n; i++) {
        const struct use *other = &value->uses.items[i];
        if (is_before(other, use) && are_siblings(other->process, use->process))
            return true;
    }
    return false;
}

static void judge_value(struct value *value, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_sink *sink)
{
    for (size_t i = 0; i < value->uses.n; i++) {
        struct use *use = &value->uses.items[i];
        if (use->is_told || !is_repeated(value, use))
            continue;
        use->is_told = true;
        tell_operand(value->operand, use, true, symbols, event, sink);
    }
}

static bool has_sibling(const struct operand *operand, const struct tc_process *process)
{
    for (size_t i = 0; i < operand->processes.n; i++)
        if (are_siblings(operand->processes.items[i], process))
            return true;
    return false;
}

/* All lifetimes are known. */
static void tell_rest(const struct operand *operand, struct tc_strtab *symbols,
                      const struct tc_event *event, const struct tc_sink *sink)
{
    for (size_t i = 0; i < operand->values.n; i++) {
        const struct value *value = operand->values.items[i];
        for (size_t k = 0; k < value->uses.n; k++) {
            const struct use *use = &value->uses.items[k];
            if (!use->is_told && has_sibling(operand, use->process))
                tell_operand(operand, use, is_repeated(value, use), symbols, event, sink);
        }
    }
}

/* ---- what is met --------------------------------------------------------------------------- */

/* Of numbers only seeds are meant to differ: the others are sizes and dimensions. Of contents only
 * those of arrays, which is what a worker draws from: labels and masks of its tensors repeat. */
static uint64_t value_digest(const struct tc_call *call, const struct tc_value *v)
{
    struct tc_str digest = {NULL, 0};

    if (tc_value_get(v, "array"))
        digest = tc_value_str(tc_value_get(v, "digest"));

    if (v->kind == TC_VALUE_INT && call->role == TC_ROLE_SEED)
        return tc_hash64(&v->integer, sizeof(v->integer), 1);
    return digest.text ? tc_hash64(digest.text, digest.size, 2) : 0;
}

static tc_sym operand_key(struct tc_strtab *symbols, const struct tc_call *call, struct tc_str name)
{
    return TC_ATOM(symbols, call->fn, tc_symbols_join(symbols, "args.", name));
}

static struct operand *operand_at(struct tc_workers *workers, const uint64_t scope[2])
{
    struct operand *operand = tc_map_struct(
        &workers->by_operand, tc_hash64(scope, 2 * sizeof(*scope), 0), sizeof(*operand));

    if (operand->key == TC_SYM_EMPTY) { /* new */
        operand->key = (tc_sym)scope[1];
        tc_vec_push(&workers->operands, operand);
    }
    return operand;
}

static struct value *value_at(struct tc_workers *workers, struct operand *operand,
                              const uint64_t scope[3])
{
    struct value *value =
        tc_map_struct(&workers->by_value, tc_hash64(scope, 3 * sizeof(*scope), 0), sizeof(*value));

    if (!value->operand) { /* new */
        value->operand = operand;
        tc_vec_push(&operand->values, value);
    }
    return value;
}

static bool is_used_by(const struct value *value, const struct tc_process *process)
{
    for (size_t i = 0; i < value->uses.n; i++)
        if (value->uses.items[i].process == process)
            return true;
    return false;
}

/* Look again when that process has lived until the other began. */
static void wait_for(struct tc_workers *workers, const struct tc_process *process,
                     const struct tc_process *other, struct value *value)
{
    struct waiting *waiting =
        tc_map_struct(&workers->waiting, (uintptr_t)process, sizeof(*waiting));

    if (!waiting->values.n || tc_process_began(other) < waiting->until_ns)
        waiting->until_ns = tc_process_began(other);
    tc_vec_push(&waiting->values, value);
}

/* Wait for what would make siblings of the process and those that began later, or, if it is new to
 * the value, earlier. */
static void wait_for_siblings(struct tc_workers *workers, struct value *value,
                              const struct tc_process *process, bool is_new)
{
    for (size_t i = 0; i < value->uses.n; i++) {
        const struct tc_process *other = value->uses.items[i].process;
        if (tc_process_began(other) > tc_process_lived_until(process))
            wait_for(workers, process, other, value);
        else if (is_new && tc_process_began(process) > tc_process_lived_until(other))
            wait_for(workers, other, process, value);
    }
}

static void add_process(struct operand *operand, const struct tc_process *process)
{
    for (size_t i = operand->processes.n; i-- > 0;)
        if (operand->processes.items[i] == process)
            return;
    tc_vec_push(&operand->processes, process);
}

static void meet_member(struct tc_workers *workers, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_member *member,
                        const struct tc_sink *sink)
{
    const uint64_t scope[] = {(uint64_t)event->process->parent_pid,
                              operand_key(symbols, event->call, member->key),
                              value_digest(event->call, &member->value)};
    struct use use = {.process = event->process};

    if (!scope[2])
        return;
    struct operand *operand = operand_at(workers, scope);
    if (operand->n_uses > MAX_USES)
        return;
    operand->is_content = member->value.kind != TC_VALUE_INT;
    add_process(operand, event->process);
    struct value *value = value_at(workers, operand, scope);
    if (is_used_by(value, event->process))
        return;
    tc_place_of(event, &use.place);
    tc_vec_push(&value->uses, use);
    if (++operand->n_uses > MAX_USES) {
        drop_values(operand);
        return;
    }
    judge_value(value, symbols, event, sink);
    wait_for_siblings(workers, value, event->process, true);
}

/* This worker has lived on: it may be a sibling of more. */
static void wake(struct tc_workers *workers, struct tc_strtab *symbols,
                 const struct tc_event *event, const struct tc_sink *sink)
{
    struct waiting *waiting = tc_map_find(&workers->waiting, (uintptr_t)event->process);

    if (!waiting || !waiting->values.n ||
        tc_process_lived_until(event->process) < waiting->until_ns)
        return;
    for (size_t i = 0; i < waiting->values.n; i++)
        judge_value(waiting->values.items[i], symbols, event, sink);
    waiting->until_ns = INT64_MAX;
    size_t n = waiting->values.n;
    struct value **values = waiting->values.items;
    waiting->values.items = NULL;
    waiting->values.n = waiting->values.cap = 0;
    for (size_t i = 0; i < n; i++)
        wait_for_siblings(workers, values[i], event->process, false);
    tc_free(values);
}

void tc_workers_observe(struct tc_workers *workers, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    if (event->kind == TC_EVENT_FINISH) {
        for (size_t i = 0; i < workers->operands.n; i++)
            tell_rest(workers->operands.items[i], symbols, event, sink);
        return;
    }
    wake(workers, symbols, event, sink);
    if (!call || call->raised || call->parent || !call->args || call->args->kind != TC_VALUE_OBJECT)
        return;
    for (uint32_t i = 0; i < call->args->n; i++)
        meet_member(workers, symbols, event, &call->args->members[i], sink);
}
