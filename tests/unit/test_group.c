/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_group.c - which violations have one cause, and which of them is its head
 */
#include "unit.h"

#include "base/fs.h"

#include "check/group.h"
#include "check/suppress.h"
#include "replay/symbols.h"

#define MAX 16

struct fixture {
    struct tc_strtab *symbols;
    struct tc_arena arena;
    struct tc_violation *items[MAX];
    size_t n;
    struct tc_groups groups;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->symbols = tc_symbols_new();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tc_groups_release(&f->groups);
    tc_arena_release(&f->arena);
    tc_strtab_free(f->symbols);
    free(f);
    return 0;
}

/* A violation of a form, judged on a call (or NULL: on a window) at a moment of a step. */
static struct tc_violation *add(struct fixture *f, const char *form, const char *call, int64_t step,
                                int64_t moment)
{
    struct tc_invariant *x = tc_arena_zalloc(&f->arena, sizeof(*x));
    struct tc_violation *v = tc_arena_zalloc(&f->arena, sizeof(*v));

    snprintf(x->id, sizeof(x->id), "X-%zu", f->n);
    v->invariant = x;
    v->relation = tc_relation_find(form);
    assert_non_null(v->relation);
    v->call = call ? call : "";
    v->at = v->first.file = "";
    v->step = step;
    v->moment_ns = moment;
    f->items[f->n++] = v;
    return v;
}

static void inside(struct fixture *f, struct tc_violation *v, const char *call)
{
    v->inside = tc_arena_copy(&f->arena, &call, sizeof(call));
    v->n_inside = 1;
}

static void param(struct fixture *f, struct tc_violation *v, enum tc_param_kind kind,
                  const char *name, const char *to)
{
    struct tc_invariant *x = (struct tc_invariant *)v->invariant;

    x->params[x->n_params++] =
        (struct tc_param){.kind = kind,
                          .name = tc_strtab_intern_text(f->symbols, name),
                          .attr = TC_SYM_DATA,
                          .to = to ? tc_strtab_intern_text(f->symbols, to) : TC_NO_SYM};
}

static void variable(struct tc_violation *v, const char *name)
{
    v->variables[v->n_variables++].name = name;
}

static int compare(const void *a, const void *b)
{
    return tc_violation_compare(*(const struct tc_violation *const *)a,
                                *(const struct tc_violation *const *)b);
}

/* The groups as "0 2 | 1": numbers of violations in the order they were added. */
static void assert_groups(struct fixture *f, const char *expected)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    qsort(f->items, f->n, sizeof(*f->items), compare);
    tc_groups_make(&f->groups, (const struct tc_violation *const *)f->items, f->n, f->symbols);
    assert_int_equal(f->groups.n_all, f->n);
    for (size_t i = 0; i < f->groups.n; i++) {
        tc_strbuf_adds(&text, i ? " |" : "");
        for (size_t j = 0; j < f->groups.items[i].n; j++)
            tc_strbuf_addf(&text, "%s%s", i || j ? " " : "",
                           f->groups.items[i].items[j]->invariant->id + 2);
    }
    assert_string_equal(text.text ? text.text : "", expected);
    tc_strbuf_release(&text);
}

static void none(void **state)
{
    assert_groups(*state, "");
}

static void what_shares_nothing_stays_apart(void **state)
{
    struct fixture *f = *state;

    add(f, "APIArg/constant", "f", 3, 10)->at = "a.py:1";
    add(f, "APIArg/constant", "g", 3, 5)->at = "a.py:2";
    assert_groups(f, "1 | 0");
}

static void a_variable(void **state)
{
    struct fixture *f = *state;

    variable(add(f, "EventContain/each", "step", 3, 20), "w");
    variable(add(f, "Consistent/replica", NULL, 3, 10), "w");
    variable(add(f, "EventContain/none", "forward", 3, 5), "b");
    assert_groups(f, "2 | 1 0");
}

static void a_call_inside_another(void **state)
{
    struct fixture *f = *state;

    inside(f, add(f, "APIArg/constant", "dropout", 3, 20), "root.forward");
    add(f, "APIArg/constant", "root.forward", 3, 10);
    assert_groups(f, "1 0");
}

static void two_calls_inside_one_that_is_fine(void **state)
{
    struct fixture *f = *state;

    inside(f, add(f, "APIArg/constant", "dropout", 3, 20), "root.forward");
    inside(f, add(f, "APIOutput/finite", "softmax", 3, 10), "root.forward");
    assert_groups(f, "1 | 0");
}

/* A sequence names the forward; that does not make it the cause of what happens inside. */
static void a_call_inside_one_that_a_sequence_names(void **state)
{
    struct fixture *f = *state;

    inside(f, add(f, "APIArg/constant", "dropout", 3, 20), "root.forward");
    param(f, add(f, "APISequence/window", NULL, 3, 10), TC_PARAM_CALL, "root.forward[train,grad]",
          NULL);
    assert_groups(f, "1 | 0");
}

