/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suspects.c - operators that may be at fault: wrong results depend on them, and no right one
 *
 * Marks go back from wrong results; what a right result depends on is cleared. Suspects of one
 * line, name and turn are one site. Sites that a finding names come first, then lines that one
 * device does not run.
 */
#include "plan/repair_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/explain_state.h"
#include "plan/rules.h"

/* ---- what depends on what ------------------------------------------------------------------ */

/* A byte for each operator on which one that is marked depends. */
static void mark_deps(const struct tc_story_node *nodes, size_t n, uint8_t *marks)
{
    for (size_t i = n; i-- > 0;)
        for (uint32_t k = 0; marks[i] && k < nodes[i].n_deps; k++)
            marks[nodes[i].deps[k]] = 1;
}

/* The step itself is no suspect where gradients are wrong. */
static void mark_results(const struct tc_repair *r, const struct tc_story *s, bool is_wrong,
                         uint8_t *marks)
{
    const struct judge *j = r->judge;

    for (size_t i = 0; i < s->rank->results.n; i++) {
        const struct tc_plan_result *result = &s->rank->results.items[i];
        const struct tc_plan_judged *judged = tc_judged_of(j->verdict, result->name);
        uint32_t writer = tc_story_writer(s, result);
        if (judged && !judged->is_set_apart && judged->is_wrong == is_wrong && writer != TC_NO_OP &&
            !(is_wrong && tc_plan_follows_from_gradient(j->verdict, j->single, judged)))
            marks[writer] = 1;
    }
}

/* What other ranks get may be wrong for them. */
static void mark_exchanges(const struct tc_plan_program *p, uint8_t *marks)
{
    for (size_t i = 0; i < p->ops.n; i++)
        if (p->ops.items[i].rule->kind == TC_RULE_SEND ||
            p->ops.items[i].rule->kind == TC_RULE_COLLECTIVE)
            marks[i] = 1;
}

static const uint8_t *suspects_of(struct tc_repair *r, const struct tc_plan_rank *rank)
{
    struct tc_story s = {.rank = rank, .program = rank->program};
    size_t n = rank->program->ops.n;
    uint8_t *wrong = tc_arena_zalloc(&r->arena, n + 1), *right = tc_calloc(n + 1, 1);
    struct tc_story_node *nodes = tc_story_find_nodes(&s, rank);

    mark_results(r, &s, true, wrong);
    mark_exchanges(rank->program, wrong);
    mark_results(r, &s, false, right);
    mark_deps(nodes, n, wrong);
    mark_deps(nodes, n, right);
    for (size_t i = 0; i < n; i++)
        wrong[i] = wrong[i] && !right[i];
    tc_free(nodes);
    tc_free(right);
    tc_arena_release(&s.arena);
    return wrong;
}

void tc_repair_find_suspects(struct tc_repair *r)
{
    const struct tc_plan_set *set = r->judge->parallel;

    r->suspects = tc_arena_zalloc(&r->arena, set->world * sizeof(*r->suspects));
    for (uint32_t k = 0; k < set->world; k++)
        if (set->ranks[k].like < 0)
            r->suspects[k] = suspects_of(r, &set->ranks[k]);
    for (uint32_t k = 0; k < set->world; k++)
        if (set->ranks[k].like >= 0)
            r->suspects[k] = r->suspects[set->ranks[k].like];
}

/* ---- sites --------------------------------------------------------------------------------- */

struct listed {
    struct tc_site site;
    uint32_t order, urgency; /* the lowest first */
};

static int by_urgency(const void *a_, const void *b_)
{
    const struct listed *a = a_, *b = b_;

    if (a->urgency != b->urgency)
        return a->urgency < b->urgency ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

bool tc_repair_is_run_by_single(const struct tc_repair *r, const struct tc_plan_op *op)
{
    const struct tc_plan_program *p = r->judge->single->ranks[0].program;

    for (size_t i = 0; i < p->ops.n; i++)
        if (!strcmp(p->ops.items[i].src, op->src))
            return true;
    return false;
}

bool tc_repair_is_about(const struct tc_plan_finding *f, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);
    struct tc_strbuf named = TC_STRBUF_INIT;

    if (!strcmp(f->src, op->src))
        return *f->op && !strncmp(f->op, op->name, strlen(f->op)) && !strcmp(f->via, op->via);
    tc_strbuf_addf(&named, "%.*s (%.*s)", tc_plan_short_name(op), op->name, (int)line.size,
                   line.text);
    bool is_named = line.size && strstr(f->text, named.text);
    tc_strbuf_release(&named);
    return is_named;
}

/* The number of the finding that names the operator; else after all of them. */
static uint32_t urgency_of(const struct tc_repair *r, const struct tc_plan_op *op)
{
    const struct tc_plan_verdict *v = r->judge->verdict;
    uint32_t n = (uint32_t)v->findings.n;

    for (uint32_t i = 0; i < n; i++)
        if (tc_repair_is_about(&v->findings.items[i], op))
            return i;
    return tc_repair_is_run_by_single(r, op) ? n + 1 : n;
}

