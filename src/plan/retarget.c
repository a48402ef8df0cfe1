/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retarget.c - ranks that are like a captured one: its program with their groups and places
 *
 * A retargeted rank runs the program of the captured one. Its groups are those of its own place
 * on the mesh, found by the names of axes first. Its tensors must not reach further than those
 * of the captured rank.
 */
#include "plan/collective.h"

static enum tc_status fail(const struct tc_plan_rank *rank, struct tc_error *err, const char *what)
{
    return tc_error_set(err, TC_E_FORMAT, "%s:%llu: field 'like': %s", rank->file,
                        (unsigned long long)rank->line, what);
}

static const struct tc_plan_axis *axis_of_group(const struct tc_plan_rank *rank, uint32_t group)
{
    for (size_t i = 0; i < rank->mesh.n; i++)
        if (rank->mesh.items[i].group == group)
            return &rank->mesh.items[i];
    return NULL;
}

static const struct tc_plan_axis *axis_named(const struct tc_plan_rank *rank, tc_sym name)
{
    for (size_t i = 0; i < rank->mesh.n; i++)
        if (rank->mesh.items[i].name == name)
            return &rank->mesh.items[i];
    return NULL;
}

/* Names before others: with one group of all ranks both are the same. */
static enum tc_status move_group(const struct tc_plan_set *set, const struct tc_plan_rank *from,
                                 const struct tc_plan_rank *to, uint32_t group, uint32_t *out,
                                 struct tc_error *err)
{
    const struct tc_plan_axis *axis = axis_of_group(from, group);
    const struct tc_plan_axis *moved = axis ? axis_named(to, axis->name) : NULL;

    if (axis && !moved)
        return fail(to, err, "a group of the captured rank has no counterpart in 'mesh'");
    if (!axis && set->groups.items[group].n != set->world)
        return fail(to, err, "the captured rank uses a group that its 'mesh' does not name");
    *out = moved ? moved->group : group;
    if (set->groups.items[*out].n != set->groups.items[group].n)
        return fail(to, err, "a group of the captured rank has another size");
    return TC_OK;
}

static bool is_same_view(const struct tc_plan_tensor *a, const struct tc_plan_tensor *b)
{
    return a->storage == b->storage && a->offset == b->offset && a->numel == b->numel;
}

/* What the captured rank has, unless this rank says otherwise. Thousands of ranks say nothing. */
#define TAKE_OVER(list, is_equal)                                                    \
    do {                                                                             \
        size_t n_own = to->list.n;                                                   \
        to->borrows_##list = !n_own;                                                 \
        if (!n_own)                                                                  \
            to->list = from->list;                                                   \
        for (size_t i = 0; n_own && i < from->list.n; i++) {                         \
            size_t k = 0;                                                            \
            while (k < n_own && !is_equal(&to->list.items[k], &from->list.items[i])) \
                k++;                                                                 \
            if (k == n_own)                                                          \
                tc_vec_push(&to->list, from->list.items[i]);                         \
        }                                                                            \
    } while (0)

#define SAME_TENSOR(a, b)  ((a)->name == (b)->name || is_same_view(&(a)->tensor, &(b)->tensor))
#define SAME_STORAGE(a, b) ((a)->storage == (b)->storage)

static void take_over(const struct tc_plan_rank *from, struct tc_plan_rank *to)
{
    const struct tc_plan_storage *storages = from->program->storages.items;

    for (size_t i = 0; i < to->inits.n; i++)
        to->inits.items[i].tensor.storage = storages[to->inits.items[i].tensor.storage].slot;
    for (size_t i = 0; i < to->consts.n; i++)
        to->consts.items[i].storage = storages[to->consts.items[i].storage].slot;
    for (size_t i = 0; i < to->results.n; i++)
        to->results.items[i].tensor.storage = storages[to->results.items[i].tensor.storage].slot;
    TAKE_OVER(inits, SAME_TENSOR);
    TAKE_OVER(consts, SAME_STORAGE);
    TAKE_OVER(results, SAME_TENSOR);
}

static bool reaches_further(const struct tc_plan_rank *from, const struct tc_plan_rank *to)
{
    for (size_t i = 0; i < to->program->storages.n; i++)
        if (i >= from->program->storages.n ||
            to->program->storages.items[i].n > from->program->storages.items[i].n)
            return true;
    return false;
}

static enum tc_status retarget(struct tc_plan_set *set, struct tc_plan_rank *to,
                               struct tc_error *err)
{
    if (to->like >= (int64_t)set->world || set->ranks[to->like].like >= 0)
        return fail(to, err, "expected a rank that was captured");
    if (to->program->ops.n)
        return fail(to, err, "a retargeted rank has no operators of its own");
    const struct tc_plan_rank *from = &set->ranks[to->like];
    if (reaches_further(from, to))
        return fail(to, err, "its tensors reach further than those of the captured rank");
    uint32_t *groups = tc_arena_alloc(&set->arena, (from->program->groups.n + 1) * sizeof(*groups));
    for (size_t i = 0; i < from->program->groups.n; i++) {
        enum tc_status status = move_group(set, from, to, from->groups[i], &groups[i], err);
        if (status)
            return status;
    }
    to->groups = groups;
    tc_vec_release(&to->program->storages);
    tc_vec_release(&to->program->groups);
    to->owns_program = false;
    to->program = from->program;
    take_over(from, to);
    set->n_retargeted++;
    set->n_ops += to->program->ops.n;
    return TC_OK;
}

enum tc_status tc_plan_retarget(struct tc_plan_set *set, struct tc_error *err)
{
    enum tc_status status = TC_OK;

    for (uint32_t i = 0; i < set->world && !status; i++)
        if (set->ranks[i].like >= 0)
            status = retarget(set, &set->ranks[i], err);
    return status;
}

int64_t tc_plan_peer(const struct tc_plan_set *set, const struct tc_plan_rank *rank,
                     const struct tc_plan_op *op)
{
    int64_t g = tc_collective_group(op), place = tc_message_peer(op);

    if (g < 0 || place < 0 || place >= set->groups.items[rank->groups[g]].n)
        return -1;
    uint32_t peer = set->groups.items[rank->groups[g]].ranks[place];
    if (rank->like < 0 || rank->groups[g] != rank->program->groups.items[g])
        return peer;
    const struct tc_plan_rank *from = &set->ranks[rank->like];
    for (size_t i = 0; i < from->mesh.n; i++) {
        int64_t at = from->mesh.items[i].is_joined
                         ? -1
                         : tc_plan_group_index(&set->groups.items[from->mesh.items[i].group], peer);
        const struct tc_plan_axis *axis =
            at < 0 ? NULL : axis_named(rank, from->mesh.items[i].name);
        if (axis)
            return set->groups.items[axis->group].ranks[at];
    }
    return -1;
}
