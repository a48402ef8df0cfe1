/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.c - a plan set with the operators of one line replaced, or followed by another one
 *
 * A patched set owns the programs and groups that change, in its arena, and borrows all else
 * from the set, which must outlive it. The operators of a site are edited on all ranks alike.
 * Numbers of operators shift behind an insertion, and so do the places at which slots are freed.
 */
#include "plan/patch.h"

#include <string.h>

#include "plan/collective.h"
#include "plan/rules.h"

/* The arguments of collectives, in the order of their rules. */
enum argument {
    IN,
    OUT,
    REDUCTION,
    PG
};

/* One program while it is patched. */
struct editor {
    const struct tc_plan_set *set;
    const struct tc_patch *patch;
    const struct tc_plan_rank *rank; /* that was captured with it */
    struct tc_plan_program *program; /* the new one */
    struct tc_arena *arena;
    uint32_t group; /* of the program, for the axis; NO_GROUP: not there */
};

#define NO_GROUP UINT32_MAX

/* How many operators of this name the node has run before, in one go. */
static uint32_t turn_of(const struct tc_plan_program *p, size_t op)
{
    const struct tc_plan_op *o = &p->ops.items[op];
    uint32_t turn = 0;

    for (size_t i = op; *o->node && i-- > 0;) {
        const struct tc_plan_op *before = &p->ops.items[i];
        if (before->src != o->src || before->via != o->via || before->node != o->node)
            break;
        turn += before->name == o->name;
    }
    return turn;
}

struct tc_site tc_site_of(const struct tc_plan_program *p, size_t op)
{
    const struct tc_plan_op *o = &p->ops.items[op];

    return (struct tc_site){o->name, o->src, o->via, o->node, turn_of(p, op)};
}

bool tc_site_has(const struct tc_site *site, const struct tc_plan_program *p, size_t op)
{
    const struct tc_plan_op *o = &p->ops.items[op];

    return site->name == o->name && site->src == o->src && (!site->via || site->via == o->via) &&
           site->node == o->node && site->turn == turn_of(p, op);
}

static const struct tc_plan_axis *axis_of(const struct tc_plan_rank *rank, tc_sym name)
{
    for (size_t i = 0; i < rank->mesh.n; i++)
        if (rank->mesh.items[i].name == name)
            return &rank->mesh.items[i];
    return NULL;
}

/* ---- one operator -------------------------------------------------------------------------- */

static const struct tc_plan_tensor *const *one_tensor(struct editor *e,
                                                      const struct tc_plan_tensor *t)
{
    const struct tc_plan_tensor **list = tc_arena_alloc(e->arena, sizeof(*list));

    *list = t;
    return list;
}

/* An operator at the place of another one, which has one operand and one output. */
static struct tc_plan_op at_place_of(struct editor *e, const struct tc_plan_op *old,
                                     const char *name, const struct tc_plan_tensor *from,
                                     const struct tc_plan_tensor *to)
{
    struct tc_plan_value *args = tc_arena_zalloc(e->arena, TC_RULE_MAX_ARGS * sizeof(*args));

    args[0] = (struct tc_plan_value){.kind = TC_PLAN_TENSOR, .n = 1, .tensor = from};
    return (struct tc_plan_op){.name = name,
                               .rule = tc_rule_find(name),
                               .args = args,
                               .n_args = TC_RULE_MAX_ARGS,
                               .outs = one_tensor(e, to),
                               .n_outs = 1,
                               .reads = one_tensor(e, from),
                               .n_reads = 1,
                               .src = old->src,
                               .via = old->via,
                               .made = "",
                               .node = old->node,
                               .mod = old->mod,
                               .line = old->line};
}

static struct tc_plan_op reduction(struct editor *e, const struct tc_plan_op *old,
                                   const struct tc_plan_tensor *t, const char *how)
{
    struct tc_plan_op op = at_place_of(e, old, "c10d.allreduce_.default", t, t);
    struct tc_plan_value *args = (struct tc_plan_value *)(uintptr_t)op.args;

    args[REDUCTION] =
        (struct tc_plan_value){.kind = TC_PLAN_TEXT, .n = (uint32_t)strlen(how), .text = how};
    args[PG] = (struct tc_plan_value){.kind = TC_PLAN_GROUP, .group = e->group};
    return op;
}

static struct tc_plan_op product(struct editor *e, const struct tc_plan_op *old,
                                 const struct tc_plan_tensor *t)
{
    struct tc_plan_op op = at_place_of(e, old, "aten.mul_.Scalar", t, t);
    struct tc_plan_value *args = (struct tc_plan_value *)(uintptr_t)op.args;
    double factor = (double)e->patch->num / (double)e->patch->den;

    args[1] = (struct tc_plan_value){.kind = TC_PLAN_NUMBER, .number = factor};
    return op;
}

