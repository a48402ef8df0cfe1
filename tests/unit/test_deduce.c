/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_deduce.c - preconditions: the shortest conjunction that separates what held from what broke
 */
#include "unit.h"

#include "infer/deduce.h"
#include "invariant/describe.h"
#include "replay/symbols.h"

/* One claim: it holds where the outcome is "held". */
static enum tc_outcome holds(struct tc_strtab *symbols, const struct tc_param *params,
                             size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    (void)params;
    (void)n_params;
    assert_int_equal(n_outcome, 1);
    const char *text = tc_strtab_text(symbols, outcome[0]);
    return !strcmp(text, "held") ? TC_HELD : !strcmp(text, "broke") ? TC_BROKEN : TC_UNDECIDED;
}

static const struct tc_relation claim = {.name = "Test/claim", .holds = holds};

struct world {
    struct tc_evidence evidence;
    struct tc_arena arena;
    struct tc_invariant invariant;
    const struct tc_row *counterexample;
    struct tc_deduce_options options;
    enum tc_support support;
    char when[500]; /* "after.backward=true & v.grad!=\"zero\"" */
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    tc_evidence_init(&w->evidence);
    w->options.min_support = 3;
    w->support = TC_SUPPORT_LAW;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    tc_evidence_release(&w->evidence);
    tc_arena_release(&w->arena);
    free(w);
    return 0;
}

/* Count examples: fields are "after.backward=true stage=\"init\"". */
static void see(struct world *w, const char *pipeline, const char *outcome, unsigned count,
                const char *fields)
{
    struct tc_strtab *symbols = w->evidence.symbols;
    struct tc_situation situation = {.n = 0};
    tc_sym sym = tc_strtab_intern_text(symbols, outcome);

    for (const char *at = fields; *at;) {
        size_t name = strcspn(at, "="), size = strcspn(at, " ");
        tc_situation_set(&situation, tc_strtab_intern(symbols, at, name),
                         tc_strtab_intern(symbols, at + name + 1, size - name - 1));
        at += size + (at[size] == ' ');
    }
    tc_situation_sort(&situation);
    struct tc_example example = {
        .key = 0, .situation = &situation, .outcome = &sym, .n_outcome = 1};
    for (unsigned i = 0; i < count; i++)
        tc_evidence_add(&w->evidence, 0, &example, tc_evidence_pipeline(&w->evidence, pipeline));
}

static enum tc_deduction deduce(struct world *w)
{
    struct tc_hypothesis hypothesis = {.support = w->support};
    const struct tc_row *rows[64];
    struct tc_deduce_rows all = {.evidence = &w->evidence, .relation = &claim, .rows = rows};
    size_t n = 0;

    for (; all.n < w->evidence.rows.n; all.n++)
        rows[all.n] = &w->evidence.rows.items[all.n];
    w->invariant = (struct tc_invariant){.n_when = 0};
    enum tc_deduction result =
        tc_deduce(&all, &hypothesis, &w->options, &w->arena, &w->invariant, &w->counterexample);
    w->when[0] = '\0';
    for (size_t i = 0; i < w->invariant.n_when; i++) {
        const struct tc_clause *c = &w->invariant.when[i];
        n +=
            (size_t)snprintf(w->when + n, sizeof(w->when) - n, "%s%s%s%s", i ? " & " : "",
                             tc_strtab_text(w->evidence.symbols, c->field), c->negated ? "!=" : "=",
                             tc_strtab_text(w->evidence.symbols, c->value));
    }
    return result;
}

static void nothing_broke_nothing_needed(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 2, "after.backward=true");
    see(w, "a", "held", 2, "after.backward=false");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "");
    assert_int_equal(w->invariant.held, 4);
    assert_int_equal(w->invariant.pipelines, 1);
}

static void what_never_held_or_hardly_is_dropped(void **state)
{
    struct world *w = *state;

    see(w, "a", "broke", 9, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_NEVER_HELD);
    see(w, "a", "held", 2, "after.backward=false");
    assert_int_equal(deduce(w), TC_DEDUCE_FEW_EXAMPLES);
    see(w, "a", "held", 1, "after.backward=false");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
}

static void undecided_examples_count_nowhere(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "after.backward=true");
    see(w, "a", "who knows", 9, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_int_equal(w->invariant.held, 3);
    assert_int_equal(w->invariant.excluded, 0);
}

