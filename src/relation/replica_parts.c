/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_parts.c - how the ranks of one step stand to each other: replicas, parts or stages
 *
 * Parallelism by hand leaves no mark on weights. What tells is how they began: stages of a pipeline
 * with other shapes under one name, parts of a whole with other contents where the rest is equal.
 */
#include "relation/replica_parts.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

bool tc_replica_is_trained(const struct tc_replica *replica)
{
    return !replica->variable.is_setting && !replica->is_incomparable && !replica->is_part &&
           !replica->is_own && !replica->is_stage && replica->variable.kind == TC_SYM_PARAMETER &&
           replica->variable.requires_grad;
}

bool tc_replica_is_shared(const struct tc_replica_step *step, const struct tc_replica *replica)
{
    return replica->n_ranks > 1 && (replica->is_part || replica->n_ranks == step->ranks.n);
}

/* Had it another shape on another rank before anything was done to it? Of what all ranks have, the
 * lowest rank is the same, and so is whose roots are recorded. */
static bool began_in_other_shape(const struct tc_replica_step *step,
                                 const struct tc_replica *replica)
{
    return replica->first_shape_differs && replica->variable.kind == TC_SYM_PARAMETER &&
           replica->variable.root != TC_NONE && !replica->is_sharded &&
           tc_replica_is_shared(step, replica);
}

/* All of a model whose ranks hold other stages of it. */
static void find_stages(struct tc_replica_step *step)
{
    struct tc_map roots = TC_MAP_INIT;
    uint64_t ignored;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        if (began_in_other_shape(step, replica))
            tc_map_put(&roots, (uint64_t)replica->variable.root, 1);
    }
    for (size_t i = 0; i < step->variables.n; i++) {
        struct tc_replica *replica = &step->variables.items[i];
        replica->is_stage = !replica->variable.is_setting && tc_replica_is_shared(step, replica) &&
                            tc_map_get(&roots, (uint64_t)replica->variable.root, &ignored);
    }
    tc_map_release(&roots);
}

/* Of "model.head.bias" that of "model.head". */
static uint64_t module_of(const struct tc_strtab *symbols, const struct tc_replica *replica)
{
    const char *name = tc_strtab_text(symbols, replica->variable.name);
    const char *end = strrchr(name, '.');

    return tc_hash64(name, end ? (size_t)(end - name) : 0, 0);
}

/* What began as a constant, in a module that has parts of its own: this may be a part as well. A
 * constant is what two variables of the lowest rank began as. */
static void find_constant_parts(struct tc_replica_step *step, const struct tc_strtab *symbols)
{
    struct tc_map modules = TC_MAP_INIT, contents = TC_MAP_INIT;
    uint64_t n, ignored;
    bool is_new;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        if (replica->is_own)
            tc_map_put(&modules, module_of(symbols, replica), 1);
        if (!replica->variable.is_setting && replica->variable.has_first && !replica->is_part)
            ++*tc_map_at(&contents, replica->variable.first_data, &is_new);
    }
    for (size_t i = 0; modules.n && i < step->variables.n; i++) {
        struct tc_replica *replica = &step->variables.items[i];
        replica->is_own |= tc_replica_is_trained(replica) && replica->data_differs &&
                           !replica->first_differs &&
                           tc_map_get(&contents, replica->variable.first_data, &n) && n > 1 &&
                           tc_map_get(&modules, module_of(symbols, replica), &ignored);
    }
    tc_map_release(&modules);
    tc_map_release(&contents);
}

/* Where nothing that trains began alike, nobody has seen to it that anything does. */
static void find_own(struct tc_replica_step *step, const struct tc_strtab *symbols)
{
    bool has_replicas = false;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        has_replicas |= tc_replica_is_trained(replica) && tc_replica_is_shared(step, replica) &&
                        !replica->first_differs;
    }
    for (size_t i = 0; has_replicas && i < step->variables.n; i++) {
        struct tc_replica *replica = &step->variables.items[i];
        replica->is_own =
            tc_replica_is_trained(replica) && replica->first_differs && replica->data_differs;
    }
    find_constant_parts(step, symbols);
}

void tc_replicas_find_parts(struct tc_replica_step *step, const struct tc_strtab *symbols)
{
    find_stages(step);
    find_own(step, symbols);
}

enum tc_replicas tc_replicas_in(const struct tc_replica_step *step)
{
    size_t n = 0, n_differ = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        if (!tc_replica_is_trained(replica) || !tc_replica_is_shared(step, replica))
            continue;
        n++;
        n_differ += replica->data_differs;
    }
    if (!n)
        return TC_REPLICAS_UNTRAINED;
    return !n_differ          ? TC_REPLICAS_TOGETHER
           : 2 * n_differ < n ? TC_REPLICAS_IN_PART
                              : TC_REPLICAS_APART;
}

bool tc_replicas_are_whole(const struct tc_replica_step *step)
{
    size_t n = 0;

    for (size_t i = 0; i < step->variables.n; i++) {
        const struct tc_replica *replica = &step->variables.items[i];
        if (replica->variable.kind != TC_SYM_PARAMETER || !replica->variable.requires_grad)
            continue;
        if (!tc_replica_is_trained(replica) || !tc_replica_is_shared(step, replica) ||
            replica->data_differs)
            return false;
        n++;
    }
    return n > 0;
}
