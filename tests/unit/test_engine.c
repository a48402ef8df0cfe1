/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine.c - verdicts, violations in reading order, memory
 */
#include "feed.h"

#include <malloc.h>

#include "base/fs.h"
#include "check/engine.h"

static const char invariants[] =
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"step\"},{\"change\":\"Parameter\",\"attr\":\"data\",\"to\":\"changed\"}]}\n"
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"backward\"},{\"change\":\"Parameter\",\"attr\":\"grad\",\"from\":\"clear\","
    "\"to\":\"non_zero\"}]}\n"
    "{\"relation\":\"APISequence/window\",\"params\":[{\"call\":\"zero_grad\",\"role\":\"zero_grad\"},{\"call\":\"step\",\"role\":\"step\"}]}\n"
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"unscale\"},{\"change\":\"Parameter\",\"attr\":\"grad\",\"to\":\"x\"}]}\n"
    "{\"relation\":\"EventContain/some\",\"params\":[{\"call\":\"scaler\"},{\"call\":\"step\",\"role\":\"step\"}],"
    "\"evidence\":{\"contexts\":{\"world\":[\"many\"]}}}\n"
    "{\"relation\":\"Newer/form\",\"params\":[{\"call\":\"f\"}]}\n";

enum {
    STEP,
    BACKWARD,
    WINDOW,
    UNSCALE,
    SCALER,
    NEWER
};

struct fixture {
    struct tc_strtab *symbols;
    struct tc_invariant_set set;
    struct tc_engine *engine;
    struct feed feed;
    int id;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char *folder = unit_folder(), *path = tc_fs_join(folder, "i.jsonl");

    f->symbols = tc_symbols_new();
    tc_invariant_set_init(&f->set, f->symbols);
    assert_int_equal(tc_fs_write(path, invariants, strlen(invariants), NULL), TC_OK);
    assert_int_equal(tc_invariant_set_read(&f->set, path, NULL), TC_OK);
    tc_free(path);
    unit_remove(folder);
    f->engine = tc_engine_new(&f->set, f->symbols);
    tc_engine_begin(f->engine, "run");
    feed_open(&f->feed, f->symbols, FEED_PROCESS, tc_engine_judge, f->engine);
    feed_apis(&f->feed);
    feed_line(
        &f->feed,
        "{\"type\":\"var\",\"var\":9,\"t\":1,\"name\":\"w\",\"kind\":\"Parameter\",\"attrs\":{\"data\":"
        "\"00000000000000aa\",\"grad\":\"null\"}}");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    feed_close(&f->feed);
    tc_engine_free(f->engine);
    tc_invariant_set_release(&f->set);
    tc_strtab_free(f->symbols);
    free(f);
    return 0;
}

static void call(struct fixture *f, const char *fn, int step)
{
    char more[64];

    snprintf(more, sizeof(more), ",\"by\":\"user\",\"step\":%d", step);
    feed_call(&f->feed, ++f->id, fn, more);
    feed_return(&f->feed, f->id);
}

/* A window in which no variable changes. */
static void idle_window(struct fixture *f, int step, bool with_zero_grad)
{
    if (with_zero_grad)
        call(f, "zero_grad", step);
    call(f, "backward", step);
    call(f, "step", step);
    feed_cut(&f->feed, step, "data");
}

static enum tc_verdict verdict(const struct fixture *f, size_t i)
{
    return tc_engine_verdict(tc_engine_judgement(f->engine, i));
}

static void every_verdict(void **state)
{
    struct fixture *f = *state;

    idle_window(f, 0, true);
    call(f, "scaler", 1);
    assert_int_equal(verdict(f, STEP), TC_VERDICT_FAILED);
    assert_int_equal(verdict(f, WINDOW), TC_VERDICT_PASSED);
    assert_int_equal(verdict(f, UNSCALE), TC_VERDICT_NOT_TRIGGERED);
    assert_int_equal(verdict(f, SCALER), TC_VERDICT_NOT_TRIGGERED);
    assert_int_equal(tc_engine_judgement(f->engine, SCALER)->out_of_context, 1);
    assert_int_equal(verdict(f, NEWER), TC_VERDICT_UNCHECKED);
}

static void a_missing_call_comes_before_its_effects(void **state)
{
    struct fixture *f = *state;
    size_t n;

    idle_window(f, 4, false);
    struct tc_violation **list = tc_engine_violations(f->engine, &n);
    assert_int_equal(n, 3);
    assert_string_equal(list[0]->relation->name, "APISequence/window");
    assert_string_equal(list[1]->call, "backward");
    assert_string_equal(list[2]->call, "step");
    for (size_t i = 0; i < n; i++)
        assert_int_equal(list[i]->step, 4);
    tc_free(list);
}

