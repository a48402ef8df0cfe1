/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_text.c - violations in a terminal of 80 columns
 */
#include "unit.h"

#include "replay/symbols.h"
#include "report/report.h"

static char *print(struct tc_violation *v, bool color)
{
    struct tc_strtab *symbols = tc_symbols_new();
    const struct tc_violation *list[] = {v, v};
    struct tc_finding findings[] = {
        {.items = list,     .n = 1},
        {.items = list + 1, .n = 1}
    };
    struct tc_check_config config = {.color = color, .verbose = true};
    struct tc_report_input input = {
        .config = &config, .symbols = symbols, .findings = {list, 2, findings, 2}
    };
    struct tc_strbuf out = TC_STRBUF_INIT;

    tc_report_text(&input, &out);
    tc_strtab_free(symbols);
    return tc_strbuf_take(&out);
}

static struct tc_invariant invariant(const char *text)
{
    return (struct tc_invariant){.id = "EC-12345678", .text = text, .held = 412, .pipelines = 5};
}

static struct tc_violation violation(const struct tc_invariant *x)
{
    return (struct tc_violation){
        .invariant = x,
        .relation = tc_relation_find("EventContain/some"),
        .at = "train.py:57",
        .file = "trace_host_r0_p1.jsonl",
        .trace = "run",
        .stage = "training",
        .call = "step",
        .seen = "it changed none",
        .hint = "Is it frozen?",
        .step = 3,
        .rank = 1,
        .count = 2,
        .n_steps = 2,
        .steps = {3, 4},
        .last_step = 4
    };
}

static void all_is_said(void **state)
{
    static const char *const said[] = {
        "train.py:57  step 3  rank 1  EventContain/some  EC-12345678\n",
        "expected: something holds\n",
        "seen:     it changed none\n",
        "look at:  Is it frozen?\n",
        "inside:   fit() at run.py:5\n",
        "after:    zero_grad(), the root forward (2 times)\n",
        "held 412 times in 5 pipelines",
        "(2 times until step 4)"};
    struct tc_invariant x = invariant("something holds");
    struct tc_violation v = violation(&x);
    const char *inside[] = {"fit"}, *lines[] = {"src/run.py:5"};

    v.inside = inside;
    v.inside_at = lines;
    v.n_inside = 1;
    v.before[0] = (struct tc_violation_call){"zero_grad", ""};
    v.before[1] = (struct tc_violation_call){"root.forward", "train.py:56"};
    v.before[2] = (struct tc_violation_call){"root.forward", "train.py:58"};
    v.n_before = 3;
    char *text = print(&v, false);

    (void)state;
    for (size_t i = 0; i < N_OF(said); i++)
        if (!strstr(text, said[i]))
            fail_msg("no \"%s\" in:\n%s", said[i], text);
    tc_free(text);
}

static size_t columns(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* No line is longer than 80 columns unless it holds one word and a label. */
static void assert_narrow(const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "\n"), words = 0;
        for (size_t i = 0; i < size; i++)
            words += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
        if (columns(text, size) > 80 && words > 2)
            fail_msg("%zu columns: %.*s", columns(text, size), (int)size, text);
        text += size + (text[size] == '\n');
    }
}

static void no_line_is_wider_than_a_terminal(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int round = 0; round < 300; round++) {
        char text[600] = "", seen[600] = "";
        for (char *out = text; out; out = out == text ? seen : NULL) {
            size_t n = 0;
            while (n < 450) {
                size_t word = 1 + unit_random(&seed) % (round % 10 ? 15 : 100);
                for (; word > 0; word--)
                    n += (size_t)snprintf(out + n, 600 - n, "%s",
                                          unit_random(&seed) % 8 ? "x" : "\xc3\xa9");
                n += (size_t)snprintf(out + n, 600 - n, " ");
            }
        }
        struct tc_invariant x = invariant(text);
        struct tc_violation v = violation(&x);
        v.seen = seen;
        v.n_variables = 5;
        for (size_t i = 0; i < 5; i++)
            v.variables[i] = (struct tc_violation_variable){
                .name = "model.transformer.layers.11.attention.weight", .grad = "\"null\""};
        char *printed = print(&v, false);
        assert_narrow(printed);
        tc_free(printed);
    }
}

