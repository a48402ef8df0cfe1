/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clauses.c - bit sets of situations, and the best conjunction of up to three clauses
 *
 * Each clause has two masks: on which situations that held, and on which that broke, it is true. A
 * conjunction is an AND of masks: it must be false on all that broke, and true on as many as can
 * be that held; shorter ones and earlier fields win. Clauses with equal masks are one. Limits on
 * their number bound the search at some 34,000 triples.
 */
#include "infer/clauses.h"

#include <stdlib.h>
#include <string.h>

#include "infer/bits.h"
#include "invariant/situation_field.h"

/* Pairs are tried on so many clauses, triples on so many; in the order of fields, so the best come
 * first. */
#define MAX_CLAUSES     120
#define MAX_FOR_TRIPLES 60

struct clause {
    struct tc_clause clause;
    unsigned rank;
    const char *field, *value;
    uint64_t *held, *broken; /* bit i: true on situation i */
};

struct search {
    const struct tc_strtab *symbols;
    const struct tc_cases *held, *broken;
    const struct tc_clause_limits *limits;
    struct tc_arena arena;
    struct clause *items;
    size_t n, cap;
    size_t held_words, broken_words;
};

/* ---- candidates ---------------------------------------------------------------------------- */

static bool has_clause(const struct search *s, struct tc_clause clause)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct tc_clause *c = &s->items[i].clause;
        if (c->field == clause.field && c->value == clause.value && c->negated == clause.negated)
            return true;
    }
    return false;
}

static uint64_t *mask(struct search *s, const struct tc_cases *cases, size_t words,
                      const struct tc_clause *clause)
{
    uint64_t *bits = tc_arena_zalloc(&s->arena, words * sizeof(*bits));

    for (size_t i = 0; i < cases->n; i++)
        if (tc_when_holds(clause, 1, cases->items[i].pairs, cases->items[i].n_pairs))
            tc_bits_set(bits, i);
    return bits;
}

/* A clause is of use if it is true on something that held and false on something that broke. */
static void add_clause(struct search *s, struct tc_clause clause)
{
    if (has_clause(s, clause))
        return;
    struct clause c = {.clause = clause,
                       .field = tc_strtab_text(s->symbols, clause.field),
                       .value = tc_strtab_text(s->symbols, clause.value)};
    if (tc_field_is_hidden(c.field) || (s->limits->mode_only && !tc_field_is_mode(c.field)))
        return;
    c.rank = tc_field_rank(c.field);
    c.held = mask(s, s->held, s->held_words, &clause);
    c.broken = mask(s, s->broken, s->broken_words, &clause);
    if (tc_bits_count(c.held, s->held_words) &&
        tc_bits_count(c.broken, s->broken_words) < s->broken->n)
        tc_vec_push(s, c);
}

static bool has_witnesses(const struct search *s, struct tc_pair pair)
{
    struct tc_cases with = {0};

    for (size_t i = 0; i < s->held->n; i++) {
        const struct tc_case *c = &s->held->items[i];
        const struct tc_clause clause = {pair.field, pair.value, false};
        if (tc_when_holds(&clause, 1, c->pairs, c->n_pairs))
            tc_vec_push(&with, *c);
    }
    size_t n = tc_cases_pipelines(&with);
    tc_vec_release(&with); /* the cases in it are borrowed */
    return n >= s->limits->witnesses;
}

static bool is_closed(const struct search *s, struct tc_pair pair)
{
    return tc_field_is_closed(tc_strtab_text(s->symbols, pair.field),
                              tc_strtab_text(s->symbols, pair.value));
}

static void collect(struct search *s)
{
    for (size_t i = 0; i < s->held->n; i++) {
        const struct tc_case *c = &s->held->items[i];
        for (size_t j = 0; j < c->n_pairs; j++)
            if (is_closed(s, c->pairs[j]) || has_witnesses(s, c->pairs[j]))
                add_clause(s, (struct tc_clause){c->pairs[j].field, c->pairs[j].value, false});
    }
    for (size_t i = 0; i < s->broken->n; i++) {
        const struct tc_case *c = &s->broken->items[i];
        for (size_t j = 0; j < c->n_pairs; j++)
            if (is_closed(s, c->pairs[j]))
                add_clause(s, (struct tc_clause){c->pairs[j].field, c->pairs[j].value, true});
    }
}

static int compare_clauses(const void *a, const void *b)
{
    const struct clause *x = a, *y = b;
    int order = x->rank < y->rank ? -1 : x->rank > y->rank;

    order = order ? order : strcmp(x->field, y->field);
    order = order ? order : (int)x->clause.negated - (int)y->clause.negated;
    return order ? order : strcmp(x->value, y->value);
}

static bool has_same_extension(const struct search *s, const struct clause *c, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (!memcmp(s->items[i].held, c->held, s->held_words * sizeof(*c->held)) &&
            !memcmp(s->items[i].broken, c->broken, s->broken_words * sizeof(*c->broken)))
            return true;
    return false;
}

