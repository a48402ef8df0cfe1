/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made.c - what ranks have made where together it is no single-device value, in words
 *
 * A value is described by what each rank of the grid has of it: a single-device value times a
 * factor, the sum of all ranks but one, or a single-device value in the wrong place. The first
 * that fits becomes the finding's text.
 */
#include "plan/explain_state.h"

#include <string.h>

static const struct tc_grid alone = {.n = 1};

/* The rank at a place of the grid. */
static uint32_t rank_at(const struct tc_story *s, uint32_t place)
{
    for (uint32_t r = 0; r < s->parallel->world; r++)
        if (s->place[r] == place)
            return r;
    return 0;
}

static void add_factor(struct tc_strbuf *text, const struct tc_related *r)
{
    if (r->num == r->den)
        tc_strbuf_adds(text, "1 times");
    else
        tc_strbuf_addf(text, r->den == 1 ? "%lld times" : "%lld/%lld times", (long long)r->num,
                       (long long)r->den);
}

/* "rank 0", "ranks 0, 2-5": those whose place is marked. */
static void add_ranks(const struct tc_story *s, const bool *is_marked, struct tc_strbuf *text)
{
    uint32_t *ranks = tc_malloc(s->grid.n * sizeof(*ranks)), n = 0;

    for (uint32_t i = 0; i < s->grid.n; i++)
        if (is_marked[i])
            ranks[n++] = rank_at(s, i);
    tc_strbuf_adds(text, n > 1 ? "ranks " : "rank ");
    tc_plan_describe_ranks(ranks, n, text);
    tc_free(ranks);
}

/* "1/3 times the single-device value on rank 0, 1/5 times the single-device value on ranks 1, 2" */
static void tell_factors(const struct tc_story *s, const struct tc_related *each,
                         struct tc_strbuf *text)
{
    bool *is_told = tc_calloc(s->grid.n, sizeof(*is_told)),
         *is_same = tc_calloc(s->grid.n, sizeof(*is_same));

    tc_strbuf_adds(text, "ranks have factors of their own: ");
    for (uint32_t i = 0; i < s->grid.n; i++) {
        if (is_told[i])
            continue;
        for (uint32_t k = 0; k < s->grid.n; k++) {
            is_same[k] = each[k].num == each[i].num && each[k].den == each[i].den;
            is_told[k] = is_told[k] || is_same[k];
        }
        tc_strbuf_adds(text, i ? ", " : "");
        add_factor(text, &each[i]);
        tc_strbuf_adds(text, " the single-device value on ");
        add_ranks(s, is_same, text);
    }
    tc_free(is_told);
    tc_free(is_same);
}

/* "rank 0 has one, ranks 1, 2 have none" */
static void tell_who_has_one(const struct tc_story *s, const struct tc_related *each,
                             uint32_t n_found, struct tc_strbuf *text)
{
    bool *is_marked = tc_calloc(s->grid.n, sizeof(*is_marked));

    for (uint32_t i = 0; i < s->grid.n; i++)
        is_marked[i] = each[i].is_found;
    add_ranks(s, is_marked, text);
    tc_strbuf_adds(text, n_found > 1 ? " have one, " : " has one, ");
    for (uint32_t i = 0; i < s->grid.n; i++)
        is_marked[i] = !each[i].is_found;
    add_ranks(s, is_marked, text);
    tc_strbuf_adds(text, s->grid.n - n_found > 1 ? " have none" : " has none");
    tc_free(is_marked);
}

/* The sum over the one axis without a rank; the size of the grid: none is a single-device value. */
static uint32_t left_out_of_sum(struct tc_story *s, uint32_t op)
{
    const struct tc_part *parts = s->nodes[op].parts;
    size_t n = (size_t)parts[0].t->numel;
    tc_el *sum = tc_malloc((n + 1) * sizeof(*sum));
    uint32_t k = s->grid.n_axes == 1 && s->grid.n > 2 ? 0 : s->grid.n;

    for (; k < s->grid.n; k++) {
        for (size_t i = 0; i < n; i++)
            sum[i] = TC_EL_ZERO;
        for (uint32_t r = 0; r < s->grid.n; r++)
            for (size_t i = 0; i < n && r != k && parts[r].t->numel == (int64_t)n; i++)
                sum[i] = tc_el_add(sum[i], parts[r].p[i]);
        struct tc_part whole = {sum, parts[0].t};
        struct tc_related r = tc_relate(&s->index, &alone, &whole, &s->program->ops.items[op]);
        if (r.is_found && !r.is_zero && !r.is_joined && r.num == r.den)
            break;
    }
    tc_free(sum);
    return k;
}

/* Of ranks that all have one: another value, or factors of their own. */
static bool have_unlike_factors(const struct tc_story *s, const struct tc_related *each)
{
    bool unlike = false;

    for (uint32_t i = 0; i < s->grid.n; i++) {
        if (!each[i].is_found || each[i].is_zero || each[i].is_joined || each[i].op != each[0].op)
            return false;
        unlike = unlike || each[i].num != each[0].num || each[i].den != each[0].den;
    }
    return unlike;
}

/* It is one, though not where or in the order that it must be. */
static bool tell_misplaced(struct tc_story *s, const struct tc_related *r, struct tc_strbuf *text)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;

    if (!r->is_found || r->is_zero || r->is_joined || r->op >= single->ops.n)
        return false;
    const struct tc_plan_op *op = &single->ops.items[r->op];
    struct tc_str line = tc_plan_line_of(op);
    tc_strbuf_addf(text, "what it makes of them is the value of %.*s", tc_plan_short_name(op),
                   op->name);
    if (line.size)
        tc_strbuf_addf(text, " (%.*s)", (int)line.size, line.text);
    tc_strbuf_adds(text, " as ");
    tc_relate_describe(r, &s->grid, text);
    return true;
}

/* By what each rank has; false if none has a single-device value. */
static bool tell_each(const struct tc_story *s, const struct tc_related *each,
                      struct tc_strbuf *text)
{
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < s->grid.n; i++)
        n_found += each[i].is_found;
    if (!n_found)
        return false;
    if (have_unlike_factors(s, each))
        tell_factors(s, each, text);
    else if (n_found == s->grid.n)
        tc_strbuf_adds(text, "each rank has one or a part of one, together they make up none");
    else
        tell_who_has_one(s, each, n_found, text);
    return true;
}

void tc_story_tell_made(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    struct tc_related *each = tc_calloc(s->grid.n, sizeof(*each));

    for (uint32_t i = 0; i < s->grid.n && s->grid.n > 1; i++)
        each[i] = tc_relate(&s->index, &alone, &s->nodes[op].parts[i], &s->program->ops.items[op]);
    if (!tell_misplaced(s, tc_story_relation(s, op), text) && !tell_each(s, each, text)) {
        uint32_t without = left_out_of_sum(s, op);
        if (without < s->grid.n)
            tc_strbuf_addf(text, "the sum over %s without rank %u is one", s->grid.names[0],
                           rank_at(s, without));
        else
            tc_strbuf_adds(text, "what it makes of them is none");
    }
    tc_free(each);
}
