/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.c - ranks that compute the same as another one at every operator
 *
 * Each rank x is given a rank s(x) that would stand for it: the first one along the axes of the
 * mesh whose ranks have one program and start from equal tensors. By induction over the steps of
 * the job, x holds what s(x) holds if, besides,
 *
 *   - there is a map f of groups, and x is in f's argument wherever s(x) is in its value: for each
 *     group g of the program, f(g of x) is g of s(x), and its ranks stand for those of g of x, one
 * by one;
 *   - a rank has one group at most that f maps to a given group, so collectives meet alike;
 *   - where x and s(x) have different places in their groups, the collective gives all the same;
 *   - the peer of a message of s(x) stands for the peer of x, and a channel is one channel.
 *
 * If any of this does not hold, no rank is a copy.
 */
#include "plan/copies.h"

#include <string.h>

#include "base/hash.h"
#include "plan/collective.h"
#include "plan/rules.h"

#define NONE UINT32_MAX

struct search {
    struct tc_plan_set *set;
    uint32_t *of;       /* s */
    uint32_t *image;    /* f, by group; NONE: no rank uses it */
    tc_sym *starts;     /* for each rank, a number for its program, inits, consts and results */
    struct tc_map axes; /* name of an axis -> 1 if its ranks differ */
};

static const struct tc_plan_group *group_of(const struct search *s, uint32_t group)
{
    return &s->set->groups.items[group];
}

/* ---- what a rank starts from --------------------------------------------------------------- */

typedef TC_VEC(uint64_t) words;

static void add_all(words *to, const int64_t *p, size_t n)
{
    tc_vec_push(to, n);
    for (size_t i = 0; i < n && p; i++)
        tc_vec_push(to, (uint64_t)p[i]);
}

static void add_elements(words *to, const tc_el *p, size_t n)
{
    tc_vec_push(to, n);
    for (size_t i = 0; i < n && p; i++) {
        uint64_t parts[sizeof(*p) / sizeof(uint64_t)];
        memcpy(parts, &p[i], sizeof(parts));
        for (size_t k = 0; k < sizeof(parts) / sizeof(*parts); k++)
            tc_vec_push(to, parts[k]);
    }
}

static void add_tensor(words *to, const struct tc_plan_tensor *t)
{
    tc_vec_push(to, t->storage);
    tc_vec_push(to, (uint64_t)t->offset);
    add_all(to, t->sizes, t->n_dims);
    add_all(to, t->strides, t->n_dims);
}

static void add_place(words *to, const struct tc_plan_place *p, uint32_t n_dims)
{
    tc_vec_push(to, (uint64_t)p->flat);
    add_all(to, p->global, p->n_global);
    tc_vec_push(to, p->n_pieces);
    for (uint32_t k = 0; k < p->n_pieces; k++) {
        add_all(to, p->pieces[k].local, n_dims);
        add_all(to, p->pieces[k].sizes, n_dims);
        add_all(to, p->pieces[k].at, p->n_global);
    }
}

static void add_inits(words *to, const struct tc_plan_rank *rank)
{
    for (size_t i = 0; i < rank->inits.n; i++) {
        const struct tc_plan_init *init = &rank->inits.items[i];
        tc_vec_push(to, (uint64_t)init->name << 32 | init->kind);
        add_tensor(to, &init->tensor);
        add_place(to, &init->place, init->tensor.n_dims);
        tc_vec_push(to, init->data != NULL);
        add_elements(to, init->data, init->data ? (size_t)init->tensor.numel : 0);
    }
}

static void add_consts(words *to, const struct tc_plan_rank *rank)
{
    for (size_t i = 0; i < rank->consts.n; i++) {
        const struct tc_plan_const *c = &rank->consts.items[i];
        tc_vec_push(to, (uint64_t)c->storage << 32 | c->is_fill);
        tc_vec_push(to, (uint64_t)c->n);
        add_elements(to, c->data, c->is_fill ? 1 : (size_t)c->n);
    }
}

static void add_results(words *to, const struct tc_plan_rank *rank)
{
    for (size_t i = 0; i < rank->results.n; i++) {
        const struct tc_plan_result *r = &rank->results.items[i];
        tc_vec_push(to, (uint64_t)r->name << 32 | r->n_partial);
        add_tensor(to, &r->tensor);
        add_place(to, &r->place, r->tensor.n_dims);
        for (uint32_t k = 0; k < r->n_partial; k++)
            tc_vec_push(to, r->partial[k]);
    }
}

static void add_address(words *to, const void *p)
{
    tc_vec_push(to, (uintptr_t)p);
}

/* A number that is equal for equal ranks. One that says nothing of its own has the lists of the
 * rank it is like. */