/* Of clauses that are true on the same situations the first by order stands for all. */
static void order_and_merge(struct search *s)
{
    size_t kept = 0;

    if (s->n) /* qsort wants an array even for none */
        qsort(s->items, s->n, sizeof(*s->items), compare_clauses);
    for (size_t i = 0; i < s->n && kept < MAX_CLAUSES; i++)
        if (!has_same_extension(s, &s->items[i], kept))
            s->items[kept++] = s->items[i];
    s->n = kept;
}

/* ---- search -------------------------------------------------------------------------------- */

struct best {
    size_t clauses[TC_MAX_CLAUSES], n;
    size_t covered; /* situations */
};

/* How many of the situations are left when all n clauses must be true. */
static size_t n_left(const struct search *s, const size_t *clauses, size_t n, bool of_held)
{
    size_t words = of_held ? s->held_words : s->broken_words, left = 0;

    for (size_t w = 0; w < words; w++) {
        uint64_t bits = ~UINT64_C(0);
        for (size_t i = 0; i < n; i++)
            bits &= (of_held ? s->items[clauses[i]].held : s->items[clauses[i]].broken)[w];
        left += (size_t)__builtin_popcountll(bits);
    }
    return left;
}

static void consider(const struct search *s, struct best *best, const size_t *clauses, size_t n)
{
    if (n_left(s, clauses, n, false))
        return;
    size_t covered = n_left(s, clauses, n, true);
    if (covered <= best->covered)
        return;
    best->covered = covered;
    best->n = n;
    memcpy(best->clauses, clauses, n * sizeof(*clauses));
}

static void try_triples(struct search *s, struct best *best)
{
    size_t c[3];

    for (c[0] = 0; c[0] < s->n; c[0]++)
        for (c[1] = c[0] + 1; c[1] < s->n; c[1]++)
            for (c[2] = c[1] + 1; c[2] < s->n; c[2]++)
                consider(s, best, c, 3);
}

/* Shorter first: a longer conjunction must be true on more to be preferred. */
static struct best find_best(struct search *s)
{
    struct best best = {.n = 0};

    for (size_t i = 0; i < s->n; i++)
        consider(s, &best, &i, 1);
    for (size_t i = 0; i < s->n && best.covered < s->held->n; i++)
        for (size_t j = i + 1; j < s->n; j++)
            consider(s, &best, (const size_t[]){i, j}, 2);
    if (best.covered < s->held->n && s->n <= MAX_FOR_TRIPLES)
        try_triples(s, &best);
    return best;
}

/* Clause by clause what leaves least of what broke: for the person who asks how near it came. */
static struct best best_attempt(const struct search *s)
{
    struct best best = {.n = 0};
    size_t least = s->broken->n;

    while (best.n < TC_MAX_CLAUSES) {
        size_t choice = SIZE_MAX;
        for (size_t i = 0; i < s->n; i++) {
            best.clauses[best.n] = i;
            size_t left = n_left(s, best.clauses, best.n + 1, false);
            if (left < least && n_left(s, best.clauses, best.n + 1, true) * 2 >= s->held->n) {
                least = left;
                choice = i;
            }
        }
        if (choice == SIZE_MAX)
            break;
        best.clauses[best.n++] = choice;
    }
    return best;
}

static size_t covered_pipelines(const struct search *s, const struct tc_invariant *invariant)
{
    struct tc_cases covered = {0};

    for (size_t i = 0; i < s->held->n; i++) {
        const struct tc_case *c = &s->held->items[i];
        if (tc_when_holds(invariant->when, invariant->n_when, c->pairs, c->n_pairs))
            tc_vec_push(&covered, *c);
    }
    size_t n = tc_cases_pipelines(&covered);
    tc_vec_release(&covered); /* the cases in it are borrowed */
    return n;
}

bool tc_clauses_search(const struct tc_strtab *symbols, const struct tc_cases *held,
                       const struct tc_cases *broken, const struct tc_clause_limits *limits,
                       struct tc_invariant *invariant, size_t *covered)
{
    struct search s = {.symbols = symbols, .held = held, .broken = broken, .limits = limits};

    s.held_words = tc_bits_words(held->n);
    s.broken_words = tc_bits_words(broken->n);
    collect(&s);
    order_and_merge(&s);
    struct best best = find_best(&s);
    bool is_exact = best.n > 0;
    if (!is_exact)
        best = best_attempt(&s);
    invariant->n_when = best.n;
    for (size_t i = 0; i < best.n; i++)
        invariant->when[i] = s.items[best.clauses[i]].clause;
    *covered = is_exact ? covered_pipelines(&s, invariant) : 0;
    tc_vec_release(&s);
    tc_arena_release(&s.arena);
    return is_exact;
}
