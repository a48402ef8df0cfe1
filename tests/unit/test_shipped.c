/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shipped.c - the sets behind @NAME, and which of them a run has to do with
 */
#include "feed.h"

#include "base/fs.h"
#include "base/near.h"
#include "check/choice.h"
#include "invariant/shipped.h"

#define LINE(call)                                                         \
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"" call    \
    "\"},{\"change\":\"Parameter\",\"attr\":\"data\",\"to\":\"changed\"}]" \
    "}\n"
#define FOR(packages, more)                                                                      \
    "{\"traincheck\":\"invariants\",\"schema\":1,\"for\":{\"packages\":[" packages "]" more "}," \
    "\"learned_with\":{\"torch\":\"2.13.0\"}}\n"

struct fixture {
    char *folder;
    struct tc_strtab *symbols;
    struct tc_invariant_set set;
    struct tc_error err;
};

static void put(const struct fixture *f, const char *name, const char *text)
{
    char *path = tc_fs_join(f->folder, name);

    assert_int_equal(tc_fs_write(path, text, strlen(text), NULL), TC_OK);
    tc_free(path);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->folder = unit_folder();
    put(f, "core.jsonl", FOR("\"torch\"", "") LINE("step") LINE("backward"));
    put(f, "ranks.jsonl", FOR("\"torch\"", ",\"processes\":\"many\"") LINE("all_reduce"));
    put(f, "library.jsonl", FOR("\"peft\",\"accelerate\"", "") LINE("prepare"));
    put(f, "README.md", "no set");
    setenv(TC_SHIPPED_FOLDER, f->folder, 1);
    f->symbols = tc_symbols_new();
    tc_invariant_set_init(&f->set, f->symbols);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    tc_invariant_set_release(&f->set);
    tc_strtab_free(f->symbols);
    unit_remove(f->folder);
    free(f);
    return 0;
}

static void a_set_is_read_by_its_name(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tc_invariant_set_read(&f->set, "@core", &f->err), TC_OK);
    assert_int_equal(f->set.items.n, 2);
    assert_string_equal(f->set.items.items[0]->file->name, "@core");
    assert_false(f->set.items.items[0]->file->is_optional);
    assert_string_equal(f->set.items.items[0]->file->torch, "2.13.0");
}

static void all_is_every_set_each_for_its_runs(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tc_invariant_set_read(&f->set, "@all", &f->err), TC_OK);
    assert_int_equal(f->set.items.n, 4);
    assert_int_equal(f->set.files.n, 3);
    for (size_t i = 0; i < f->set.files.n; i++)
        assert_true(f->set.files.items[i]->is_optional);
    assert_string_equal(f->set.files.items[1]->name, "@library");
    assert_int_equal(f->set.files.items[1]->n_packages, 2);
    assert_true(f->set.files.items[2]->is_for_many);
}

static void what_is_given_by_name_is_not_optional(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tc_invariant_set_read(&f->set, "@all", &f->err), TC_OK);
    assert_int_equal(tc_invariant_set_read(&f->set, "@ranks", &f->err), TC_OK);
    assert_int_equal(f->set.items.n, 4);
    assert_string_equal(f->set.items.items[3]->file->name, "@ranks");
    assert_false(f->set.items.items[3]->file->is_optional);
    assert_true(f->set.items.items[2]->file->is_optional);
}

static void a_wrong_name_is_answered_with_those_there_are(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tc_invariant_set_read(&f->set, "@rank", &f->err), TC_E_NOTFOUND);
    assert_string_equal(f->err.text, "no shipped set is called '@rank': did you mean '@ranks'? "
                                     "There are @all, @core, @library, @ranks");
    assert_int_equal(tc_invariant_set_read(&f->set, "@nonsense", &f->err), TC_E_NOTFOUND);
    assert_string_equal(f->err.text, "no shipped set is called '@nonsense'; there are @all, @core, "
                                     "@library, @ranks");
}

static void without_a_variable_the_folder_is_beside_the_programs(void **state)
{
    struct fixture *f = *state;
    char *beside = tc_fs_installed("share/traincheck/invariants");

    assert_int_equal(*beside, '/');
    assert_null(strstr(beside, "/bin/"));
    setenv(TC_SHIPPED_FOLDER, "", 1); /* as if it were not set */
    if (!tc_fs_exists(beside)) {
        assert_int_equal(tc_invariant_set_read(&f->set, "@core", &f->err), TC_E_NOTFOUND);
        assert_non_null(strstr(f->err.text, beside));
    }
    tc_free(beside);
}

