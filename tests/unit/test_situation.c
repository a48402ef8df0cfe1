/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_situation.c - the fields that a precondition may use, and those it may not
 */
#include "feed.h"

#include "relation/situation.h"

static tc_sym class_of(struct tc_strtab *symbols, const char *json)
{
    struct tc_arena arena = TC_ARENA_INIT;
    struct tc_value value;

    assert_int_equal(tc_scan(json, strlen(json), &arena, &value, NULL), TC_OK);
    tc_sym class = tc_value_class(symbols, &value);
    tc_arena_release(&arena);
    return class;
}

static void numbers_have_classes(void **state)
{
    static const struct {
        const char *json;
        tc_sym class;
    } cases[] = {
        {"0",                                                                              TC_SYM_ZERO      },
        {"0.0",                                                                            TC_SYM_ZERO      },
        {"-0.0",                                                                           TC_SYM_ZERO      },
        {"1",                                                                              TC_SYM_POSITIVE  },
        {"-3",                                                                             TC_SYM_NEGATIVE  },
        {"1e-8",                                                                           TC_SYM_TINY      },
        {"-1e-8",                                                                          TC_SYM_TINY      },
        {"1.3e-7",                                                                         TC_SYM_POSITIVE  },
        {"{\"float\":\"nan\"}",                                                            TC_SYM_NAN_OR_INF},
        {"NaN",                                                                            TC_SYM_NAN_OR_INF},
        {"{\"int\":\"99999999999999999999\"}",                                             TC_NO_SYM        },
        {"true",                                                                           TC_SYM_TRUE      },
        {"false",                                                                          TC_SYM_FALSE     },
        {"null",                                                                           TC_SYM_NULL      },
        {"\"zero\"",                                                                       TC_SYM_ZERO      },
        {"[1,2]",                                                                          TC_NO_SYM        },
        {"{\"tensor\":\"Tensor\"}",                                                        TC_NO_SYM        },
        {"\"a text of more than sixty-four bytes says what no other pipeline says, too\"",
         TC_NO_SYM                                                                                          },
    };
    struct tc_strtab *symbols = tc_symbols_new();

    (void)state;
    for (size_t i = 0; i < N_OF(cases); i++)
        if (class_of(symbols, cases[i].json) != cases[i].class)
            fail_msg("%s has another class", cases[i].json);
    tc_strtab_free(symbols);
}

static void a_field_has_one_value_and_a_place(void **state)
{
    struct tc_situation s = {.n = 0};

    (void)state;
    tc_situation_set(&s, 9, 1);
    tc_situation_set(&s, 4, 2);
    tc_situation_set(&s, 9, 3);
    tc_situation_sort(&s);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.pairs[0].field, 4);
    assert_int_equal(s.pairs[1].value, 3);
}

static void too_many_fields_are_left_out(void **state)
{
    struct tc_situation s = {.n = 0};

    (void)state;
    for (tc_sym i = 0; i < 2 * TC_SITUATION_MAX; i++)
        tc_situation_set(&s, i, i);
    assert_int_equal(s.n, TC_SITUATION_MAX);
    tc_situation_set(&s, 3, 77);
    assert_int_equal(s.pairs[3].value, 77);
}

/* The situation of the only call that was fed, as "field=value " in order of text. */
struct printed {
    struct tc_strtab *symbols;
    char text[2000];
    bool with_args;
};

static void on_event(void *context, const struct tc_event *event)
{
    struct printed *printed = context;
    struct tc_situation s;
    size_t n = 0;

    if (event->kind != TC_EVENT_CALL || event->call->parent)
        return;
    tc_situation_of_call(&s, printed->symbols, event->process, event->call, printed->with_args);
    tc_situation_sort(&s);
    for (size_t i = 0; i < s.n; i++)
        n += (size_t)snprintf(printed->text + n, sizeof(printed->text) - n, "%s=%s ",
                              tc_strtab_text(printed->symbols, s.pairs[i].field),
                              tc_strtab_text(printed->symbols, s.pairs[i].value));
}

static const char *situation_of(struct printed *printed, const char *fn, const char *more)
{
    struct feed feed;
    struct tc_strtab *symbols = tc_symbols_new();

    *printed = (struct printed){.symbols = symbols, .with_args = true};
    feed_open(&feed, symbols, FEED_PROCESS, on_event, printed);
    feed_apis(&feed);
    feed_call(&feed, 1, fn, more);
    feed_return(&feed, 1);
    feed_close(&feed);
    tc_strtab_free(symbols);
    return printed->text;
}

static void of_an_optimizer_only_what_lets_it_step(void **state)
{
    static const char *const there[] = {
        "stage=\"training\" ",   "ctx.grad=true ",
        "ctx.autocast=null ",    "world=\"one\" ",
        "in=\"top\" ",           "after.backward=false ",
        "closure=false ",        "self.class=\"torch.optim.Adam\" ",
        "self.lr=\"positive\" ", "self.grads=\"none\" ",
        "self.frozen=\"none\" ",
    };
    struct printed printed;
    const char *text =
        situation_of(&printed, "step",
                     ",\"self\":{\"object\":\"torch.optim.Adam\",\"id\":7,\"attrs\":{\"lr\":0.1,"
                     "\"eps\":1e-8}},\"args\":{\"closure\":null},\"params\":[1,2]");

    (void)state;
    for (size_t i = 0; i < N_OF(there); i++)
        if (!strstr(text, there[i]))
            fail_msg("no %s in %s", there[i], text);
    assert_null(strstr(text, "eps"));
    assert_null(strstr(text, "id="));
    assert_null(strstr(text, "0.1"));
}

static void classes_of_the_script_do_not_transfer(void **state)
{
    struct printed printed;

    (void)state;
    assert_null(
        strstr(situation_of(&printed, "step", ",\"self\":{\"object\":\"__main__.Mine\",\"id\":7}"),
               "self.class"));
    assert_null(
        strstr(situation_of(&printed, "step", ",\"self\":{\"object\":\"torchmine.Adam\",\"id\":7}"),
               "self.class"));
    assert_null(
        strstr(situation_of(&printed, "forward",
                            ",\"args\":{\"flag\":true},\"self\":{\"object\":\"__main__.Net\","
                            "\"id\":7,\"role\":\"root\",\"attrs\":{\"mine\":true}}"),
               "mine"));
    assert_null(strstr(printed.text, "flag"));
}

static void contexts_are_named(void **state)
{
    struct printed printed;
    const char *text = situation_of(
        &printed, "step",
        ",\"ctx\":{\"grad\":false,\"inference\":true,\"autocast\":{\"cuda\":\"bfloat16\"}}");

    (void)state;
    assert_non_null(strstr(text, "ctx.grad=false ctx.inference=true ctx.autocast=\"bfloat16\" "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_classes),
        cmocka_unit_test(a_field_has_one_value_and_a_place),
        cmocka_unit_test(too_many_fields_are_left_out),
        cmocka_unit_test(of_an_optimizer_only_what_lets_it_step),
        cmocka_unit_test(classes_of_the_script_do_not_transfer),
        cmocka_unit_test(contexts_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
