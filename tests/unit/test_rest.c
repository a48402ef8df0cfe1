/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rest.c - which variables are visited in each window
 */
#include "feed.h"

#include "base/strbuf.h"
#include "replay/rest.h"

struct fixture {
    struct feed feed;
    struct tc_strtab *symbols;
    const struct tc_process *process;
    int id;
    int64_t step;
};

static void on_event(void *context, const struct tc_event *event)
{
    struct fixture *f = context;

    f->process = event->process ? event->process : f->process;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    f->symbols = tc_symbols_new();
    feed_open(&f->feed, f->symbols, FEED_PROCESS, on_event, f);
    feed_apis(&f->feed);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    feed_close(&f->feed);
    tc_strtab_free(f->symbols);
    free(f);
    return 0;
}

static void variable(struct fixture *f, int serial, int root, const char *data)
{
    char line[256];

    snprintf(line, sizeof(line),
             "{\"type\":\"var\",\"var\":%d,\"t\":1,\"name\":\"w%d\",\"root\":%d,\"kind\":"
             "\"Parameter\",\"attrs\":{\"data\":\"00000000000000%s\"}}",
             serial, serial, root, data);
    feed_line(&f->feed, line);
}

static void forward(struct fixture *f, int root)
{
    char more[128];

    snprintf(more, sizeof(more),
             ",\"by\":\"user\",\"self\":{\"object\":\"Net\",\"id\":%d,\"attrs\":{},\"role\":"
             "\"root\"}",
             root);
    feed_call(&f->feed, ++f->id, "forward", more);
    feed_return(&f->feed, f->id);
}

static void windows(struct fixture *f, int n, int root)
{
    for (int i = 0; i < n; i++) {
        if (root)
            forward(f, root);
        feed_cut(&f->feed, (int)f->step++, "data");
    }
}

static bool is_visited(const struct fixture *f, int serial)
{
    return tc_map_find(&f->process->variables, (uint64_t)serial) != NULL;
}

/* A copy of a model for each task: as many are visited as were used of late. */
static void copies_do_not_add_up(void **state)
{
    struct fixture *f = *state;

    for (int task = 0; task < 400; task++) {
        variable(f, 1000 + task, 10 + task, "aa");
        windows(f, 10, 10 + task);
    }
    assert_int_equal(f->process->n_variables, 400);
    assert_in_range(f->process->variables.n, TC_REST_AFTER / 10, 2 * TC_REST_AFTER / 10);
    assert_int_equal(f->process->variables.n + f->process->resting.n, 400);
}

static void what_rests_is_known_and_wakes(void **state)
{
    struct fixture *f = *state;

    variable(f, 1, 10, "aa");
    variable(f, 2, 20, "aa");
    variable(f, 3, 20, "aa");
    forward(f, 10);
    forward(f, 20);
    windows(f, 2 * TC_REST_AFTER, 10);
    assert_true(is_visited(f, 1));
    assert_false(is_visited(f, 2));
    assert_ptr_equal(tc_process_variable(f->process, 2), tc_rest_find(f->process, 2));
    assert_int_equal(tc_process_variable(f->process, 2)->data, 0xaa);
    variable(f, 2, 20, "ab"); /* somebody writes to it */
    assert_true(is_visited(f, 2));
    assert_false(is_visited(f, 3));
    forward(f, 20); /* its model is used again */
    assert_true(is_visited(f, 3));
    assert_int_equal(f->process->n_variables, 3);
}

static void all_are_there_when_the_run_is_over(void **state)
{
    struct fixture *f = *state;

    variable(f, 1, 10, "aa");
    forward(f, 10);
    windows(f, 2 * TC_REST_AFTER, 20);
    assert_false(is_visited(f, 1));
    tc_replay_finish(f->feed.replay);
    assert_true(is_visited(f, 1));
}

/* That nobody uses it may be the mistake. */
static void what_never_was_in_use_does_not_rest(void **state)
{
    struct fixture *f = *state;

    variable(f, 1, 10, "aa");
    windows(f, 2 * TC_REST_AFTER, 20);
    assert_true(is_visited(f, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_do_not_add_up, setup, teardown),
        cmocka_unit_test_setup_teardown(what_rests_is_known_and_wakes, setup, teardown),
        cmocka_unit_test_setup_teardown(all_are_there_when_the_run_is_over, setup, teardown),
        cmocka_unit_test_setup_teardown(what_never_was_in_use_does_not_rest, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
