/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - records in, events out
 */
#include "feed.h"

#include "base/strbuf.h"
#include "replay/span.h"
#include "trace/schema.h"

/* What was seen of each event, as one line of text. */
struct seen {
    struct tc_strtab *symbols;
    struct tc_strbuf text;
};

static void see_call(struct seen *seen, const struct tc_call *call)
{
    tc_strbuf_addf(&seen->text, "%s%s%s%s%s", tc_strtab_text(seen->symbols, call->descriptor),
                   call->raised ? " raised" : "",
                   call->after & TC_PHASE_FORWARD ? " after-forward" : "",
                   call->after & TC_PHASE_BACKWARD ? " after-backward" : "",
                   call->after & TC_PHASE_UNSCALE ? " after-unscale" : "");
    /* Contents stand in the order of symbols, which is that of their first appearance. */
    for (size_t i = 0; i < call->contents.n; i++)
        tc_strbuf_addf(&seen->text, " {%s}",
                       tc_strtab_text(seen->symbols, call->contents.items[i]));
    tc_strbuf_addc(&seen->text, '\n');
}

static void see_window(struct seen *seen, const struct tc_window *window)
{
    tc_strbuf_addf(&seen->text, "window %d%s:", (int)window->step,
                   window->has_step ? " stepped" : "");
    for (size_t i = 0; i < window->members.n; i++)
        tc_strbuf_addf(&seen->text, " %s%s", window->members.items[i].is_void ? "-" : "",
                       tc_strtab_text(seen->symbols, window->members.items[i].descriptor));
    tc_strbuf_addc(&seen->text, '\n');
}

static void on_event(void *context, const struct tc_event *event)
{
    if (event->kind == TC_EVENT_CALL)
        see_call(context, event->call);
    else if (event->kind == TC_EVENT_WINDOW)
        see_window(context, event->window);
}

struct fixture {
    struct feed feed;
    struct seen seen;
};

static int setup_as(void **state, const char *process)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->seen.symbols = tc_symbols_new();
    feed_open(&f->feed, f->seen.symbols, process, on_event, &f->seen);
    feed_apis(&f->feed);
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_as(state, FEED_PROCESS);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    feed_close(&f->feed);
    tc_strtab_free(f->seen.symbols);
    tc_strbuf_release(&f->seen.text);
    free(f);
    return 0;
}

#define ROOT \
    ",\"by\":\"user\",\"self\":{\"object\":\"Net\",\"id\":1,\"attrs\":{\"training\":true},\"role\":\"root\"}"
#define USER ",\"by\":\"user\""

static void expect(struct fixture *f, const char *want)
{
    assert_string_equal(f->seen.text.text ? f->seen.text.text : "", want);
}

static void call(struct fixture *f, int id, const char *fn, const char *more)
{
    feed_call(&f->feed, id, fn, more);
    feed_return(&f->feed, id);
}

static void phases_pass_in_a_window(void **state)
{
    struct fixture *f = *state;

    call(f, 1, "forward", ROOT);
    call(f, 2, "backward", USER);
    call(f, 3, "unscale", USER);
    call(f, 4, "step", USER);
    call(f, 5, "add", USER);
    feed_cut(&f->feed, 0, "data");
    call(f, 6, "add", USER);
    expect(f, "root.forward\n"
              "backward after-forward\n"
              "unscale after-forward after-backward\n"
              "step after-forward after-backward after-unscale\n"
              "add after-forward after-unscale\n"
              "window 0 stepped: root.forward[train,grad] backward unscale step\n"
              "add\n");
}

static void a_raised_call_passes_no_phase_and_is_void(void **state)
{
    struct fixture *f = *state;

    feed_call(&f->feed, 1, "backward", USER);
    feed_line(&f->feed, "{\"type\":\"raise\",\"id\":1,\"t\":11,\"exc\":\"ValueError\"}");
    feed_call(&f->feed, 2, "step", USER);
    feed_line(&f->feed, "{\"type\":\"raise\",\"id\":2,\"t\":21,\"exc\":\"ValueError\"}");
    feed_cut(&f->feed, 0, "data");
    expect(f, "backward raised\nstep raised\nwindow 0: -backward\n");
}