static tc_sym start_of(const struct tc_plan_rank *rank, words *text, struct tc_strtab *starts)
{
    text->n = 0;
    add_address(text, rank->program);
    add_address(text, rank->borrows_inits || rank->like < 0 ? rank->inits.items : NULL);
    add_address(text, rank->borrows_consts || rank->like < 0 ? rank->consts.items : NULL);
    add_address(text, rank->borrows_results || rank->like < 0 ? rank->results.items : NULL);
    if (rank->like >= 0 && !rank->borrows_inits)
        add_inits(text, rank);
    if (rank->like >= 0 && !rank->borrows_consts)
        add_consts(text, rank);
    if (rank->like >= 0 && !rank->borrows_results)
        add_results(text, rank);
    return tc_strtab_intern(starts, text->items, text->n * sizeof(*text->items));
}

static void find_starts(struct search *s)
{
    struct tc_strtab *starts = tc_strtab_new();
    words text = {0};

    for (uint32_t r = 0; r < s->set->world; r++)
        s->starts[r] = start_of(&s->set->ranks[r], &text, starts);
    tc_vec_release(&text);
    tc_strtab_free(starts);
}

/* ---- who would stand for whom -------------------------------------------------------------- */

static bool is_axis_of_copies(struct search *s, const struct tc_plan_axis *axis)
{
    uint64_t differs;

    return !axis->is_joined && tc_map_get(&s->axes, axis->name, &differs) && !differs;
}

static void look_at_axis(struct search *s, const struct tc_plan_axis *axis, tc_sym start)
{
    const struct tc_plan_group *group = group_of(s, axis->group);
    uint64_t *differs = tc_map_at(&s->axes, axis->name, &(bool){0});

    for (uint32_t i = 0; i < group->n && !*differs; i++)
        *differs = s->starts[group->ranks[i]] != start;
}

static uint32_t first_along(struct search *s, uint32_t number)
{
    const struct tc_plan_rank *rank = &s->set->ranks[number];

    for (size_t i = 0; i < rank->mesh.n; i++)
        if (is_axis_of_copies(s, &rank->mesh.items[i])) {
            uint32_t first = group_of(s, rank->mesh.items[i].group)->ranks[0];
            if (first != number)
                return first_along(s, first);
        }
    return number;
}

/* Lower numbers stand for higher ones, so that going on ends. */
static bool name_candidates(struct search *s)
{
    bool some = false;

    find_starts(s);
    for (uint32_t r = 0; r < s->set->world; r++)
        for (size_t i = 0; i < s->set->ranks[r].mesh.n; i++) {
            const struct tc_plan_axis *axis = &s->set->ranks[r].mesh.items[i];
            look_at_axis(s, axis, s->starts[r]);
            if (group_of(s, axis->group)->ranks[0] > r)
                *tc_map_at(&s->axes, axis->name, &(bool){0}) = 1;
        }
    for (uint32_t r = 0; r < s->set->world; r++) {
        s->of[r] = first_along(s, r);
        if (s->starts[s->of[r]] != s->starts[r])
            return false;
        some = some || s->of[r] != r;
    }
    return some;
}

/* ---- groups -------------------------------------------------------------------------------- */

static bool map_group(struct search *s, uint32_t from, uint32_t to)
{
    const struct tc_plan_group *a = group_of(s, from), *b = group_of(s, to);

    if (s->image[from] != NONE)
        return s->image[from] == to;
    s->image[from] = to;
    for (uint32_t i = 0; i < a->n && a->n == b->n; i++)
        if (s->of[a->ranks[i]] != s->of[b->ranks[i]])
            return false;
    return a->n == b->n;
}

static bool map_groups(struct search *s)
{
    for (uint32_t x = 0; x < s->set->world; x++) {
        const struct tc_plan_rank *rank = &s->set->ranks[x], *other = &s->set->ranks[s->of[x]];
        for (size_t g = 0; g < rank->program->groups.n; g++)
            if (!map_group(s, rank->groups[g], other->groups[g]))
                return false;
    }
    return true;
}

/* Does this rank meet others in one group alone of those that are mapped to the same? */
static bool is_alone(const struct search *s, uint32_t number, uint32_t group)
{
    const struct tc_plan_rank *rank = &s->set->ranks[number];

    for (size_t g = 0; g < rank->program->groups.n; g++)
        if (s->image[rank->groups[g]] == s->image[group] && rank->groups[g] != group)
            return false;
    return true;
}

static bool meet_alike(const struct search *s)
{
    for (uint32_t k = 0; k < s->set->groups.n; k++)
        for (uint32_t i = 0; s->image[k] != NONE && i < group_of(s, k)->n; i++)
            if (!is_alone(s, group_of(s, k)->ranks[i], k))
                return false;
    return true;
}

/* Has a rank, through group g, part in a collective whose result depends on its place? */
static bool has_place_in(const struct tc_plan_program *p, size_t g)
{
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        if (op->rule && op->rule->kind == TC_RULE_COLLECTIVE &&
            tc_collective_group(op) == (int64_t)g && !tc_collective_is_even(op))
            return true;
    }
    return false;
}