static void a_sequence_and_a_call_it_names(void **state)
{
    struct fixture *f = *state;

    param(f, add(f, "APISequence/window", NULL, 3, 10), TC_PARAM_CALL, "root.forward[train,grad]",
          NULL);
    add(f, "APIArg/constant", "root.forward", 3, 15);
    assert_groups(f, "0 1");
}

static void a_mode(void **state)
{
    struct fixture *f = *state;

    param(f, add(f, "APIArg/equal", "relu", 3, 20), TC_PARAM_OPERAND, "args.input.dtype",
          "ctx.autocast");
    param(f, add(f, "APIOutput/equal", "linear", 3, 10), TC_PARAM_OPERAND, "value.dtype",
          "ctx.autocast");
    param(f, add(f, "APIOutput/equal", "other", 3, 30), TC_PARAM_OPERAND, "value.dtype",
          "args.input.dtype");
    f->items[1]->at = "a.py:1";
    f->items[2]->at = "a.py:2";
    assert_groups(f, "1 0 | 2");
}

static void changes_of_one_kind(void **state)
{
    struct fixture *f = *state;

    param(f, add(f, "EventContain/some", "backward", 3, 10), TC_PARAM_CHANGE, "Parameter", NULL);
    param(f, add(f, "EventContain/some", "step", 3, 20), TC_PARAM_CHANGE, "Parameter", NULL);
    param(f, add(f, "EventContain/some", "forward", 3, 5), TC_PARAM_CHANGE, "buffer", NULL);
    for (size_t i = 0; i < 3; i++)
        f->items[i]->at = i == 2 ? "a.py:1" : "a.py:2";
    assert_groups(f, "2 | 0 1");
}

static void one_form_at_one_line(void **state)
{
    struct fixture *f = *state;

    add(f, "APIOutput/finite", "softmax", 3, 20)->at = "a.py:9";
    add(f, "APIOutput/finite", "linear", 3, 10)->at = "a.py:9";
    add(f, "APIOutput/upper", "linear2", 3, 15)->at = "a.py:9";
    assert_groups(f, "1 0 | 2");
}

static void one_form_in_workers(void **state)
{
    struct fixture *f = *state;

    add(f, "APIArg/distinct", "seed", 0, 20)->at = "a.py:9";
    add(f, "APIArg/distinct", "from_numpy", 0, 10)->at = "a.py:7";
    f->items[0]->is_worker = f->items[1]->is_worker = true;
    add(f, "APIArg/distinct", "init", 0, 5)->at = "a.py:5";
    assert_groups(f, "2 | 1 0");
}

/* One step after the head, not after the last one; a form that waits has longer. */
static void the_next_step_and_no_more(void **state)
{
    struct fixture *f = *state;

    add(f, "APIOutput/finite", "f", 3, 0);
    add(f, "APIOutput/upper", "f", 4, 0);
    variable(add(f, "EventContain/each", "f", 6, 0), "w");
    add(f, "APIOutput/finite", "g", 3, 1)->at = "a.py:1";
    add(f, "APIOutput/upper", "g", 5, 0)->at = "a.py:1";
    assert_groups(f, "0 1 2 | 3 | 4");
}

static void groups_that_turn_out_to_be_one(void **state)
{
    struct fixture *f = *state;

    add(f, "APIOutput/upper", "f", 3, 10);
    add(f, "APIArg/constant", "g", 3, 20);
    variable(add(f, "EventContain/each", "h", 3, 30), "w");
    inside(f, add(f, "APIOutput/finite", "f", 3, 40), "g");
    assert_groups(f, "0 1 3 | 2");
}

static void steps_that_no_run_has(void **state)
{
    struct fixture *f = *state;

    add(f, "APIOutput/finite", "f", INT64_MIN, 0);
    add(f, "APIOutput/finite", "f", INT64_MAX, 0);
    add(f, "APIOutput/finite", "f", -1, 0);
    assert_groups(f, "0 | 2 | 1");
}

/* A fact of that key that follows from another one, or from none. */
static struct tc_violation *fact(struct fixture *f, const char *call, int64_t step, const char *key,
                                 const char *cause)
{
    static const struct tc_fact any = {.attribute = TC_ATTRIBUTE_VALUE};
    struct tc_violation *v = add(f, "APIArg/value", call, step, step);
    struct tc_invariant *x = (struct tc_invariant *)v->invariant;

    v->at = call;
    v->key = tc_strtab_intern_text(f->symbols, key);
    v->cause = cause ? tc_strtab_intern_text(f->symbols, cause) : TC_SYM_EMPTY;
    x->params[0] = tc_param_fact(&any);
    x->n_params = 1;
    return v;
}

static void what_follows_from_a_fact_is_led_by_it(void **state)
{
    struct fixture *f = *state;

    fact(f, "f", 1, "a", NULL);
    fact(f, "g", 2, "b", NULL);
    fact(f, "h", 90, "c", "a");
    fact(f, "g", 91, "d", "gone");
    assert_groups(f, "0 2 | 1 | 3");
}