/* ---- which sets a run has to do with ------------------------------------------------------- */

static void drop_event(void *context, const struct tc_event *event)
{
    (void)context;
    (void)event;
}

/* "core library": what @all takes for a run with that process record. */
static void expect_choice(struct fixture *f, const char *process, const char *expected)
{
    struct tc_engine *engine = tc_engine_new(&f->set, f->symbols);
    struct tc_check_result result = {0};
    struct tc_choice choice;
    struct feed feed;
    char taken[128] = "";
    size_t n = 0;

    tc_choice_init(&choice, &f->set);
    feed_open(&feed, f->symbols, process, drop_event, NULL);
    tc_choice_meet(&choice, tc_replay_process(feed.replay, 0), feed.notes);
    tc_choice_meet(&choice, tc_replay_process(feed.replay, 0), feed.notes);
    tc_choice_apply(&choice, engine, &result);
    for (size_t i = 0; i < result.n_sets; i++)
        if (result.sets[i].is_chosen)
            n += (size_t)snprintf(taken + n, sizeof(taken) - n, "%s ", result.sets[i].name);
    assert_string_equal(taken, expected);
    feed_close(&feed);
    tc_choice_release(&choice);
    tc_engine_free(engine);
}

static void a_run_takes_the_sets_of_its_packages(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(tc_invariant_set_read(&f->set, "@all", &f->err), TC_OK);
    expect_choice(f, FEED_PROCESS, "@core ");
    expect_choice(f,
                  "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\",\"world_size\":2,"
                  "\"packages\":{\"torch\":\"2\",\"accelerate\":\"1\"}}",
                  "@core @library @ranks ");
    expect_choice(
        f, "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\",\"packages\":{}}", "");
    expect_choice(f, "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\"}",
                  "@core @library @ranks ");
}

static void results_tell_of_what_was_taken(void **state)
{
    struct fixture *f = *state;
    struct tc_check_result result = {0};
    struct tc_engine *engine;
    struct tc_choice choice;
    struct feed feed;

    assert_int_equal(tc_invariant_set_read(&f->set, "@all", &f->err), TC_OK);
    engine = tc_engine_new(&f->set, f->symbols);
    tc_choice_init(&choice, &f->set);
    feed_open(&feed, f->symbols, FEED_PROCESS, drop_event, NULL);
    tc_choice_meet(&choice, tc_replay_process(feed.replay, 0), feed.notes);
    assert_int_equal(tc_engine_count(engine), 4);
    tc_choice_apply(&choice, engine, &result);
    assert_int_equal(tc_engine_count(engine), 2);
    assert_string_equal(tc_engine_judgement(engine, 1)->invariant->file->name, "@core");
    assert_string_equal(result.sets[1].why, "without peft, accelerate");
    assert_string_equal(result.sets[2].why, "a run of one process");
    /* Learned with torch 2.13, met torch 2: said once. */
    assert_int_equal(tc_notes_count(feed.notes), 1);
    assert_string_equal(tc_notes_get(feed.notes, 0)->code, "other-torch");
    feed_close(&feed);
    tc_choice_release(&choice);
    tc_engine_free(engine);
}

static void near_is_what_differs_in_few_letters(void **state)
{
    struct tc_near near;

    (void)state;
    assert_false(tc_near_begin(&near, "x", 1));
    assert_true(tc_near_begin(&near, "pytroch", 7));
    assert_false(tc_near_try(&near, "transformers"));
    assert_true(tc_near_try(&near, "pytorch"));
    assert_false(tc_near_try(&near, "pytorches")); /* no nearer */
    assert_true(tc_near_begin(&near, "dist", 4));
    assert_true(tc_near_try(&near, "distributed")); /* begins so */
    assert_true(tc_near_begin(&near, "pytorch", 7));
    assert_false(tc_near_try(&near, "a-name-that-is-longer-than-anything-compared"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_set_is_read_by_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(all_is_every_set_each_for_its_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_given_by_name_is_not_optional, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_name_is_answered_with_those_there_are, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_variable_the_folder_is_beside_the_programs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_run_takes_the_sets_of_its_packages, setup, teardown),
        cmocka_unit_test_setup_teardown(results_tell_of_what_was_taken, setup, teardown),
        cmocka_unit_test(near_is_what_differs_in_few_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