static bool places_do_not_matter(const struct search *s)
{
    struct tc_map known = TC_MAP_INIT; /* hash of program and group -> has_place_in, + 1 */
    bool fine = true;

    for (uint32_t x = 0; x < s->set->world && fine; x++) {
        const struct tc_plan_rank *rank = &s->set->ranks[x], *other = &s->set->ranks[s->of[x]];
        for (size_t g = 0; g < rank->program->groups.n && fine; g++) {
            int64_t at = tc_plan_group_index(group_of(s, rank->groups[g]), x);
            int64_t place = tc_plan_group_index(group_of(s, other->groups[g]), other->rank);
            if (at == place && at >= 0)
                continue;
            uint64_t *matters =
                tc_map_at(&known, tc_hash_mix(g, (uintptr_t)rank->program, 1), &(bool){0});
            if (!*matters)
                *matters = 1 + has_place_in(rank->program, g);
            fine = at >= 0 && place >= 0 && *matters == 1;
        }
    }
    tc_map_release(&known);
    return fine;
}

/* ---- messages ------------------------------------------------------------------------------ */

typedef TC_VEC(const struct tc_plan_op *) messages;

/* Sends and receives of a program that differ in group or peer. */
static void find_messages(const struct tc_plan_program *p, messages *found)
{
    found->n = 0;
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *op = &p->ops.items[i];
        bool is_new =
            op->rule && (op->rule->kind == TC_RULE_SEND || op->rule->kind == TC_RULE_RECEIVE);
        for (size_t k = 0; k < found->n && is_new; k++)
            is_new = tc_collective_group(op) != tc_collective_group(found->items[k]) ||
                     tc_message_peer(op) != tc_message_peer(found->items[k]);
        if (is_new)
            tc_vec_push(found, op);
    }
}

/* Of the ranks that x would be mapped to, y speaks to x itself or to none. */
static bool is_one_channel(const struct search *s, uint32_t x, uint32_t y, const messages *of_y)
{
    for (size_t k = 0; k < of_y->n; k++) {
        int64_t peer = tc_plan_peer(s->set, &s->set->ranks[y], of_y->items[k]);
        if (peer < 0 || peer >= s->set->world || (s->of[peer] == s->of[x] && peer != x))
            return false;
    }
    return true;
}

static bool messages_are_alike(const struct search *s)
{
    messages *all = tc_calloc(s->set->world, sizeof(*all));
    bool fine = true;

    for (uint32_t x = 0; x < s->set->world; x++)
        if (s->set->ranks[x].like < 0)
            find_messages(s->set->ranks[x].program, &all[x]);
    for (uint32_t x = 0; x < s->set->world && fine; x++) {
        const struct tc_plan_rank *rank = &s->set->ranks[x];
        const messages *own = &all[rank->like < 0 ? x : rank->like];
        for (size_t k = 0; k < own->n && fine; k++) {
            int64_t peer = tc_plan_peer(s->set, rank, own->items[k]);
            int64_t mapped = tc_plan_peer(s->set, &s->set->ranks[s->of[x]], own->items[k]);
            fine = peer >= 0 && peer < s->set->world && s->of[peer] == mapped;
            if (!fine)
                break;
            int64_t like = s->set->ranks[peer].like;
            fine = is_one_channel(s, x, (uint32_t)peer, &all[like < 0 ? peer : like]) &&
                   is_one_channel(s, (uint32_t)peer, x, own);
        }
    }
    for (uint32_t x = 0; x < s->set->world; x++)
        tc_vec_release(&all[x]);
    tc_free(all);
    return fine;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void note(struct tc_plan_set *set, const uint32_t *of)
{
    struct tc_plan_copies *c = &set->copies;

    c->of = tc_malloc(set->world * sizeof(*c->of));
    c->next = tc_malloc(set->world * sizeof(*c->next));
    c->distinct = tc_malloc(set->world * sizeof(*c->distinct));
    for (uint32_t r = set->world; r-- > 0;)
        c->next[r] = TC_PLAN_NO_RANK;
    for (uint32_t r = set->world; r-- > 0;) {
        c->of[r] = of[r];
        if (of[r] == r)
            continue;
        c->next[r] = c->next[of[r]];
        c->next[of[r]] = r;
    }
    for (uint32_t r = 0; r < set->world; r++)
        if (of[r] == r)
            c->distinct[c->n_distinct++] = r;
}

void tc_plan_find_copies(struct tc_plan_set *set)
{
    struct search s = {.set = set,
                       .of = tc_malloc(set->world * sizeof(*s.of)),
                       .image = tc_malloc((set->groups.n + 1) * sizeof(*s.image)),
                       .starts = tc_malloc(set->world * sizeof(*s.starts))};

    for (size_t i = 0; i < set->groups.n; i++)
        s.image[i] = NONE;
    bool are_copies = name_candidates(&s) && map_groups(&s) && meet_alike(&s) &&
                      places_do_not_matter(&s) && messages_are_alike(&s);
    for (uint32_t r = 0; r < set->world && !are_copies; r++)
        s.of[r] = r;
    note(set, s.of);
    tc_map_release(&s.axes);
    tc_free(s.starts);
    tc_free(s.image);
    tc_free(s.of);
}