static void contents_reach_all_that_encloses(void **state)
{
    struct fixture *f = *state;

    feed_line(&f->feed, "{\"type\":\"var\",\"var\":9,\"t\":1,\"name\":\"w\",\"kind\":\"Parameter\","
                        "\"attrs\":{\"data\":\"00000000000000aa\",\"grad\":\"null\"}}");
    feed_call(&f->feed, 1, "scaler", USER);
    feed_call(&f->feed, 2, "add", ",\"parent\":1");
    feed_call(&f->feed, 3, "step", ",\"parent\":2");
    feed_line(
        &f->feed,
        "{\"type\":\"var\",\"var\":9,\"t\":31,\"cause\":3,\"attrs\":{\"data\":\"00000000000000ab\"}}");
    feed_return(&f->feed, 3);
    feed_return(&f->feed, 2);
    feed_return(&f->feed, 1);
    expect(f, "step {change Parameter data - changed}\n"
              "add {change Parameter data - changed} {call step step}\n"
              "scaler {change Parameter data - changed} {call step step}\n");
}

static void a_digest_of_another_kind_is_no_change(void **state)
{
    struct fixture *f = *state;
    static const char *const digests[] = {
        "\"~00000000000000aa\"", "\"00000000000000bb\"", "null",
        "\"00000000000000cc\"",  "\"00000000000000cc\"", "\"00000000000000dd\""};
    char line[200];

    for (int i = 0; i < (int)N_OF(digests); i++) {
        feed_call(&f->feed, i + 1, "step", USER);
        snprintf(
            line, sizeof(line),
            "{\"type\":\"var\",\"var\":9,\"t\":1,\"kind\":\"Parameter\",\"cause\":%d,\"attrs\":{\"data\":%s}}",
            i + 1, digests[i]);
        feed_line(&f->feed, line);
        feed_return(&f->feed, i + 1);
    }
    expect(f, "step\nstep\nstep\nstep\nstep\nstep {change Parameter data - changed}\n");
}

static void a_step_stands_behind_what_it_contains(void **state)
{
    struct fixture *f = *state;

    feed_call(&f->feed, 1, "step", USER);
    call(f, 2, "zero_grad", ",\"parent\":1");
    call(f, 3, "forward", ",\"parent\":1,\"self\":{\"object\":\"N\",\"role\":\"root\"}");
    call(f, 4, "backward", ",\"parent\":1");
    feed_return(&f->feed, 1);
    tc_strbuf_reset(&f->seen.text);
    feed_cut(&f->feed, 0, "data");
    expect(f, "window 0 stepped: zero_grad root.forward[train,grad] backward step\n");
}

static void who_is_a_member(void **state)
{
    struct fixture *f = *state;

    call(f, 1, "scheduler", ",\"by\":\"torch\"");
    call(f, 2, "add", USER);
    call(f, 3, "backward", ",\"th\":1");
    feed_call(&f->feed, 4, "zero_grad", USER);
    call(f, 5, "zero_grad", ",\"parent\":4");
    call(f, 6, "scheduler", ",\"parent\":4");
    feed_return(&f->feed, 4);
    call(f, 7, "scheduler", ",\"by\":\"lightning\"");
    tc_strbuf_reset(&f->seen.text);
    feed_cut(&f->feed, 0, "data");
    expect(f, "window 0: zero_grad scheduler\n");
}

