/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - violations joined by the things they share, in one pass
 *
 * They come in their order. For each thing the last violation tied to it is remembered, by the
 * kind of its tie; the table of meetings says which ties join. Groups are a forest of leaders, of
 * which the earliest leads. What follows from a fact, a moment or a law is joined by that,
 * whatever the number of steps between.
 */
#include "check/group.h"

#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "check/change.h"
#include "replay/symbols.h"

/* How a violation has to do with a thing. */
enum tie {
    VARIABLE, /* it is about this variable */
    SUBJECT,  /* it was judged on this call */
    MENTION,  /* its invariant names this call besides */
    AROUND,   /* the call judged was made inside this one */
    MODE,     /* it compares with this mode (autocast, training) */
    EFFECT,   /* it is about changes of this kind of variable */
    PLACE,    /* the same form broke at this line; or in workers, or after a step */
};

/* Ties by which a violation meets one before it. What is only around both joins nothing, nor does a
 * call inside one that a sequence names: a forward is around everything. */
static const struct {
    enum tie own, earlier;
} meetings[] = {
    {VARIABLE, VARIABLE},
    {SUBJECT,  SUBJECT },
    {SUBJECT,  MENTION },
    {MENTION,  SUBJECT },
    {MENTION,  MENTION },
    {SUBJECT,  AROUND  },
    {AROUND,   SUBJECT },
    {MODE,     MODE    },
    {EFFECT,   EFFECT  },
    {PLACE,    PLACE   },
};

struct grouping {
    const struct tc_violation *const *violations;
    const struct tc_strtab *symbols;
    size_t *leader;          /* of each violation, or itself; earlier ones lead */
    struct tc_strtab *names; /* of things */
    struct tc_map last;      /* (tie, name) → the last violation tied so, plus one */
    struct tc_map facts;     /* key of a broken fact → its violation, plus one */
    struct tc_map moments;   /* call that broke a fact → such a violation, plus one */
    struct tc_map changes;   /* key of a changed setting → the last such violation, plus one */
    size_t *before;          /* of each violation: the one that had its key before, plus one */
    size_t law;              /* the last one that broke a law, plus one */
    size_t i;                /* the violation being tied */
};

static size_t head_of(struct grouping *g, size_t i)
{
    while (g->leader[i] != i)
        i = g->leader[i] = g->leader[g->leader[i]];
    return i;
}

static void unite(struct grouping *g, size_t a, size_t b)
{
    a = head_of(g, a);
    b = head_of(g, b);
    g->leader[a > b ? a : b] = a < b ? a : b;
}

static void join(struct grouping *g, size_t other)
{
    size_t a = head_of(g, other);
    const struct tc_violation *v = g->violations[g->i];
    uint64_t steps = (uint64_t)v->step - (uint64_t)g->violations[a]->step;

    if (steps <= 1 + (uint64_t)v->relation->lag)
        unite(g, a, g->i);
}

static uint64_t key_of_tie(enum tie tie, tc_sym name)
{
    return (uint64_t)tie << 32 | name;
}

static void tie_to(struct grouping *g, enum tie tie, const char *text, size_t size)
{
    tc_sym name = tc_strtab_intern(g->names, text, size);
    uint64_t other;

    for (size_t i = 0; i < sizeof(meetings) / sizeof(*meetings); i++)
        if (meetings[i].own == tie &&
            tc_map_get(&g->last, key_of_tie(meetings[i].earlier, name), &other))
            join(g, other - 1);
    tc_map_put(&g->last, key_of_tie(tie, name), g->i + 1);
}

static void tie_to_symbol(struct grouping *g, enum tie tie, tc_sym sym)
{
    tie_to(g, tie, tc_strtab_text(g->symbols, sym), tc_strtab_size(g->symbols, sym));
}

/* Without the mode that sequences write after a root: "root.forward[train,grad]". */
static void tie_to_call(struct grouping *g, enum tie tie, const char *call)
{
    tie_to(g, tie, call, strcspn(call, "["));
}

static void tie_to_params(struct grouping *g, const struct tc_violation *v)
{
    for (size_t i = 0; i < v->invariant->n_params; i++) {
        const struct tc_param *p = &v->invariant->params[i];
        const char *to = p->to == TC_NO_SYM ? "" : tc_strtab_text(g->symbols, p->to);
        if (p->kind == TC_PARAM_CALL)
            tie_to_call(g, MENTION, tc_strtab_text(g->symbols, p->name));
        else if (p->kind == TC_PARAM_OPERAND &&
                 (!strncmp(to, "ctx.", 4) || !strncmp(to, "owner.", 6)))
            tie_to(g, MODE, to, strlen(to));
        else if (p->kind == TC_PARAM_CHANGE)
            tie_to_symbol(g, EFFECT, p->name);
    }
}

static void tie_to_place(struct grouping *g, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s %s", v->relation->name,
                   v->is_worker ? "in workers"
                   : *v->call   ? v->at
                                : "");
    tie_to(g, PLACE, text.text, text.size);
    tc_strbuf_release(&text);
}

/* What it follows from was told by whoever followed the data, however many steps lie between. */
static bool follows(struct grouping *g)
{
    const struct tc_violation *v = g->violations[g->i];
    uint64_t cause;

    if (v->cause == TC_SYM_EMPTY || !tc_map_get(&g->facts, v->cause, &cause))
        return false;
    unite(g, (size_t)cause - 1, g->i);
    return true;
}

