/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_operand.c - what is stated of the operands and the result of one call
 */
#include "feed.h"

#include "relation/operand.h"
#include "trace/scan.h"

struct world {
    struct feed feed;
    struct tc_strtab *symbols;
    void *state;
    char last[4096]; /* statements of the last call, sorted, each ended by a newline */
    unsigned n_examples;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void on_example(void *context, const struct tc_event *event,
                       const struct tc_example *example)
{
    struct world *w = context;
    const char *texts[160];
    size_t n = 0;

    (void)event;
    w->n_examples++;
    for (size_t i = 0; i < example->n_outcome; i++)
        texts[i] = tc_strtab_text(w->symbols, example->outcome[i]);
    qsort(texts, example->n_outcome, sizeof(*texts), compare_texts);
    w->last[0] = '\0';
    for (size_t i = 0; i < example->n_outcome; i++)
        n += (size_t)snprintf(w->last + n, sizeof(w->last) - n, "%s\n", texts[i]);
}

static void on_event(void *context, const struct tc_event *event)
{
    struct world *w = context;
    const struct tc_sink sink = {.example = on_example, .context = w};

    tc_source_operands.observe(w->state, w->symbols, event, &sink);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    w->symbols = tc_symbols_new();
    w->state = tc_source_open(&tc_source_operands);
    feed_open(&w->feed, w->symbols, FEED_PROCESS, on_event, w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    feed_close(&w->feed);
    tc_source_close(&tc_source_operands, w->state);
    tc_strtab_free(w->symbols);
    free(w);
    return 0;
}

#define TENSOR(shape, dtype) \
    "{\"tensor\":\"Tensor\",\"id\":1,\"shape\":" shape ",\"dtype\":\"" dtype "\"}"

/* A call with these further fields that returns these. */
static void call(struct world *w, const char *fields, const char *result)
{
    static int id;
    char line[1024];

    id++;
    snprintf(line, sizeof(line), "{\"type\":\"call\",\"id\":%d,\"fn\":\"f\",\"t\":%d%s}", id, id,
             fields);
    feed_line(&w->feed, line);
    snprintf(line, sizeof(line), "{\"type\":\"return\",\"id\":%d,\"t\":%d%s}", id, id, result);
    feed_line(&w->feed, line);
}

static void scalars_are_classes(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"a\":true,\"b\":0,\"c\":0.0,\"d\":-3,\"e\":\"text\",\"f\":null,\"g\":[1]}",
         "");
    assert_string_equal(w->last, "args.a is true\nargs.b is \"zero\"\nargs.c is \"zero\"\n"
                                 "args.d is \"not_zero\"\n");
}

static void positions_and_strange_names_say_nothing(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"0\":true,\"a b\":true,\"\":true}", "");
    assert_string_equal(w->last, "");
}

static void dimensions_count_from_the_end(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"input\":" TENSOR("[2,3,4]", "float32") ",\"dim\":0,\"axis\":-1}", "");
    assert_string_equal(w->last, "args.axis is -1\nargs.axis.matrix is -1\nargs.dim is -3\n");
}

static void defaults_are_told_apart(void **state)
{
    struct world *w = *state;

    feed_line(&w->feed, "{\"type\":\"api\",\"fn\":\"f\",\"role\":\"function\","
                        "\"defaults\":{\"a\":false,\"b\":1}}");
    call(w, ",\"args\":{\"a\":false,\"b\":2}", "");
    assert_string_equal(w->last, "args.a is false\nargs.b is \"not_zero\"\ndefault is args.a\n");
}

static void two_tensors_are_compared(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"a\":" TENSOR("[2,3]", "float32") ",\"b\":" TENSOR("[2,4]", "bool") "}",
         "");
    assert_string_equal(w->last, "args.a.dtype differs_from args.b.dtype\n"
                                 "args.a.shape differs_from args.b.shape\n"
                                 "args.a.shape[-1] differs_from args.b.shape[-1]\n"
                                 "args.a.shape[0] equals args.b.shape[0]\n");
    call(w, ",\"args\":{\"a\":" TENSOR("[2,3]", "float32") ",\"b\":" TENSOR("[2,3]", "int64") "}",
         "");
    assert_string_equal(w->last, "args.a.dtype differs_from args.b.dtype\n"
                                 "args.a.shape equals args.b.shape\n"
                                 "args.a.shape[0] equals args.b.shape[0]\n");
    call(w, ",\"args\":{\"a\":" TENSOR("[2,3]", "float32") ",\"b\":" TENSOR("[]", "float32") "}",
         "");
    assert_string_equal(w->last, "args.a.dtype equals args.b.dtype\n"
                                 "args.a.shape differs_from args.b.shape\n");
}