static void several_pipelines_must_agree(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 50, "after.backward=true");
    see(w, "b", "who knows", 1, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_FEW_PIPELINES);
    see(w, "b", "held", 1, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    w->support = TC_SUPPORT_USAGE;
    assert_int_equal(deduce(w), TC_DEDUCE_FEW_PIPELINES);
    w->options.min_pipelines = 2; /* the user's word counts */
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
}

static void the_first_by_order_of_fields_wins(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 5, "v.grad=\"non_zero\" after.backward=true self.grads=\"all\"");
    see(w, "a", "broke", 5, "v.grad=\"null\" after.backward=false self.grads=\"none\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "after.backward=true");
    assert_int_equal(w->invariant.excluded, 5);
    assert_int_equal(w->invariant.broken, 0);
}

static void what_covers_more_wins_over_order(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 5, "after.backward=true v.grad=\"non_zero\"");
    see(w, "a", "held", 5, "after.backward=false v.grad=\"non_zero\"");
    see(w, "a", "broke", 5, "after.backward=false v.grad=\"null\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "v.grad=\"non_zero\"");
}

static void a_shorter_one_wins_over_an_equal_longer(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 5, "after.backward=true after.forward=true v.matrix=true");
    see(w, "a", "broke", 5, "after.backward=true after.forward=false v.matrix=false");
    see(w, "a", "broke", 5, "after.backward=false after.forward=true v.matrix=false");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "v.matrix=true");
}

static void three_clauses_are_found_and_four_are_not(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 5,
        "after.backward=true after.forward=true after.unscale=true closure=true");
    see(w, "a", "broke", 1,
        "after.backward=false after.forward=true after.unscale=true closure=true");
    see(w, "a", "broke", 1,
        "after.backward=true after.forward=false after.unscale=true closure=true");
    see(w, "a", "broke", 1,
        "after.backward=true after.forward=true after.unscale=false closure=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "after.backward=true & after.forward=true & after.unscale=true");
    see(w, "a", "broke", 1,
        "after.backward=true after.forward=true after.unscale=true closure=false");
    assert_int_equal(deduce(w), TC_DEDUCE_NO_PRECONDITION);
    /* the best attempt, and what broke in spite of it */
    assert_string_equal(w->when, "after.backward=true & after.forward=true & after.unscale=true");
    assert_ptr_equal(w->counterexample, &w->evidence.rows.items[4]);
}

static void what_the_precondition_excludes_is_no_evidence(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 2, "after.backward=true");
    see(w, "a", "held", 5, "after.backward=false");
    see(w, "a", "broke", 1, "after.backward=false");
    assert_int_equal(deduce(w), TC_DEDUCE_FEW_EXAMPLES);
    see(w, "a", "held", 1, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "after.backward=true");
    assert_int_equal(w->invariant.held, 3);
    assert_int_equal(w->invariant.excluded, 6);
}

static void is_not_is_said_of_closed_values_only(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "v.grad=\"non_zero\"");
    see(w, "a", "held", 3, "v.grad=\"tiny\"");
    see(w, "a", "broke", 3, "v.grad=\"null\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "v.grad!=\"null\"");
}

static void is_not_is_never_said_of_open_fields(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "self.class=\"torch.optim.Adam\"");
    see(w, "b", "held", 3, "self.class=\"torch.optim.AdamW\"");
    see(w, "a", "broke", 3, "self.class=\"torch.optim.SGD\"");
    assert_int_equal(deduce(w), TC_DEDUCE_NO_PRECONDITION);
}

static void an_absent_field_is_not_everything(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "stage=\"training\"");
    see(w, "a", "broke", 3, "stage=\"training\" ctx.inference=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "ctx.inference!=true");
}

/* Two for the hypothesis, and two for the clause. */
static void an_open_field_needs_four_pipelines(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "self.class=\"torch.optim.Adam\"");
    see(w, "a", "broke", 3, "self.class=\"torch.optim.SGD\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED); /* of one pipeline it is enough */
    see(w, "b", "held", 3, "self.class=\"torch.optim.Adam\"");
    see(w, "c", "held", 3, "self.class=\"torch.optim.Adam\"");
    assert_int_equal(deduce(w), TC_DEDUCE_FEW_PIPELINES);
    see(w, "d", "held", 3, "self.class=\"torch.optim.Adam\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "self.class=\"torch.optim.Adam\"");
}

