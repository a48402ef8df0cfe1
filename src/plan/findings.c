/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.c - what is wrong without a look at values, and words for results and ranks
 *
 * Operators without a rule, evaluations that ended early, results that no rank has: each becomes
 * a finding or a warning. Here are also the words for a result and for a set of ranks, and the
 * outcome, once all values are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "plan/judge.h"
#include "plan/rules.h"

static const char *text_of(const struct judge *j, tc_sym name)
{
    return tc_strtab_text(j->single->names, name);
}

const char *tc_plan_keep(struct tc_plan_verdict *v, struct tc_strbuf *text)
{
    const char *copy = tc_arena_text(&v->arena, text->text ? text->text : "", text->size);

    tc_strbuf_release(text);
    return copy;
}

void tc_judge_add_finding(struct tc_plan_verdict *v, const struct tc_plan_op *op, uint32_t rank,
                          struct tc_plan_finding f)
{
    const char **texts[] = {&f.kind, &f.text, &f.hint, &f.src,     &f.op,
                            &f.mod,  &f.name, &f.axis, &f.details, &f.via};
    uint32_t *ranks = tc_arena_alloc(&v->arena, sizeof(*ranks));

    if (op) {
        f.src = op->src;
        f.via = op->via;
        f.mod = op->mod;
        f.op = tc_arena_text(&v->arena, op->name, (size_t)tc_plan_short_name(op));
    }
    if (rank != TC_PLAN_NO_RANK) {
        *ranks = rank;
        f.ranks = ranks;
        f.n_ranks = 1;
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i] = *texts[i] ? *texts[i] : "";
    tc_vec_push(&v->findings, f);
}

/* Every operator without a rule, once; with is_told those too that are hashes. */
static void find_unknown_of(struct judge *j, const struct tc_plan_set *set, struct tc_map *seen,
                            bool is_told)
{
    struct tc_plan_verdict *v = j->verdict;

    for (uint32_t r = 0; r < set->world; r++) {
        const struct tc_plan_rank *rank = &set->ranks[r];
        for (size_t i = 0; rank->like < 0 && i < rank->program->ops.n; i++) {
            const struct tc_plan_op *op = &rank->program->ops.items[i];
            struct tc_strbuf text = TC_STRBUF_INIT;
            uint64_t key = tc_hash64(op->name, strlen(op->name), 0), known;
            if ((op->rule && op->rule != &tc_rule_unknown) || tc_map_get(seen, key, &known))
                continue;
            tc_map_put(seen, key, 1);
            if (op->rule && !j->unknown++)
                j->unknown_op = op;
            if (op->rule && !is_told)
                continue;
            tc_strbuf_addf(&text, "operator %s has no rule (%s:%llu); the plan cannot be judged",
                           op->name, rank->file, (unsigned long long)op->line);
            tc_judge_add_finding(
                v, op, r,
                (struct tc_plan_finding){.kind = "no-rule", .text = tc_plan_keep(v, &text)});
        }
    }
}

void tc_judge_add_fault(struct judge *j, const struct trial *t)
{
    static const char *const kinds[] = {"unfit", "mismatch", "deadlock"};
    struct tc_plan_verdict *v = j->verdict;
    const char *text = tc_arena_text(&v->arena, t->err.text, strlen(t->err.text));

    v->outcome =
        t->fault.kind == TC_WORLD_UNFIT || t->in_single ? TC_PLAN_UNJUDGED : TC_PLAN_REFUTED;
    tc_judge_add_finding(v, t->fault.op, t->fault.rank,
                         (struct tc_plan_finding){.kind = kinds[t->fault.kind], .text = text});
}

void tc_plan_describe_result(const struct tc_plan_set *single, tc_sym name, struct tc_strbuf *out)
{
    const char *text = tc_strtab_text(single->names, name);
    size_t n = strlen(text);
    bool is_start = false;

    if (n > 5 && !strcmp(text + n - 5, ".grad")) {
        tc_strbuf_addf(out, "gradient of %.*s", (int)n - 5, text);
        return;
    }
    for (size_t i = 0; i < single->ranks[0].inits.n; i++)
        is_start = is_start || single->ranks[0].inits.items[i].name == name;
    tc_strbuf_addf(out, "%s%s", text, is_start ? " after the step" : "");
}