/* Settings alone come last, one that a law follows from leads it; neither is tied by its call. */
/* A changed number leads to what it is given to; another form tells of that call, too. */
static void what_other_forms_say_of_a_call_has_the_cause_of_its_facts(void **state)
{
    struct fixture *f = *state;

    fact(f, "f", 1, "a", NULL)->is_setting = true;
    fact(f, "g", 2, "b", "a");
    add(f, "APIArg/equal", "g", 2, 2);
    add(f, "APIArg/equal", "h", 2, 2)->at = "a.py:7";
    assert_groups(f, "0 1 2 | 3");
}

static void what_a_step_shows_follows_from_the_law_before_it(void **state)
{
    struct fixture *f = *state;

    add(f, "Consistent/replica", "g", 2, 1)->at = "a.py:7";
    fact(f, "", 2, "a", NULL);
    fact(f, "", 5, "b", NULL);
    assert_groups(f, "0 1 | 2");
}

static void settings_come_last(void **state)
{
    struct fixture *f = *state;

    fact(f, "f", 1, "a", NULL)->is_setting = true;
    fact(f, "f", 1, "b", NULL)->is_setting = true;
    fact(f, "f", 2, "c", "b");
    fact(f, "f", 2, "d", NULL);
    assert_groups(f, "1 2 | 3 | 0");
    assert_int_equal(f->groups.n_settings, 1);
}

/* Of a call: an operand that was `from` is `to`. */
static struct tc_violation *changed(struct fixture *f, const char *path, const char *from,
                                    const char *to)
{
    struct tc_violation *v = fact(f, "f", (int64_t)f->n, path, NULL);
    struct tc_fact *x = tc_arena_zalloc(&f->arena, sizeof(*x));
    const tc_sym outcome = tc_strtab_intern_text(f->symbols, to);

    *x = (struct tc_fact){.attribute = TC_ATTRIBUTE_VALUE,
                          .path = tc_strtab_intern_text(f->symbols, path),
                          .value = tc_strtab_intern_text(f->symbols, from)};
    ((struct tc_invariant *)v->invariant)->params[0] = tc_param_fact(x);
    v->outcome = tc_arena_copy(&f->arena, &outcome, sizeof(outcome));
    v->n_outcome = 1;
    v->is_setting = true;
    return v;
}

static void one_setting_in_many_places_is_one_change(void **state)
{
    struct fixture *f = *state;

    changed(f, "args.lr", "0.01", "0.02");
    changed(f, "self.initial_lr", "0.01", "0.02");
    changed(f, "args.weight_decay", "0.01", "0.02");
    changed(f, "lr", "0.01", "0.03");
    changed(f, "lr", "0.01", "0.02");
    changed(f, "lr", "0.01", "0.02")->first.run = 1;
    fact(f, "g", 9, "x", "args.weight_decay");
    assert_groups(f, "2 6 | 0 1 4 | 3 | 5");
    assert_int_equal(f->groups.n_settings, 3);
}

static void suppressions_are_lines_of_id_and_reason(void **state)
{
    struct tc_suppressions s = {0};
    struct tc_error err;
    char *folder = unit_folder(), *path = tc_fs_join(folder, "known");
    const char good[] = "# EC-1 no\n\n  EC-2\t the reason is  this \r\nEC-3 x";
    const char bad[] = "EC-2 fine\nEC-3\n";

    (void)state;
    assert_int_equal(tc_fs_write(path, good, strlen(good), &err), TC_OK);
    assert_int_equal(tc_suppressions_read(&s, path, &err), TC_OK);
    assert_null(tc_suppressions_reason(&s, "EC-1"));
    assert_string_equal(tc_suppressions_reason(&s, "EC-2"), "the reason is  this");
    assert_string_equal(tc_suppressions_reason(&s, "EC-3"), "x");
    assert_int_equal(tc_fs_write(path, bad, strlen(bad), &err), TC_OK);
    assert_int_equal(tc_suppressions_read(&s, path, &err), TC_E_FORMAT);
    assert_non_null(strstr(err.text, "known: line 2: "));
    tc_suppressions_release(&s);
    tc_free(path);
    unit_remove(folder);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(none),
        T(what_shares_nothing_stays_apart),
        T(a_variable),
        T(a_call_inside_another),
        T(two_calls_inside_one_that_is_fine),
        T(a_call_inside_one_that_a_sequence_names),
        T(a_sequence_and_a_call_it_names),
        T(a_mode),
        T(changes_of_one_kind),
        T(one_form_at_one_line),
        T(one_form_in_workers),
        T(the_next_step_and_no_more),
        T(groups_that_turn_out_to_be_one),
        T(steps_that_no_run_has),
        T(what_follows_from_a_fact_is_led_by_it),
        T(what_other_forms_say_of_a_call_has_the_cause_of_its_facts),
        T(what_a_step_shows_follows_from_the_law_before_it),
        T(settings_come_last),
        T(one_setting_in_many_places_is_one_change),
        T(suppressions_are_lines_of_id_and_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