static void earlier_steps_come_first(void **state)
{
    struct fixture *f = *state;
    size_t n;

    idle_window(f, 0, true);
    idle_window(f, 1, false);
    struct tc_violation **list = tc_engine_violations(f->engine, &n);
    assert_int_equal(n, 3);
    assert_string_equal(list[0]->call, "backward");
    assert_string_equal(list[1]->call, "step");
    assert_string_equal(list[2]->call, "");
    assert_int_equal(list[2]->step, 1);
    tc_free(list);
}

static void repeats_are_one_violation(void **state)
{
    struct fixture *f = *state;
    size_t n;

    for (int i = 0; i < 25; i++)
        idle_window(f, i, true);
    struct tc_violation **list = tc_engine_violations(f->engine, &n);
    assert_int_equal(n, 2);
    assert_int_equal(list[0]->count, 25);
    assert_int_equal(list[0]->n_steps, TC_VIOLATION_STEPS);
    assert_int_equal(list[0]->steps[9], 9);
    assert_int_equal(list[0]->last_step, 24);
    tc_free(list);
}

static void the_calls_before_are_told(void **state)
{
    struct fixture *f = *state;

    /* A step before any forward is a pause. */
    feed_call(&f->feed, ++f->id, "forward",
              ",\"by\":\"user\",\"step\":0,\"self\":{\"object\":\"N\",\"role\":\"root\"}");
    feed_return(&f->feed, f->id);
    for (int i = 0; i < 7; i++)
        call(f, "zero_grad", 0);
    call(f, "add", 0);
    call(f, "scheduler", 0);
    call(f, "step", 0);
    const struct tc_violation *v = tc_engine_judgement(f->engine, STEP)->violation;
    assert_int_equal(v->n_before, TC_VIOLATION_BEFORE);
    assert_string_equal(v->before[2].call, "zero_grad");
    assert_string_equal(v->before[3].call, "scheduler");
}

/* A long run needs no more than a short one. Says nothing under a sanitizer, which counts nothing.
 */
static void memory_does_not_grow_with_repeats(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 200; i++)
        idle_window(f, i, i % 3);
    size_t before = mallinfo2().uordblks, words = tc_strtab_count(f->symbols);
    for (int i = 200; i < 20000; i++)
        idle_window(f, i, i % 3);
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(tc_strtab_count(f->symbols), words);
}

/* The process traced APIs and no variables: a step that contains no change tells nothing. */
static void what_was_not_traced_is_not_judged(void **state)
{
    struct fixture *f = *state;
    struct feed feed;

    tc_engine_begin(f->engine, "selective");
    feed_open(
        &feed, f->symbols,
        "{\"type\":\"process\",\"schema\":1,\"pid\":1,\"role\":\"main\","
        "\"selection\":{\"apis\":[\"step\",\"zero_grad\",\"scaler\"],\"roles\":[\"load\",\"save\",\"step\"]}}",
        tc_engine_judge, f->engine);
    feed_apis(&feed);
    for (int i = 1; i < 9; i += 3) {
        feed_call(&feed, i, "backward", ",\"by\":\"user\"");
        feed_return(&feed, i);
        feed_call(&feed, i + 1, "step", ",\"by\":\"user\"");
        feed_return(&feed, i + 1);
        feed_cut(&feed, i / 3, "data");
    }
    assert_int_equal(verdict(f, STEP), TC_VERDICT_UNCHECKED);
    assert_int_equal(verdict(f, BACKWARD), TC_VERDICT_UNCHECKED);
    assert_int_equal(verdict(f, WINDOW), TC_VERDICT_FAILED);
    assert_int_equal(verdict(f, SCALER), TC_VERDICT_NOT_TRIGGERED);
    assert_string_equal(
        tc_engine_judgement(f->engine, STEP)->unchecked,
        "parameters and buffers: not traced, as the trace was taken for other invariants");
    assert_string_equal(tc_engine_judgement(f->engine, UNSCALE)->unchecked,
                        "unscale: not traced, as the trace was taken for other invariants");
    feed_close(&feed);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_verdict),
        T(a_missing_call_comes_before_its_effects),
        T(earlier_steps_come_first),
        T(repeats_are_one_violation),
        T(the_calls_before_are_told),
        T(what_was_not_traced_is_not_judged),
        T(memory_does_not_grow_with_repeats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