const struct tc_plan_judged *tc_plan_gradient_of(const struct tc_plan_verdict *v,
                                                 const struct tc_plan_set *single,
                                                 const struct tc_plan_judged *judged)
{
    struct tc_strbuf grad = TC_STRBUF_INIT;
    uint64_t number;

    tc_strbuf_addf(&grad, "%s.grad", tc_strtab_text(single->names, judged->name));
    tc_sym sym = tc_strtab_find(single->names, grad.text, grad.size);
    tc_strbuf_release(&grad);
    bool is_there = sym != TC_NO_SYM && tc_map_get(&v->by_name, sym, &number);
    return is_there ? &v->results.items[number] : NULL;
}

bool tc_plan_follows_from_gradient(const struct tc_plan_verdict *v,
                                   const struct tc_plan_set *single,
                                   const struct tc_plan_judged *judged)
{
    const struct tc_plan_judged *gradient = tc_plan_gradient_of(v, single, judged);

    return gradient && gradient->is_wrong;
}

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void tc_plan_describe_ranks(const uint32_t *ranks, size_t n, struct tc_strbuf *out)
{
    uint32_t *sorted = tc_malloc((n + 1) * sizeof(*sorted));

    if (n)
        memcpy(sorted, ranks, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_ranks);
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && sorted[next] == sorted[next - 1] + 1;)
            next++;
        tc_strbuf_addf(out, "%s%u", i ? ", " : "", sorted[i]);
        if (next > i + 1)
            tc_strbuf_addf(out, "%s%u", next > i + 2 ? "-" : ", ", sorted[next - 1]);
    }
    tc_free(sorted);
}

/* What reads the parameter whose gradient is a result of no rank; NULL: nothing does. */
static const struct tc_plan_op *reader_of(const struct judge *j, tc_sym gradient, uint32_t *on)
{
    const char *name = tc_strtab_text(j->single->names, gradient);
    size_t n = strlen(name);
    tc_sym parameter = n > 5 && !strcmp(name + n - 5, ".grad")
                           ? tc_strtab_find(j->single->names, name, n - 5)
                           : TC_NO_SYM;

    for (*on = 0; *on < j->parallel->world && parameter != TC_NO_SYM; ++*on) {
        const struct tc_plan_rank *rank = &j->parallel->ranks[*on];
        const struct tc_plan_init *init = tc_plan_init_of(rank, parameter);
        const struct tc_plan_op *op =
            init ? tc_plan_first_reader(rank->program, init->tensor.storage) : NULL;
        if (op)
            return op;
    }
    return NULL;
}

static int64_t count_missing(const struct tc_plan_judged *r)
{
    int64_t n = 0;

    for (int64_t k = 0; k < r->n; k++)
        n += !r->covered[k];
    return n;
}

static void tell_missing(struct judge *j, const struct tc_plan_judged *r)
{
    struct tc_plan_verdict *v = j->verdict;
    struct tc_strbuf text = TC_STRBUF_INIT;
    int64_t n = count_missing(r);
    uint32_t on = TC_PLAN_NO_RANK;
    const struct tc_plan_op *op = n == r->n ? reader_of(j, r->name, &on) : NULL;

    tc_plan_describe_result(j->single, r->name, &text);
    if (op)
        tc_strbuf_addf(&text, " is a result of no rank: nothing goes back to %.*s, which reads it",
                       tc_plan_short_name(op), op->name);
    else if (n == r->n)
        tc_strbuf_adds(&text, " is a result of no rank");
    else
        tc_strbuf_addf(&text, ": %lld of its %lld elements are on no rank", (long long)n,
                       (long long)r->n);
    tc_judge_add_finding(v, op, op ? on : TC_PLAN_NO_RANK,
                         (struct tc_plan_finding){.kind = "missing-result",
                                                  .text = tc_plan_keep(v, &text),
                                                  .name = text_of(j, r->name)});
}