/* An operand may well be called "value", as one of attention is. */
static void what_is_recorded_of_content_is_no_other_call(void **state)
{
    static const char *const recorded[] = {
        "{\"tensor\":\"Tensor\",\"shape\":[],\"dtype\":\"float32\",\"value\":1.5}",
        "{\"tensor\":\"Tensor\",\"shape\":[],\"dtype\":\"float32\",\"value\":2.5,\"digest\":\"ab\"}",
        "{\"tensor\":\"Tensor\",\"shape\":[],\"dtype\":\"float32\",\"constant\":1,\"rows\":\"ab\"}",
        "{\"tensor\":\"Tensor\",\"shape\":[],\"dtype\":\"float32\",\"summary\":{\"min\":1}}",
    };
    struct tc_value args[4];
    struct tc_arena arena = {0};
    struct tc_error err;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(tc_scan(recorded[i], strlen(recorded[i]), &arena, &args[i], &err), TC_OK);
    for (size_t i = 1; i < 4; i++)
        assert_true(tc_operand_mix(0, &args[0]) == tc_operand_mix(0, &args[i]));
    assert_int_equal(tc_scan("{\"value\":1}", 11, &arena, &args[0], &err), TC_OK);
    assert_int_equal(tc_scan("{\"value\":2}", 11, &arena, &args[1], &err), TC_OK);
    assert_true(tc_operand_mix(0, &args[0]) != tc_operand_mix(0, &args[1]));
    assert_int_equal(tc_scan("{\"a\":{\"b\":1}}", 13, &arena, &args[0], &err), TC_OK);
    assert_int_equal(tc_scan("{\"a\":{},\"b\":1}", 14, &arena, &args[1], &err), TC_OK);
    assert_true(tc_operand_mix(0, &args[0]) != tc_operand_mix(0, &args[1]));
    tc_arena_release(&arena);
}

static void content_is_compared_where_shape_and_dtype_agree(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"a\":" TENSOR("[2]", "float32") ",\"b\":" TENSOR("[2]", "int64") "}",
         ",\"value\":" TENSOR("[2]", "float32") ",\"same\":[\"args.a\",\"args.b\"]");
    assert_non_null(strstr(w->last, "value.content equals args.a.content\n"));
    assert_null(strstr(w->last, "args.b.content"));
    call(w, ",\"args\":{\"a\":" TENSOR("[2]", "float32") "}",
         ",\"value\":" TENSOR("[2]", "float32"));
    assert_null(strstr(w->last, "content")); /* nobody asked */
}

static void sizes_of_the_users_own_results_are_held_against_counts(void **state)
{
    struct world *w = *state;

    call(w, ",\"args\":{\"n\":5}", ",\"value\":" TENSOR("[5,7]", "int64"));
    assert_string_equal(w->last, "args.n is \"not_zero\"\n"); /* torch's are what torch says */
    feed_line(&w->feed, "{\"type\":\"api\",\"fn\":\"f\",\"role\":\"method\"}");
    call(w, ",\"args\":{\"n\":5,\"dim\":9,\"zero\":0}", ",\"value\":" TENSOR("[5,7]", "int64"));
    assert_string_equal(w->last,
                        "args.dim is \"not_zero\"\nargs.n is \"not_zero\"\nargs.zero is \"zero\"\n"
                        "call is users\n"
                        "value.shape[0] at_least args.n\nvalue.shape[0] at_most args.n\n"
                        "value.shape[0] reaches args.n\n"
                        "value.shape[1] at_least args.n\nvalue.shape[1] exceeds args.n\n");
}

static void autocast_is_compared_with_floats_only(void **state)
{
    struct world *w = *state;

    call(w,
         ",\"ctx\":{\"autocast\":{\"cpu\":\"bfloat16\"}},\"args\":{\"a\":" TENSOR(
             "[]", "float32") ",\"b\":" TENSOR("[]", "int64") "}",
         ",\"value\":" TENSOR("[]", "bfloat16"));
    assert_non_null(strstr(w->last, "value.dtype equals ctx.autocast\n"));
    assert_null(
        strstr(w->last, "args.a.dtype differs_from ctx")); /* autocast is there to convert it */
    call(w, ",\"ctx\":{\"autocast\":{\"cpu\":\"bfloat16\"}}", ",\"value\":" TENSOR("[]", "int64"));
    assert_null(strstr(w->last, "value.dtype"));
}

static void results_are_told(void **state)
{
    struct world *w = *state;

    call(w, "", ",\"value\":false");
    assert_string_equal(w->last, "value is false\n");
    call(w, "", ",\"value\":[]");
    assert_string_equal(w->last, "len(value) is \"zero\"\n");
    call(w, "", ",\"value\":{\"dict\":{\"missing\":[],\"more\":[1]}}");
    assert_string_equal(w->last,
                        "len(value.missing) is \"zero\"\nlen(value.more) is \"not_zero\"\n");
    call(w, "", ",\"value\":3,\"finite\":false");
    assert_string_equal(w->last, "value is \"not_finite\"\n");
}

static void equal_calls_are_read_alike(void **state)
{
    struct world *w = *state;
    char first[4096];

    call(w, ",\"args\":{\"a\":true}", ",\"value\":true");
    memcpy(first, w->last, sizeof(first));
    call(w, ",\"args\":{\"a\":false}", ",\"value\":true");
    assert_string_not_equal(w->last, first);
    call(w, ",\"args\":{\"a\":true}", ",\"value\":true");
    assert_string_equal(w->last, first);
    assert_int_equal(w->n_examples, 3);
}

static void a_call_that_raised_says_nothing(void **state)
{
    struct world *w = *state;

    feed_line(&w->feed, "{\"type\":\"call\",\"id\":900,\"fn\":\"f\",\"t\":1}");
    feed_line(&w->feed, "{\"type\":\"raise\",\"id\":900,\"t\":2,\"exc\":\"E\",\"msg\":\"\"}");
    assert_int_equal(w->n_examples, 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(scalars_are_classes),
        T(positions_and_strange_names_say_nothing),
        T(dimensions_count_from_the_end),
        T(defaults_are_told_apart),
        T(two_tensors_are_compared),
        T(what_is_recorded_of_content_is_no_other_call),
        T(content_is_compared_where_shape_and_dtype_agree),
        T(sizes_of_the_users_own_results_are_held_against_counts),
        T(autocast_is_compared_with_floats_only),
        T(results_are_told),
        T(equal_calls_are_read_alike),
        T(a_call_that_raised_says_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