static void a_mixed_situation_counts_as_broken(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 900, "after.backward=true after.unscale=false");
    see(w, "a", "broke", 1, "after.backward=true after.unscale=false");
    assert_int_equal(deduce(w), TC_DEDUCE_INSEPARABLE);
    see(w, "a", "held", 3, "after.backward=true after.unscale=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_string_equal(w->when, "after.unscale=true");
    assert_int_equal(w->invariant.held, 3);
    assert_int_equal(w->invariant.excluded, 901);
}

static void four_of_five_pipelines_are_enough(void **state)
{
    struct world *w = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};

    for (size_t i = 0; i < 5; i++) {
        see(w, names[i], "held", 3, "after.backward=false");
        see(w, names[i], "broke", 1, "after.backward=false");
        if (i < 3)
            see(w, names[i], "held", 3, "after.backward=true");
    }
    assert_int_equal(deduce(w), TC_DEDUCE_NARROW);
    see(w, "d", "held", 1, "after.backward=true");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_int_equal(w->invariant.pipelines, 4);
}

static void a_context_is_known_once_two_pipelines_had_it(void **state)
{
    struct world *w = *state;

    see(w, "a", "held", 3, "world=\"many\" v.attr.x=true");
    see(w, "b", "held", 3, "world=\"many\"");
    see(w, "c", "held", 3, "world=\"one\"");
    assert_int_equal(deduce(w), TC_DEDUCE_ACCEPTED);
    assert_int_equal(w->invariant.n_contexts, 2);
    assert_string_equal(tc_strtab_text(w->evidence.symbols, w->invariant.contexts[0].field),
                        "v.attr.x");
    assert_int_equal(w->invariant.contexts[0].n_values, 0);
    assert_int_equal(w->invariant.contexts[1].n_values, 1);
    assert_int_equal(w->invariant.contexts[1].values[0], TC_SYM_MANY);
}

/* What is deduced is the same whatever the order of the examples; and nothing that broke is inside.
 */
static void the_order_of_examples_does_not_show(void **state)
{
    static const char *const fields[] = {"after.backward", "after.forward", "closure", "v.matrix",
                                         "v.is_leaf"};
    uint64_t seed = 99;
    unsigned accepted = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        char lines[10][200], when[500] = "";
        bool held[10];
        enum tc_deduction first = TC_DEDUCE_COUNT;
        size_t n = 2 + unit_random(&seed) % 8;
        for (size_t i = 0; i < n; i++) {
            size_t size = 0;
            for (size_t f = 0; f < N_OF(fields); f++)
                size += (size_t)snprintf(lines[i] + size, sizeof(lines[i]) - size, "%s%s=%s",
                                         f ? " " : "", fields[f],
                                         unit_random(&seed) % 2 ? "true" : "false");
            held[i] = unit_random(&seed) % 3 > 0;
        }
        for (size_t turn = 0; turn < 4; turn++) {
            void *fresh;
            setup(&fresh);
            struct world *w = fresh;
            for (size_t i = 0; i < n; i++) {
                size_t j = turn % 2 ? n - 1 - i : (i + turn) % n;
                see(w, j % 2 ? "a" : "b", held[j] ? "held" : "broke", 3, lines[j]);
            }
            enum tc_deduction result = deduce(w);
            if (turn == 0)
                memcpy(when, w->when, sizeof(when));
            assert_int_equal(result, turn ? first : result);
            assert_string_equal(w->when, when);
            first = result;
            accepted += result == TC_DEDUCE_ACCEPTED;
            if (result == TC_DEDUCE_ACCEPTED)
                assert_int_equal(w->invariant.broken, 0);
            teardown(&fresh);
        }
    }
    assert_true(accepted > 100);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nothing_broke_nothing_needed),
        T(what_never_held_or_hardly_is_dropped),
        T(undecided_examples_count_nowhere),
        T(several_pipelines_must_agree),
        T(the_first_by_order_of_fields_wins),
        T(what_covers_more_wins_over_order),
        T(a_shorter_one_wins_over_an_equal_longer),
        T(three_clauses_are_found_and_four_are_not),
        T(is_not_is_said_of_closed_values_only),
        T(is_not_is_never_said_of_open_fields),
        T(an_absent_field_is_not_everything),
        T(an_open_field_needs_four_pipelines),
        T(a_mixed_situation_counts_as_broken),
        T(four_of_five_pipelines_are_enough),
        T(what_the_precondition_excludes_is_no_evidence),
        T(a_context_is_known_once_two_pipelines_had_it),
        cmocka_unit_test(the_order_of_examples_does_not_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