static uint64_t key_of_site(const struct tc_site *s)
{
    uint64_t key = tc_hash_mix((uintptr_t)s->via, (uintptr_t)s->name, (uintptr_t)s->src);

    return tc_hash_mix(key, (uintptr_t)s->node, s->turn);
}

typedef TC_VEC(struct listed) sites;

/* With the second call of a helper comes the site of all its calls. */
static void add_site(sites *list, struct tc_map *seen, struct tc_site site, uint32_t urgency)
{
    struct tc_site wide = site;
    bool is_new;

    tc_map_at(seen, key_of_site(&site), &is_new);
    if (!is_new)
        return;
    tc_vec_push(list, ((struct listed){site, (uint32_t)list->n, urgency}));
    wide.via = NULL;
    if (++*tc_map_at(seen, key_of_site(&wide), &is_new) == 2)
        tc_vec_push(list, ((struct listed){wide, (uint32_t)list->n, urgency}));
}

void tc_repair_find_sites(struct tc_repair *r)
{
    const struct tc_plan_set *set = r->judge->parallel;
    sites list = {0};
    struct tc_map seen = TC_MAP_INIT;

    for (uint32_t k = 0; k < set->world; k++)
        for (size_t i = 0; set->ranks[k].like < 0 && i < set->ranks[k].program->ops.n; i++) {
            const struct tc_plan_program *p = set->ranks[k].program;
            struct tc_site site = tc_site_of(p, i);
            if (r->suspects[k][i] && *site.src)
                add_site(&list, &seen, site, urgency_of(r, &p->ops.items[i]));
        }
    if (list.n)
        qsort(list.items, list.n, sizeof(*list.items), by_urgency);
    for (size_t i = 0; i < list.n; i++) {
        tc_vec_push(&r->sites, list.items[i].site);
        r->n_named += list.items[i].urgency < r->judge->verdict->findings.n;
    }
    tc_vec_release(&list);
    tc_map_release(&seen);
}

/* The number of the next suspect of the site, from `from` on; the number of operators: none. */
static size_t next_of(const struct tc_repair *r, const struct tc_site *site, uint32_t rank,
                      size_t from)
{
    const struct tc_plan_program *p = r->judge->parallel->ranks[rank].program;

    while (from < p->ops.n && !(r->suspects[rank][from] && tc_site_has(site, p, from)))
        from++;
    return from;
}

/* The first rank that has one; the number of ranks: none. */
static uint32_t rank_with(const struct tc_repair *r, const struct tc_site *site, size_t *op)
{
    const struct tc_plan_set *set = r->judge->parallel;

    for (uint32_t k = 0; k < set->world; k++) {
        *op = set->ranks[k].like < 0 ? next_of(r, site, k, 0) : SIZE_MAX;
        if (*op < set->ranks[k].program->ops.n)
            return k;
    }
    return set->world;
}

const struct tc_plan_op *tc_repair_first(const struct tc_repair *r, const struct tc_site *site)
{
    size_t op;
    uint32_t k = rank_with(r, site, &op);

    return k < r->judge->parallel->world ? &r->judge->parallel->ranks[k].program->ops.items[op]
                                         : NULL;
}

const struct tc_plan_rank *tc_repair_rank(const struct tc_repair *r, const struct tc_site *site,
                                          size_t *op)
{
    uint32_t k = rank_with(r, site, op);

    return k < r->judge->parallel->world ? &r->judge->parallel->ranks[k] : NULL;
}

const struct tc_plan_program *tc_repair_program(const struct tc_repair *r,
                                                const struct tc_site *site)
{
    size_t op;
    const struct tc_plan_rank *rank = tc_repair_rank(r, site, &op);

    return rank ? rank->program : NULL;
}

/* Do two ranks have other values of the site's operators, taken one after the other? */
static bool differ(const struct tc_repair *r, const struct tc_site *site, uint32_t out, uint32_t a,
                   uint32_t b)
{
    const struct tc_plan_set *set = r->judge->parallel;
    uint32_t x = set->copies.of[a], y = set->copies.of[b];
    size_t n = set->ranks[x].program->ops.n, m = set->ranks[y].program->ops.n;
    size_t i = next_of(r, site, x, 0), k = next_of(r, site, y, 0);

    for (; i < n && k < m; i = next_of(r, site, x, i + 1), k = next_of(r, site, y, k + 1))
        if (r->hashes[x][i * TC_REPAIR_OUTS + out] != r->hashes[y][k * TC_REPAIR_OUTS + out])
            return true;
    return i < n || k < m;
}

bool tc_repair_varies(const struct tc_repair *r, const struct tc_site *site, uint32_t out,
                      tc_sym axis)
{
    const struct tc_plan_set *set = r->judge->parallel;

    for (uint32_t k = 0; k < set->world; k++)
        for (size_t a = 0; a < set->ranks[k].mesh.n; a++) {
            const struct tc_plan_axis *of = &set->ranks[k].mesh.items[a];
            uint32_t first = set->groups.items[of->group].ranks[0];
            if (of->name == axis && first != k && differ(r, site, out, first, k))
                return true;
        }
    return false;
}
