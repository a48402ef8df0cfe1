/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_consistent.c - examples of Consistent: alias, peer, steady; what may be compared; sets of
 * ranks
 */
#include "feed.h"

#include "relation/consistent.h"
#include "relation/one_claim.h"
#include "relation/ranks.h"

extern const struct tc_source tc_source_steady;
extern const struct tc_relation_rule tc_rule_alias, tc_rule_peer;

/* A loop of one process, and the examples of one source as lines "VARIABLE: outcome, ...". */
struct world {
    struct feed feed;
    struct tc_strtab *symbols;
    const struct tc_source *source;
    void *state;
    char seen[4096];
    int n_calls, n_windows;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void on_example(void *context, const struct tc_event *event,
                       const struct tc_example *example)
{
    struct world *w = context;
    const char *texts[8];
    size_t n = strlen(w->seen);

    (void)event;
    for (size_t i = 0; i < example->n_outcome; i++)
        texts[i] = tc_strtab_text(w->symbols, example->outcome[i]);
    qsort(texts, example->n_outcome, sizeof(*texts), compare_texts);
    n += (size_t)snprintf(w->seen + n, sizeof(w->seen) - n,
                          "%s:", tc_strtab_text(w->symbols, example->variable->name));
    for (size_t i = 0; i < example->n_outcome; i++)
        n += (size_t)snprintf(w->seen + n, sizeof(w->seen) - n, "%s %s", i ? "," : "", texts[i]);
    snprintf(w->seen + n, sizeof(w->seen) - n, "\n");
}

static void on_event(void *context, const struct tc_event *event)
{
    struct world *w = context;
    const struct tc_sink sink = {.example = on_example, .context = w};

    tc_source_observe(w->source, w->state, w->symbols, event, &sink);
}

static void open_world(struct world *w, const struct tc_source *source)
{
    *w = (struct world){.symbols = tc_symbols_new(), .source = source};
    w->state = tc_source_open(source);
    feed_open(&w->feed, w->symbols, FEED_PROCESS, on_event, w);
    feed_apis(&w->feed);
}

static void close_world(struct world *w)
{
    feed_close(&w->feed);
    tc_source_close(w->source, w->state);
    tc_strtab_free(w->symbols);
}

static void var(struct world *w, int serial, const char *name, const char *attrs)
{
    char line[512];

    snprintf(line, sizeof(line),
             "{\"type\":\"var\",\"var\":%d,\"t\":1,\"name\":\"%s\",\"kind\":\"Parameter\","
             "\"root\":90,\"attrs\":{%s}}",
             serial, name, attrs);
    feed_line(&w->feed, line);
}

/* What was seen at the end of a step window. */
static const char *window(struct world *w)
{
    w->seen[0] = '\0';
    w->n_calls++;
    feed_call(&w->feed, w->n_calls, "step", "");
    feed_return(&w->feed, w->n_calls);
    feed_cut(&w->feed, ++w->n_windows, "data");
    return w->seen;
}

#define FROZEN  "\"requires_grad\":false,\"dtype\":\"float32\",\"shape\":[2,2]"
#define TRAINED "\"requires_grad\":true,\"dtype\":\"float32\",\"shape\":[2,2],\"grad\":\"non_zero\""
#define DATA(x) "\"data\":\"000000000000000" x "\""

static void a_frozen_variable_is_compared_with_the_step_before(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_source_steady);
    var(&w, 1, "w", FROZEN "," DATA("1"));
    assert_string_equal(window(&w), "");
    assert_string_equal(window(&w), "w: data equal, dtype equal, shape equal\n");
    var(&w, 1, "w", DATA("2"));
    assert_string_equal(window(&w), "w: data differs, dtype equal, shape equal\n");
    var(&w, 1, "w", "\"dtype\":\"float16\",\"shape\":[4]");
    assert_string_equal(window(&w), "w: data equal, dtype differs, shape differs\n");
    var(&w, 1, "w", "\"data\":\"~0000000000000002\"");
    assert_string_equal(window(&w), "w: dtype equal, shape equal\n");
    var(&w, 1, "w", "\"data\":null");
    assert_string_equal(window(&w), "w: dtype equal, shape equal\n");
    close_world(&w);
}

static void the_content_of_a_trained_variable_is_not_compared(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_source_steady);
    var(&w, 1, "w", TRAINED "," DATA("1"));
    window(&w);
    assert_string_equal(window(&w), "w: dtype equal, shape equal\n");
    var(&w, 1, "w", "\"requires_grad\":false");
    assert_string_equal(window(&w), "w: dtype equal, shape equal\n");
    assert_string_equal(window(&w), "w: data equal, dtype equal, shape equal\n");
    close_world(&w);
}