static void modes_of_a_root_forward(void **state)
{
    struct fixture *f = *state;

    call(f, 1, "forward", ROOT ",\"ctx\":{\"grad\":false}");
    call(
        f, 2, "forward",
        ",\"by\":\"user\",\"self\":{\"object\":\"N\",\"role\":\"root\",\"attrs\":{\"training\":false}}");
    call(
        f, 3, "forward",
        ",\"by\":\"user\",\"ctx\":{\"inference\":true},\"self\":{\"object\":\"N\",\"role\":\"root\","
        "\"attrs\":{\"training\":false}}");
    tc_strbuf_reset(&f->seen.text);
    feed_cut(&f->feed, 0, "data");
    expect(
        f,
        "window 0: root.forward[train,no_grad] root.forward[eval,grad] root.forward[eval,no_grad]\n");
}

static void end_of_run(struct fixture *f, const char *end)
{
    call(f, 1, "step", USER);
    feed_cut(&f->feed, 3, "end");
    if (end)
        feed_line(&f->feed, end);
    tc_replay_finish(f->feed.replay);
}

static void the_last_window_needs_a_good_end(void **state)
{
    struct fixture *f = *state;

    end_of_run(f, "{\"type\":\"end\",\"t\":99,\"exit\":0}");
    expect(f, "step\nwindow 3 stepped: step\n");
}

static void a_failed_process_has_no_last_window(void **state)
{
    struct fixture *f = *state;

    end_of_run(f, "{\"type\":\"end\",\"t\":99,\"exit\":1}");
    expect(f, "step\n");
}

static void a_killed_process_has_no_last_window(void **state)
{
    struct fixture *f = *state;

    end_of_run(f, NULL);
    expect(f, "step\n");
}

static bool has_note(const struct fixture *f, const char *code)
{
    for (size_t i = 0; i < tc_notes_count(f->feed.notes); i++)
        if (!strcmp(tc_notes_get(f->feed.notes, i)->code, code))
            return true;
    return false;
}

static void records_that_do_not_match_are_noted(void **state)
{
    struct fixture *f = *state;

    feed_return(&f->feed, 77);
    assert_true(has_note(f, "unmatched-return"));
    feed_call(&f->feed, 1, "step", USER);
    feed_call(&f->feed, 1, "step", USER);
    assert_true(has_note(f, "duplicate-call"));
    assert_false(has_note(f, "running-at-end"));
    tc_replay_finish(f->feed.replay);
    assert_true(has_note(f, "running-at-end"));
}

static void a_parent_may_end_before_its_child(void **state)
{
    struct fixture *f = *state;

    feed_call(&f->feed, 1, "scaler", USER);
    feed_call(&f->feed, 2, "step", ",\"parent\":1");
    feed_call(&f->feed, 3, "add", ",\"parent\":2");
    feed_return(&f->feed, 1);
    feed_call(&f->feed, 4, "add", USER); /* takes the memory of call 1 */
    feed_return(&f->feed, 2);
    feed_return(&f->feed, 3);
    feed_return(&f->feed, 4);
    expect(f, "scaler\nstep\nadd\nadd\n");
}

static void no_call_is_inside_itself(void **state)
{
    struct fixture *f = *state;

    feed_call(&f->feed, 1, "scaler", ",\"parent\":1");
    feed_call(&f->feed, 2, "step", ",\"parent\":1");
    feed_return(&f->feed, 2);
    feed_return(&f->feed, 1);
    expect(f, "step\nscaler {call step step}\n");
}

static void a_variable_may_come_without_anything(void **state)
{
    struct fixture *f = *state;

    feed_line(&f->feed, "{\"type\":\"var\",\"var\":1,\"t\":1,\"cause\":5,\"attrs\":{}}");
    feed_line(
        &f->feed,
        "{\"type\":\"var\",\"var\":1,\"t\":1,\"attrs\":{\"data\":7,\"grad\":null,\"dtype\":[],"
        "\"requires_grad\":\"x\",\"shape\":{},\"owner\":null,\"x\":{\"y\":[]},\"x\":false}}");
    assert_int_equal(tc_replay_counts(f->feed.replay).n_variables, 1);
}

struct rank {
    int64_t rank, world;
};

static void see_rank(void *context, const struct tc_event *event)
{
    *(struct rank *)context = (struct rank){event->process->rank, event->process->world};
}