static void colours_only_when_asked(void **state)
{
    struct tc_invariant x = invariant("something holds");
    struct tc_violation v = violation(&x);
    char *plain = print(&v, false), *painted = print(&v, true);

    (void)state;
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(painted, '\033'));
    /* Colours add nothing but themselves, and are switched off before the end of a line. */
    char *to = painted;
    bool is_on = false;
    for (const char *from = painted; *from;) {
        if (*from == '\033') {
            is_on = strncmp(from, "\033[0m", 4);
            from += strcspn(from, "m") + 1;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    assert_false(is_on);
    assert_string_equal(painted, plain);
    tc_free(plain);
    tc_free(painted);
}

static void what_would_steer_a_terminal_is_not_printed(void **state)
{
    struct tc_invariant x = invariant("a \033[31mred\033[0m claim\x7f");
    struct tc_violation v = violation(&x);

    (void)state;
    v.at = "\033]0;title\a.py:3";
    v.seen = "tab\there, C1 \xc2\x9b, accent \xc3\xa9, del \x7f";
    v.n_variables = 1;
    v.variables[0] = (struct tc_violation_variable){.name = "w\033[2J", .grad = "\"zero\""};
    char *text = print(&v, false);
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
    assert_null(strchr(text, 0x7f));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_non_null(strstr(text, "accent \xc3\xa9"));
    tc_free(text);
}

static void what_is_unknown_is_left_out(void **state)
{
    struct tc_invariant x = invariant("something holds");
    struct tc_violation v = violation(&x);

    (void)state;
    v.at = "";
    v.step = v.rank = -1;
    v.n_steps = 0;
    v.last_step = -1;
    char *text = print(&v, false);
    assert_non_null(strstr(text, "trace_host_r0_p1.jsonl  EventContain/some  EC-12345678\n"));
    assert_null(strstr(text, "step -"));
    assert_null(strstr(text, "rank"));
    assert_non_null(strstr(text, "(2 times)"));
    tc_free(text);
}

static void what_follows_is_told_in_whole_sentences(void **state)
{
    struct tc_invariant x = invariant("something holds");
    struct tc_violation v[11];
    const struct tc_violation *list[11];
    struct tc_finding finding = {
        .items = list, .n = 11, .head = &v[0], .told = {&v[2], &v[1]}
    };
    struct tc_check_config config = {0};
    struct tc_report_input input = {
        .config = &config, .findings = {list, 11, &finding, 1}
    };
    struct tc_strbuf out = TC_STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < 11; i++) {
        v[i] = violation(&x);
        list[i] = &v[i];
    }
    v[1].count = 1;
    v[2].seen =
        "it is a sentence that is longer than one line by a few words \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
    tc_report_text(&input, &out);
    assert_narrow(out.text);
    assert_non_null(strstr(out.text,
                           "  so: it is a sentence that is longer than one line by a few words "
                           "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n"
                           "      (EC-12345678, 2 times)\n"
                           "      it changed none (EC-12345678)\n"
                           "  8 more broken invariants follow from this\n"));
    assert_null(strstr(strstr(out.text, "expected:") + 1, "expected:"));
    tc_strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_said),
        cmocka_unit_test(no_line_is_wider_than_a_terminal),
        cmocka_unit_test(colours_only_when_asked),
        cmocka_unit_test(what_would_steer_a_terminal_is_not_printed),
        cmocka_unit_test(what_is_unknown_is_left_out),
        cmocka_unit_test(what_follows_is_told_in_whole_sentences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