void tc_judge_find_missing(struct judge *j)
{
    for (size_t i = 0; i < j->verdict->results.n; i++)
        j->verdict->results.items[i].is_missing = count_missing(&j->verdict->results.items[i]) > 0;
}

void tc_judge_find_unknown(struct judge *j, bool is_told)
{
    struct tc_map seen = TC_MAP_INIT;

    j->unknown = 0;
    find_unknown_of(j, j->single, &seen, is_told);
    find_unknown_of(j, j->parallel, &seen, is_told);
    tc_map_release(&seen);
}

void tc_judge_conclude_unknown(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (j->has_fault)
        return;
    if (v->outcome == TC_PLAN_REFUTED) {
        v->outcome = TC_PLAN_UNJUDGED;
        v->findings.n = 0;
        tc_judge_find_unknown(j, true);
        return;
    }
    struct tc_str line = tc_plan_line_of(j->unknown_op);
    tc_strbuf_addf(&text, "%u operator%s no rule: %s", j->unknown,
                   j->unknown > 1 ? "s have" : " has", j->unknown > 1 ? "the first is " : "");
    tc_strbuf_addf(&text, "%.*s%s%.*s; equal arguments are taken to give equal results",
                   tc_plan_short_name(j->unknown_op), j->unknown_op->name, line.size ? " at " : "",
                   (int)line.size, line.text);
    tc_vec_push(&v->warnings, tc_plan_keep(v, &text));
}

/* ---- the outcome --------------------------------------------------------------------------- */

/* They count as neither verified nor wrong: a warning tells of those whose parameter is right. */
static uint64_t set_apart_reduced_in_step(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;
    struct tc_strbuf text = TC_STRBUF_INIT, first = TC_STRBUF_INIT;
    uint64_t n = 0, n_told_later = 0;

    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        bool is_told_later = tc_judge_is_told_after_step(j, r);
        if (!is_told_later && !tc_judge_is_reduced_in_step(j, r))
            continue;
        n_told_later += is_told_later;
        if (!is_told_later && !n++)
            tc_plan_describe_result(j->single, r->name, &first);
        r->is_wrong = r->is_missing = false;
        r->is_set_apart = true;
        r->ranks.n = 0;
    }
    if (n) {
        tc_strbuf_adds(&text, first.text);
        if (n > 1)
            tc_strbuf_addf(&text, " (and of %llu more)", (unsigned long long)n - 1);
        tc_strbuf_adds(&text, " is not that of one device before the optimizer's step, but the "
                              "parameter after it is: it is taken to be reduced within the step");
        tc_vec_push(&v->warnings, tc_plan_keep(v, &text));
    }
    tc_strbuf_release(&first);
    return n + n_told_later;
}

void tc_judge_conclude(struct judge *j)
{
    struct tc_plan_verdict *v = j->verdict;

    tc_judge_find_missing(j);
    uint64_t n_apart = set_apart_reduced_in_step(j);
    for (size_t i = 0; i < v->results.n; i++) {
        struct tc_plan_judged *r = &v->results.items[i];
        if (r->ranks.n)
            qsort(r->ranks.items, r->ranks.n, sizeof(*r->ranks.items), compare_ranks);
        if (r->is_missing)
            tell_missing(j, r);
        v->n_wrong += r->is_wrong || r->is_missing;
    }
    v->n_verified = v->results.n - v->n_wrong - n_apart;
    v->outcome = v->n_wrong ? TC_PLAN_REFUTED : TC_PLAN_VERIFIED;
}

void tc_judge_warn_choices(struct judge *j, const struct tc_ledger *ledger)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    uint64_t n;
    const struct tc_plan_op *op = tc_ledger_choice(ledger, &n);

    if (!op)
        return;
    struct tc_str line = tc_plan_line_of(op);
    tc_strbuf_addf(&text,
                   "%llu operators choose by an order of values that depend on parameters, the "
                   "first is %.*s%s%.*s; each evaluation verifies the choice of its random values",
                   (unsigned long long)n, tc_plan_short_name(op), op->name, line.size ? " at " : "",
                   (int)line.size, line.text);
    tc_vec_push(&j->verdict->warnings, tc_plan_keep(j->verdict, &text));
}