static bool is_float(const struct tc_plan_tensor *t)
{
    return t && t->numel && (t->type == TC_PLAN_FLOAT || t->type == TC_PLAN_SINGLE);
}

/* The operator that follows the old one. */
static bool find_follower(struct editor *e, const struct tc_plan_op *old, struct tc_plan_op *new)
{
    const struct tc_plan_tensor *t = e->patch->out < old->n_outs ? old->outs[e->patch->out] : NULL;

    if (!is_float(t) || (e->patch->kind != TC_PATCH_SCALE && e->group == NO_GROUP))
        return false;
    if (e->patch->kind == TC_PATCH_SCALE)
        *new = product(e, old, t);
    else
        *new = reduction(e, old, t, e->patch->kind == TC_PATCH_SUM ? "sum" : "max");
    return true;
}

static bool is_same_view(const struct tc_plan_tensor *a, const struct tc_plan_tensor *b)
{
    return a->storage == b->storage && a->offset == b->offset && a->numel == b->numel;
}

static bool leave_out(struct editor *e, const struct tc_plan_op *old, struct tc_plan_op *new)
{
    const struct tc_plan_tensor *out = old->n_outs == 1 ? old->outs[0] : NULL,
                                *in = e->patch->operand < old->n_reads
                                          ? old->reads[e->patch->operand]
                                          : NULL;

    if (!is_float(out) || !in || in->numel != out->numel)
        return false;
    bool is_skipped = is_same_view(in, out);
    *new = at_place_of(e, old, is_skipped ? "aten.empty.memory_format" : "aten.clone.default", in,
                       out);
    return true;
}

static bool move_group(struct editor *e, const struct tc_plan_op *old, struct tc_plan_op *new)
{
    if (e->group == NO_GROUP || tc_collective_group(old) < 0)
        return false;
    struct tc_plan_value *args =
        tc_arena_copy(e->arena, old->args, TC_RULE_MAX_ARGS * sizeof(*args));
    args[PG].group = e->group;
    *new = *old;
    new->args = args;
    return true;
}

static bool is_list(const struct tc_plan_op *op, enum argument which)
{
    return op->n_args > (uint32_t)which && op->args[which].kind == TC_PLAN_LIST &&
           op->args[which].n > 1;
}

static bool reverse(struct editor *e, const struct tc_plan_op *old, struct tc_plan_op *new)
{
    enum argument which = is_list(old, IN) ? IN : OUT;

    if (!is_list(old, which))
        return false;
    struct tc_plan_value *args =
        tc_arena_copy(e->arena, old->args, TC_RULE_MAX_ARGS * sizeof(*args));
    uint32_t n = args[which].n;
    struct tc_plan_value *items = tc_arena_alloc(e->arena, n * sizeof(*items));
    for (uint32_t i = 0; i < n; i++)
        items[i] = args[which].items[n - 1 - i];
    args[which].items = items;
    *new = *old;
    new->args = args;
    return true;
}

static bool replace(struct editor *e, const struct tc_plan_op *old, struct tc_plan_op *new)
{
    if (e->patch->kind == TC_PATCH_LEFT_OUT)
        return leave_out(e, old, new);
    return e->patch->kind == TC_PATCH_GROUP ? move_group(e, old, new) : reverse(e, old, new);
}

static bool follows(const struct tc_patch *patch)
{
    return patch->kind <= TC_PATCH_SCALE;
}

/* ---- one program --------------------------------------------------------------------------- */

/* Numbers count from 1. What an operator freed is freed after what follows it. */
static void shift_slots(struct tc_plan_program *p, const uint32_t *last, uint32_t n_ops)
{
    for (size_t i = 0; i < p->allocs.n; i++)
        if (p->allocs.items[i].op > 0 && p->allocs.items[i].op <= n_ops)
            p->allocs.items[i].op = last[p->allocs.items[i].op - 1] + 1;
    for (size_t i = 0; i < p->frees.n; i++)
        if (p->frees.items[i].op <= n_ops)
            p->frees.items[i].op = last[p->frees.items[i].op];
}

#define COPY_LIST(to, from)                                                                   \
    do {                                                                                      \
        (to).items = tc_arena_copy(e->arena, (from).items, (from).n * sizeof(*(from).items)); \
        (to).n = (to).cap = (from).n;                                                         \
    } while (0)