static struct rank rank_after(const char *note)
{
    struct rank rank;
    struct feed feed;
    struct tc_strtab *symbols = tc_symbols_new();

    feed_open(&feed, symbols, FEED_PROCESS, see_rank, &rank);
    feed_line(&feed, note);
    feed_call(&feed, 1, "f", "");
    feed_return(&feed, 1);
    feed_close(&feed);
    tc_strtab_free(symbols);
    return rank;
}

static void a_rank_may_come_later(void **state)
{
    (void)state;
    struct rank known = rank_after("{\"type\":\"note\",\"code\":\"rank\",\"text\":\"3/8\"}");
    struct rank wrong = rank_after("{\"type\":\"note\",\"code\":\"rank\",\"text\":\"many\"}");

    assert_int_equal(known.rank, 3);
    assert_int_equal(known.world, 8);
    assert_int_equal(wrong.rank, -1);
    assert_int_equal(wrong.world, 1);
}

static struct tc_call *enter(struct tc_spans *spans, int64_t id, int64_t parent, int64_t th)
{
    struct tc_record record = tc_record_blank;

    record.type = TC_RECORD_CALL;
    record.id = id;
    record.parent = parent;
    record.th = th;
    record.fn = (struct tc_str){"a.b", 3};
    return tc_spans_enter(spans, &record);
}

static void calls_are_so_deep_and_no_deeper(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_spans spans;
    unsigned depth = 0;

    (void)state;
    tc_spans_init(&spans, symbols);
    for (int64_t id = 0; id < 2000; id++)
        assert_non_null(enter(&spans, id, id ? id - 1 : TC_NONE, 0));
    for (const struct tc_call *call = tc_spans_find(&spans, 1999)->parent; call;
         call = call->parent)
        depth++;
    assert_int_equal(depth, 512);
    assert_ptr_equal(tc_spans_find(&spans, 1999)->parent, tc_spans_find(&spans, 511));
    tc_spans_release(&spans);
    tc_strtab_free(symbols);
}

/* By ids of any order, and calls that end in any order, as a search through all of them finds it.
 */
static void the_innermost_call_is_found(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    struct tc_spans spans;
    uint32_t random = 7;

    (void)state;
    tc_spans_init(&spans, symbols);
    for (int i = 0; i < 20000; i++) {
        int64_t id = (random = random * 1664525 + 1013904223) >> 16 & 1023, last = -1;
        struct tc_call *call = tc_spans_find(&spans, id);
        if (call)
            tc_spans_leave(&spans, call);
        else if (i % 4000 < 3000 || i % 7 == 0) /* more at some times than at others */
            enter(&spans, id, TC_NONE, random >> 30 == 0);
        for (int64_t k = 0; k < 1024 && i % 16 == 0; k++)
            if ((call = tc_spans_find(&spans, k)) && call->th == 0)
                last = k;
        call = tc_spans_innermost(&spans);
        if (i % 16 == 0)
            assert_int_equal(call ? call->id : -1, last);
    }
    tc_spans_release(&spans);
    tc_strtab_free(symbols);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(phases_pass_in_a_window),
        T(a_raised_call_passes_no_phase_and_is_void),
        T(contents_reach_all_that_encloses),
        T(a_digest_of_another_kind_is_no_change),
        T(a_step_stands_behind_what_it_contains),
        T(who_is_a_member),
        T(modes_of_a_root_forward),
        T(the_last_window_needs_a_good_end),
        T(a_failed_process_has_no_last_window),
        T(a_killed_process_has_no_last_window),
        T(records_that_do_not_match_are_noted),
        T(a_parent_may_end_before_its_child),
        T(no_call_is_inside_itself),
        T(a_variable_may_come_without_anything),
        cmocka_unit_test(a_rank_may_come_later),
        cmocka_unit_test(calls_are_so_deep_and_no_deeper),
        cmocka_unit_test(the_innermost_call_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