/* Of one call of one process: it went wrong as it began, or as it ended. */
static uint64_t moment_key(const struct tc_violation *v)
{
    const uint64_t when[] = {v->first.run, (uint64_t)v->moment_ns};

    return tc_hash64(v->first.file, strlen(v->first.file),
                     tc_hash64(v->call, strlen(v->call), tc_hash64(when, sizeof(when), 0)));
}

/* What other forms say of a call that broke a fact has the cause of that. */
static void tie_to_moment(struct grouping *g)
{
    const struct tc_violation *v = g->violations[g->i];
    uint64_t other;

    if (*v->call && !tc_invariant_fact(v->invariant) &&
        tc_map_get(&g->moments, moment_key(v), &other))
        unite(g, other - 1, g->i);
}

/* What a whole step shows follows from a law that broke before it. */
static void tie_to_law(struct grouping *g)
{
    const struct tc_violation *v = g->violations[g->i];

    if (!*v->call && tc_invariant_fact(v->invariant) && g->law)
        join(g, g->law - 1);
    g->law = g->i + 1;
}

/* One rate that was changed stands in many places. */
static void tie_to_change(struct grouping *g)
{
    struct tc_change own, other;
    bool is_new;

    if (!tc_change_of(&own, g->violations[g->i], g->symbols))
        return;
    uint64_t *last = tc_map_at(&g->changes, tc_change_key(&own), &is_new);
    for (size_t i = (size_t)*last; i; i = g->before[i - 1]) {
        if (!tc_change_of(&other, g->violations[i - 1], g->symbols) ||
            !tc_change_is_same(&own, &other))
            continue;
        unite(g, i - 1, g->i);
        break;
    }
    g->before[g->i] = (size_t)*last;
    *last = g->i + 1;
}

static void tie_violation(struct grouping *g)
{
    const struct tc_violation *v = g->violations[g->i];
    bool is_missing = v->relation->fault == TC_FAULT_MISSING;

    bool is_effect = follows(g);
    tie_to_change(g);
    if (is_effect || v->is_setting)
        return;
    tie_to_moment(g);
    tie_to_law(g);
    for (size_t i = 0; i < v->n_variables; i++)
        tie_to(g, VARIABLE, v->variables[i].name, strlen(v->variables[i].name));
    /* What is missing before a call has nothing to do with what happens inside it. */
    if (*v->call && !is_missing) {
        tie_to_call(g, SUBJECT, v->call);
        for (size_t i = 0; i < v->n_inside; i++)
            tie_to_call(g, AROUND, v->inside[i]);
    }
    tie_to_params(g, v);
    tie_to_place(g, v);
}

/* Give each violation the number of its group: first those in which a law was broken. */
static void number_groups(struct grouping *g, size_t n, size_t *number, struct tc_groups *groups)
{
    bool *has_law = tc_calloc(n + 1, sizeof(*has_law));
    size_t n_laws = 0;

    for (size_t i = 0; i < n; i++)
        has_law[head_of(g, i)] |= !g->violations[i]->is_setting;
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < n; i++)
            if (head_of(g, i) == i && has_law[i] == !round)
                number[i] = groups->n++;
        if (!round)
            n_laws = groups->n;
    }
    groups->n_settings = groups->n - n_laws;
    for (size_t i = 0; i < n; i++) {
        number[i] = number[head_of(g, i)];
        groups->items[number[i]].n++;
    }
    tc_free(has_law);
}

/* Put each violation behind those of its group. */
static void sort_out(struct grouping *g, size_t n, struct tc_groups *groups)
{
    size_t *number = tc_calloc(n + 1, sizeof(*number)), begin = 0;

    groups->items = tc_calloc(n + 1, sizeof(*groups->items));
    number_groups(g, n, number, groups);
    for (size_t i = 0; i < groups->n; i++) {
        groups->items[i].items = groups->all + begin;
        begin += groups->items[i].n;
        groups->items[i].n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct tc_group *group = &groups->items[number[i]];
        group->items[group->n++] = g->violations[i];
    }
    tc_free(number);
}

void tc_groups_make(struct tc_groups *groups, const struct tc_violation *const *violations,
                    size_t n, const struct tc_strtab *symbols)
{
    struct grouping g = {.violations = violations,
                         .symbols = symbols,
                         .leader = tc_calloc(n + 1, sizeof(*g.leader)),
                         .before = tc_calloc(n + 1, sizeof(*g.before)),
                         .names = tc_strtab_new()};

    *groups = (struct tc_groups){.all = tc_calloc(n + 1, sizeof(*groups->all)), .n_all = n};
    for (size_t i = 0; i < n; i++) {
        g.leader[i] = i;
        if (!tc_invariant_fact(violations[i]->invariant))
            continue;
        tc_map_put(&g.facts, violations[i]->key, i + 1);
        if (*violations[i]->call)
            tc_map_put(&g.moments, moment_key(violations[i]), i + 1);
    }
    for (g.i = 0; g.i < n; g.i++)
        tie_violation(&g);
    sort_out(&g, n, groups);
    tc_map_release(&g.last);
    tc_map_release(&g.changes);
    tc_free(g.before);
    tc_map_release(&g.facts);
    tc_map_release(&g.moments);
    tc_strtab_free(g.names);
    tc_free(g.leader);
}

void tc_groups_release(struct tc_groups *groups)
{
    tc_free(groups->all);
    tc_free(groups->items);
    *groups = (struct tc_groups){0};
}