/* The axis as one of the program's groups, which the rank's groups then have one more of. */
static void find_group(struct editor *e)
{
    const struct tc_plan_axis *axis = axis_of(e->rank, e->patch->axis);

    e->group = NO_GROUP;
    for (uint32_t i = 0; axis && i < e->program->groups.n; i++)
        if (e->program->groups.items[i] == axis->group)
            e->group = i;
    if (!axis || e->group != NO_GROUP)
        return;
    struct tc_plan_program *p = e->program;
    uint32_t *groups = tc_arena_alloc(e->arena, (p->groups.n + 1) * sizeof(*groups));
    for (uint32_t i = 0; i < p->groups.n; i++)
        groups[i] = p->groups.items[i];
    groups[p->groups.n] = axis->group;
    e->group = (uint32_t)p->groups.n;
    p->groups.items = groups;
    p->groups.n = p->groups.cap = p->groups.n + 1;
}

static bool edit_ops(struct editor *e, const struct tc_plan_program *from,
                     const struct tc_site *site, const uint8_t *suspects, uint32_t *last)
{
    const tc_plan_ops *old = &from->ops;
    tc_plan_ops *ops = &e->program->ops;

    *ops = (tc_plan_ops){tc_arena_alloc(e->arena, (2 * old->n + 1) * sizeof(*ops->items)), 0,
                         2 * old->n + 1};
    last[0] = 0;
    for (size_t i = 0; i < old->n; i++) {
        struct tc_plan_op new;
        bool is_hit = suspects[i] && tc_site_has(site, from, i);
        if (is_hit && !(follows(e->patch) ? find_follower(e, &old->items[i], &new)
                                          : replace(e, &old->items[i], &new)))
            return false;
        ops->items[ops->n++] = is_hit && !follows(e->patch) ? new : old->items[i];
        if (is_hit && follows(e->patch))
            ops->items[ops->n++] = new;
        last[i + 1] = (uint32_t)ops->n;
    }
    return true;
}

static bool edit_program(struct editor *e, const struct tc_site *site, const uint8_t *suspects)
{
    const struct tc_plan_program *old = e->rank->program;
    uint32_t n = (uint32_t)old->ops.n;
    uint32_t *last = tc_arena_alloc(e->arena, (n + 1) * sizeof(*last));

    e->program = tc_arena_copy(e->arena, old, sizeof(*old));
    find_group(e);
    COPY_LIST(e->program->allocs, old->allocs);
    COPY_LIST(e->program->frees, old->frees);
    if (!edit_ops(e, old, site, suspects, last))
        return false;
    shift_slots(e->program, last, n);
    return true;
}

/* ---- all ranks ----------------------------------------------------------------------------- */

/* Groups of a rank by the new program's numbers: the axis may be one more. */
static bool edit_groups(struct tc_arena *arena, struct tc_plan_rank *rank,
                        const struct tc_plan_program *old, tc_sym axis_name)
{
    uint32_t n = (uint32_t)old->groups.n;
    const struct tc_plan_axis *axis = axis_of(rank, axis_name);

    if (rank->program->groups.n == n)
        return true;
    uint32_t *groups = tc_arena_alloc(arena, (n + 1) * sizeof(*groups));
    memcpy(groups, rank->groups, n * sizeof(*groups));
    groups[n] = axis ? axis->group : 0;
    rank->groups = groups;
    return axis != NULL;
}

static bool edit_all(struct tc_plan_set *patched, const struct tc_plan_set *set,
                     const struct tc_site *site, const uint8_t *const *suspects,
                     const struct tc_patch *patch)
{
    for (uint32_t r = 0; r < set->world; r++) {
        struct editor e = {set, patch, &set->ranks[r], NULL, &patched->arena, NO_GROUP};
        if (set->ranks[r].like >= 0)
            continue;
        if (!edit_program(&e, site, suspects[r]))
            return false;
        patched->ranks[r].program = e.program;
    }
    for (uint32_t r = 0; r < set->world; r++) {
        struct tc_plan_rank *rank = &patched->ranks[r];
        if (rank->like >= 0)
            rank->program = patched->ranks[rank->like].program;
        if (!edit_groups(&patched->arena, rank, set->ranks[r].program, patch->axis))
            return false;
    }
    return true;
}

struct tc_plan_set *tc_patched_new(const struct tc_plan_set *set, const struct tc_site *site,
                                   const uint8_t *const *suspects, const struct tc_patch *patch)
{
    struct tc_plan_set *patched = tc_malloc(sizeof(*patched));

    *patched = *set;
    patched->arena = (struct tc_arena)TC_ARENA_INIT;
    patched->ranks = tc_arena_copy(&patched->arena, set->ranks, set->world * sizeof(*set->ranks));
    if (edit_all(patched, set, site, suspects, patch))
        return patched;
    tc_patched_free(patched);
    return NULL;
}

void tc_patched_free(struct tc_plan_set *patched)
{
    if (!patched)
        return;
    tc_arena_release(&patched->arena);
    tc_free(patched);
}
