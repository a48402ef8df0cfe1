/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_clauses.c - the search for a conjunction, on situations given as text
 */
#include "unit.h"

#include "infer/clauses.h"
#include "replay/symbols.h"

struct world {
    struct tc_evidence evidence;
    struct tc_cases held, broken;
    struct tc_clause_limits limits;
    struct tc_invariant invariant;
    size_t covered;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    tc_evidence_init(&w->evidence);
    w->limits.witnesses = 1;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    tc_cases_release(&w->held);
    tc_cases_release(&w->broken);
    tc_evidence_release(&w->evidence);
    free(w);
    return 0;
}

/* fields are "stage=\"init\" ctx.grad=true". */
static void see(struct world *w, struct tc_cases *cases, unsigned pipeline, const char *fields)
{
    static const struct tc_relation plain = {.name = "Test/plain"};
    const struct tc_hides hides = {.relation = &plain};
    struct tc_strtab *symbols = w->evidence.symbols;
    struct tc_situation situation = {.n = 0};
    struct tc_row row = {.count = 1};

    for (const char *at = fields; *at;) {
        size_t name = strcspn(at, "="), size = strcspn(at, " ");
        tc_situation_set(&situation, tc_strtab_intern(symbols, at, name),
                         tc_strtab_intern(symbols, at + name + 1, size - name - 1));
        at += size + (at[size] == ' ');
    }
    tc_situation_sort(&situation);
    row.situation = tc_strtab_intern(w->evidence.arrays, situation.pairs,
                                     situation.n * sizeof(*situation.pairs));
    tc_row_add_pipeline(&row, pipeline);
    tc_cases_add(cases, &w->evidence, &row, &hides);
    tc_vec_release(&row.pipelines);
}

static bool search(struct world *w)
{
    w->invariant = (struct tc_invariant){.n_when = 0};
    return tc_clauses_search(w->evidence.symbols, &w->held, &w->broken, &w->limits, &w->invariant,
                             &w->covered);
}

static void assert_clause(const struct world *w, size_t i, const char *field, bool negated,
                          const char *value)
{
    const struct tc_clause *c = &w->invariant.when[i];

    assert_true(i < w->invariant.n_when);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, c->field), field);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, c->value), value);
    assert_int_equal(c->negated, negated);
}

static void it_covers_most_before_it_is_short(void **state)
{
    struct world *w = *state;

    /* one clause covers two of three situations, two clauses cover all */
    see(w, &w->held, 0, "stage=\"training\" ctx.grad=true v.grad=\"non_zero\"");
    see(w, &w->held, 0, "stage=\"training\" ctx.grad=false v.grad=\"zero\"");
    see(w, &w->held, 0, "stage=\"evaluation\" ctx.grad=true v.grad=\"zero\"");
    see(w, &w->broken, 0, "stage=\"init\" ctx.grad=true v.grad=\"zero\"");
    see(w, &w->broken, 0, "stage=\"evaluation\" ctx.grad=true v.grad=\"null\"");
    assert_true(search(w));
    assert_int_equal(w->invariant.n_when, 2);
    assert_clause(w, 0, "stage", true, "\"init\"");
    assert_clause(w, 1, "v.grad", true, "\"null\"");
    assert_int_equal(w->covered, 1);
}

static void what_is_said_is_needed(void **state)
{
    struct world *w = *state;

    see(w, &w->held, 0, "stage=\"training\" closure=true");
    see(w, &w->broken, 0, "stage=\"init\" closure=true");
    assert_true(search(w));
    assert_int_equal(w->invariant.n_when, 1);
    assert_clause(w, 0, "stage", false, "\"training\"");
}

static void pipelines_are_counted_where_it_is_true(void **state)
{
    struct world *w = *state;

    see(w, &w->held, 0, "stage=\"training\" after.backward=true");
    see(w, &w->held, 3, "stage=\"training\" after.backward=true");
    see(w, &w->held, 7, "stage=\"evaluation\" after.backward=true");
    see(w, &w->held, 5, "stage=\"init\" after.backward=false");
    see(w, &w->broken, 1, "stage=\"init\" after.backward=true");
    see(w, &w->broken, 1, "stage=\"training\" after.backward=false");
    see(w, &w->broken, 1, "stage=\"evaluation\" after.backward=false");
    assert_true(search(w));
    assert_int_equal(w->invariant.n_when, 2);
    assert_clause(w, 0, "stage", true, "\"init\"");
    assert_clause(w, 1, "after.backward", false, "true");
    assert_int_equal(w->covered, 3);
}

static void only_the_mode_may_explain_if_so_limited(void **state)
{
    struct world *w = *state;

    see(w, &w->held, 0, "after.backward=true");
    see(w, &w->broken, 0, "after.backward=false");
    assert_true(search(w));
    w->limits.mode_only = true;
    assert_false(search(w));
    assert_int_equal(w->invariant.n_when, 0);
}

static void an_open_value_needs_its_witnesses(void **state)
{
    struct world *w = *state;

    w->limits.witnesses = 2;
    see(w, &w->held, 0, "self.class=\"torch.optim.Adam\"");
    see(w, &w->broken, 0, "self.class=\"torch.optim.SGD\"");
    assert_false(search(w));
    see(w, &w->held, 1, "self.class=\"torch.optim.Adam\"");
    assert_true(search(w));
    assert_clause(w, 0, "self.class", false, "\"torch.optim.Adam\"");
}

static void what_is_there_for_pruning_explains_nothing(void **state)
{
    struct world *w = *state;

    see(w, &w->held, 0, "in.role=\"top\"");
    see(w, &w->broken, 0, "in.role=\"layer\"");
    assert_false(search(w));
}

static void the_best_attempt_leaves_least(void **state)
{
    struct world *w = *state;

    see(w, &w->held, 0, "after.backward=true");
    see(w, &w->broken, 0, "after.backward=true");
    see(w, &w->broken, 0, "after.backward=false");
    assert_false(search(w));
    assert_int_equal(w->covered, 0);
    assert_int_equal(w->invariant.n_when, 1);
    assert_clause(w, 0, "after.backward", false, "true");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_covers_most_before_it_is_short),      T(what_is_said_is_needed),
        T(pipelines_are_counted_where_it_is_true), T(only_the_mode_may_explain_if_so_limited),
        T(an_open_value_needs_its_witnesses),      T(what_is_there_for_pruning_explains_nothing),
        T(the_best_attempt_leaves_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