static void peers_share_their_dtype(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_rule_peer.source);
    var(&w, 1, "a", FROZEN);
    var(&w, 2, "b", FROZEN);
    assert_string_equal(strchr(window(&w), ':'), ": dtype equal\n");
    var(&w, 2, "b", "\"dtype\":\"float64\"");
    assert_string_equal(strchr(window(&w), ':'), ": dtype differs\n");
    close_world(&w);
}

static void copies_are_compared_once_they_have_moved(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_rule_alias.source);
    var(&w, 1, "embedding.weight", TRAINED "," DATA("1"));
    var(&w, 2, "head.weight", TRAINED "," DATA("1"));
    var(&w, 3, "other.weight", TRAINED "," DATA("5"));
    assert_string_equal(window(&w), "");
    var(&w, 1, "embedding.weight", DATA("2"));
    var(&w, 2, "head.weight", DATA("2"));
    assert_string_equal(strchr(window(&w), ':'), ": data equal\n");
    var(&w, 2, "head.weight", DATA("3"));
    assert_string_equal(strchr(window(&w), ':'), ": data differs\n");
    close_world(&w);
}

static void what_three_share_is_a_constant(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_rule_alias.source);
    var(&w, 1, "a.weight", TRAINED "," DATA("1"));
    var(&w, 2, "b.weight", TRAINED "," DATA("1"));
    var(&w, 3, "c.weight", TRAINED "," DATA("1"));
    window(&w);
    var(&w, 1, "a.weight", DATA("2"));
    assert_string_equal(window(&w), "");
    close_world(&w);
}

static void clones_of_one_template_are_no_copies(void **state)
{
    struct world w;

    (void)state;
    open_world(&w, &tc_rule_alias.source);
    var(&w, 1, "blocks.9.weight", TRAINED "," DATA("1"));
    var(&w, 2, "blocks.10.weight", TRAINED "," DATA("1"));
    window(&w);
    var(&w, 1, "blocks.9.weight", DATA("2"));
    assert_string_equal(window(&w), "");
    close_world(&w);
}

static void an_outcome_that_says_nothing_decides_nothing(void **state)
{
    struct tc_strtab *symbols = tc_symbols_new();
    const struct tc_param param = {.kind = TC_PARAM_VARIABLE,
                                   .name = TC_SYM_PARAMETER,
                                   .attr = TC_SYM_DATA,
                                   .to = TC_SYM_EQUAL};
    const struct tc_relation *steady = tc_relation_find("Consistent/steady");
    const tc_sym equal = tc_consistent_agreement(symbols, TC_SYM_DATA, true);
    const tc_sym differs = tc_consistent_agreement(symbols, TC_SYM_DATA, false);
    const tc_sym other = tc_consistent_agreement(symbols, TC_SYM_DTYPE, false);

    (void)state;
    assert_int_equal(tc_relation_holds(steady, symbols, &param, 1, &equal, 1), TC_HELD);
    assert_int_equal(tc_relation_holds(steady, symbols, &param, 1, &differs, 1), TC_BROKEN);
    assert_int_equal(tc_relation_holds(steady, symbols, &param, 1, &other, 1), TC_UNDECIDED);
    assert_int_equal(tc_relation_holds(steady, symbols, &param, 1, NULL, 0), TC_UNDECIDED);
    tc_strtab_free(symbols);
}

static void ranks_are_a_set(void **state)
{
    static const int64_t members[] = {0, 63, 64, 1000, 65535};
    struct tc_ranks ranks = {0};

    (void)state;
    assert_false(tc_ranks_have(&ranks, 0));
    for (size_t i = 0; i < N_OF(members); i++) {
        tc_ranks_add(&ranks, members[i]);
        tc_ranks_add(&ranks, members[i]);
        assert_int_equal(ranks.n, i + 1);
    }
    for (size_t i = 0; i < N_OF(members); i++) {
        assert_true(tc_ranks_have(&ranks, members[i]));
        assert_false(tc_ranks_have(&ranks, members[i] + 1) && members[i] != 63);
    }
    tc_ranks_remove(&ranks, 64);
    tc_ranks_remove(&ranks, 64);
    tc_ranks_remove(&ranks, 1 << 20);
    assert_int_equal(ranks.n, N_OF(members) - 1);
    assert_false(tc_ranks_have(&ranks, 64));
    assert_true(tc_ranks_have(&ranks, 63));
    tc_ranks_release(&ranks);
    assert_int_equal(ranks.n, 0);
    assert_false(tc_ranks_have(&ranks, 63));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_variable_is_compared_with_the_step_before),
        cmocka_unit_test(the_content_of_a_trained_variable_is_not_compared),
        cmocka_unit_test(peers_share_their_dtype),
        cmocka_unit_test(copies_are_compared_once_they_have_moved),
        cmocka_unit_test(what_three_share_is_a_constant),
        cmocka_unit_test(clones_of_one_template_are_no_copies),
        cmocka_unit_test(an_outcome_that_says_nothing_decides_nothing),
        cmocka_unit_test(ranks_are_a_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
