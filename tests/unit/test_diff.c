/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diff.c - sequences of numbers beside each other, and the lines of two scripts
 */
#include "unit.h"

#include "base/arena.h"
#include "compare/diff.h"
#include "compare/edit_choice.h"
#include "compare/script_text.h"

/* Matched items are equal, and stand in the same order in both. Returns how many there are. */
static size_t assert_is_match(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b,
                              const size_t *match)
{
    size_t n = 0, next = 0;

    for (size_t i = 0; i < n_a; i++) {
        if (match[i] == TC_UNMATCHED)
            continue;
        assert_true(match[i] < n_b);
        assert_true(match[i] >= next);
        assert_int_equal(a[i], b[match[i]]);
        next = match[i] + 1;
        n++;
    }
    return n;
}

static void diff_finds_what_is_missing(void **state)
{
    const uint32_t a[] = {1, 2, 3, 2, 4}, b[] = {1, 2, 2, 4};
    size_t match[N_OF(a)];

    (void)state;
    tc_diff(a, N_OF(a), b, N_OF(b), match);
    assert_int_equal(match[0], 0);
    assert_int_equal(match[1], 1);
    assert_int_equal(match[2], TC_UNMATCHED);
    assert_int_equal(match[3], 2);
    assert_int_equal(match[4], 3);
}

static void diff_of_nothing(void **state)
{
    const uint32_t a[] = {1, 2};
    size_t match[N_OF(a)];

    (void)state;
    tc_diff(a, 0, a, N_OF(a), match);
    tc_diff(a, N_OF(a), a, 0, match);
    assert_int_equal(match[0], TC_UNMATCHED);
    assert_int_equal(match[1], TC_UNMATCHED);
}

static void diff_keeps_the_longest_of_two_orders(void **state)
{
    /* 9 was moved to the front: the four that kept their order are matched. */
    const uint32_t a[] = {1, 2, 3, 4, 9}, b[] = {9, 1, 2, 3, 4};
    size_t match[N_OF(a)];

    (void)state;
    tc_diff(a, N_OF(a), b, N_OF(b), match);
    assert_int_equal(assert_is_match(a, N_OF(a), b, N_OF(b), match), 4);
    assert_int_equal(match[4], TC_UNMATCHED);
}

/* The longest common subsequence of short sequences, by the table. */
static size_t longest(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
    size_t table[32][32] = {{0}};

    for (size_t i = 1; i <= n_a; i++)
        for (size_t k = 1; k <= n_b; k++) {
            size_t left = table[i][k - 1], up = table[i - 1][k];
            table[i][k] = a[i - 1] == b[k - 1] ? table[i - 1][k - 1] + 1 : left > up ? left : up;
        }
    return table[n_a][n_b];
}

static void diff_without_anchors_is_the_shortest(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint32_t a[30], b[30];
        size_t match[30], n_a = unit_random(&seed) % 15, n_b = unit_random(&seed) % 15;
        /* Each number twice in both, so that there is no anchor. */
        for (size_t i = 0; i < 2 * n_a; i++)
            a[i] = i < n_a ? (uint32_t)(unit_random(&seed) % 3) : a[i - n_a];
        for (size_t i = 0; i < 2 * n_b; i++)
            b[i] = i < n_b ? (uint32_t)(unit_random(&seed) % 3) : b[i - n_b];
        tc_diff(a, 2 * n_a, b, 2 * n_b, match);
        size_t n = assert_is_match(a, 2 * n_a, b, 2 * n_b, match);
        assert_int_equal(n, longest(a, 2 * n_a, b, 2 * n_b));
    }
}

static void diff_of_long_sequences_matches_nearly_all(void **state)
{
    enum {
        N = 200000
    };
    uint32_t *a = malloc(N * sizeof(*a)), *b = malloc(N * sizeof(*b));
    size_t *match = malloc(N * sizeof(*match)), n_b = 0;
    uint64_t seed = 11;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        a[i] = (uint32_t)(i % 97); /* a loop, in which nothing is an anchor */
        if (unit_random(&seed) % 1000 > 0)
            b[n_b++] = a[i];
    }
    tc_diff(a, N, b, n_b, match);
    assert_true(assert_is_match(a, N, b, n_b, match) > N * 99 / 100);
    for (size_t i = 0; i < n_b; i++)
        b[i] += 1000; /* and nothing in common */
    tc_diff(a, N, b, n_b, match);
    assert_int_equal(assert_is_match(a, N, b, n_b, match), 0);
    free(a);
    free(b);
    free(match);
}

static void rest_is_matched_between_what_was(void **state)
{
    const uint32_t lines_a[] = {10, 11, 12, 13}, lines_b[] = {10, 91, 92, 13};
    const uint32_t a[] = {1, 2, 3, 4}, b[] = {1, 3, 2, 4};
    size_t match[N_OF(a)];

    (void)state;
    tc_diff(lines_a, N_OF(lines_a), lines_b, N_OF(lines_b), match);
    assert_int_equal(assert_is_match(lines_a, 4, lines_b, 4, match), 2);
    tc_diff_rest(a, N_OF(a), b, N_OF(b), match);
    assert_int_equal(assert_is_match(a, 4, b, 4, match), 3);
    assert_int_equal(match[0], 0);
    assert_int_equal(match[3], 3);
}

/* ---- scripts ------------------------------------------------------------------------------- */

static struct tc_str str(const char *text)
{
    return (struct tc_str){text, (uint32_t)strlen(text)};
}

static void add(struct tc_scripts *scripts, const char *at, const char *text)
{
    const struct tc_record record = {.type = TC_RECORD_SOURCE, .at = str(at), .text = str(text)};

    tc_scripts_add(scripts, &record);
}

static void add_digest(struct tc_scripts *scripts, const char *at, const char *digest)
{
    const struct tc_record record = {
        .type = TC_RECORD_SOURCE, .at = str(at), .digest = str(digest)};

    tc_scripts_add(scripts, &record);
}

static void lines_of_two_scripts(void **state)
{
    struct tc_scripts a = {0}, b = {0};

    (void)state;
    add(&a, "ref.py", "import torch\nx = 1\nzero()\nstep()\n");
    add(&a, "lib/net.py", "class Net:\n    pass");
    add(&b, "bug.py", "import torch\nx = 1  \nstep()\nlog()\n");
    add(&b, "net.py", "class Net:\n    pass");
    add(&b, "net.py", "told once\n");
    tc_scripts_pair(&a, &b);
    struct tc_script *bug = tc_scripts_find(&b, "bug.py:3", 6);
    assert_non_null(bug);
    assert_string_equal(bug->other->at, "ref.py"); /* the programs, whatever they are called */
    assert_int_equal(bug->match[1], 1);            /* blanks at the end are nothing */
    assert_int_equal(bug->match[2], 3);
    assert_int_equal(bug->match[3], TC_UNMATCHED);
    assert_int_equal(bug->other->match[2], TC_UNMATCHED);
    assert_int_equal(tc_script_n_changed(bug), 1);
    assert_string_equal(tc_scripts_find(&b, "net.py", 6)->other->at, "lib/net.py");
    assert_int_equal(tc_scripts_find(&b, "net.py", 6)->n_lines, 2);
    assert_null(tc_scripts_find(&b, "ne", 2));
    tc_scripts_unpair(&a);
    assert_null(a.items.items[0]->other);
    tc_scripts_release(&a);
    tc_scripts_release(&b);
}

static void equal_files_are_known_to_be(void **state)
{
    struct tc_scripts a = {0}, b = {0};

    (void)state;
    add_digest(&a, "train.py", "1");
    add_digest(&a, "net.py", "2");
    add_digest(&a, "<stdin>", "");
    add_digest(&b, "train.py", "1");
    add_digest(&b, "net.py", "3");
    add_digest(&b, "<stdin>", ""); /* could not be read, neither of them */
    add_digest(&b, "new.py", "2");
    tc_scripts_pair(&a, &b);
    assert_true(tc_script_is_equal(b.items.items[0]));
    assert_false(tc_script_is_equal(b.items.items[1]));
    assert_false(tc_script_is_equal(b.items.items[2]));
    assert_false(tc_script_is_equal(b.items.items[3]));
    tc_scripts_release(&a);
    tc_scripts_release(&b);
}

static void note_choice(void *is, const struct tc_script_edit *edit,
                        const struct tc_edited_lines *lines)
{
    (void)lines;
    *(bool *)is &= tc_edit_is_choice(edit);
}

/* Is what became of a line of a script a choice? */
static bool is_choice(const char *before, const char *after)
{
    struct tc_scripts a = {0}, b = {0};
    char texts[2][256];

    snprintf(texts[0], sizeof(texts[0]), "import torch\n%s\nstep()\n", before);
    snprintf(texts[1], sizeof(texts[1]), "import torch\n%s\nstep()\n", after);
    add(&a, "train.py", texts[0]);
    add(&b, "train.py", texts[1]);
    tc_scripts_pair(&a, &b);
    bool is = true;
    tc_script_edits_each(&b, note_choice, &is);
    tc_scripts_release(&a);
    tc_scripts_release(&b);
    return is;
}

static void what_is_written_out_is_a_choice(void **state)
{
    (void)state;
    assert_true(is_choice("lr = 1e-3", "lr = 0.01  # more"));
    assert_true(is_choice("net = Net([64, 64], 'relu')", "net = Net([128, 128, 128], \"gelu\")"));
    assert_true(is_choice("opt = SGD(net, lr)", "opt = SGD(net, lr, weight_decay=-0.1)"));
    assert_true(is_choice("opt = SGD(net,\n    lr=.1)",
                          "opt = SGD(net,\n    lr=.2,\n    nesterov=True\n)"));
    assert_true(is_choice("opt = SGD(net, betas=[0.9, 0.99], eps=1)", "opt = SGD(net)"));
}

static void another_computation_is_none(void **state)
{
    (void)state;
    assert_false(is_choice("x = (x - MEAN) / STD", "x = (x - OTHER) / STD"));
    assert_false(is_choice("y = x[:, 1:]", "y = x[:, :-1]"));
    assert_false(
        is_choice("rates = [g['lr'] for g in groups]", "rates = [g['lr'] for g in groups][0]"));
    assert_false(is_choice("loss = a + beta * b", "loss = a + b"));
    assert_false(is_choice("scale = alpha / rank", "scale = alpha / rank ** 0.5"));
    assert_false(is_choice("running = 0.0", "pass"));
    assert_false(is_choice("run(x)\nx = 0", "run(x)"));
    assert_false(is_choice("run(x, rate=scale)", "run(x, rate=1.0)"));
}

static void places_name_a_line(void **state)
{
    size_t line;

    (void)state;
    assert_int_equal(tc_place_split("train.py:16", &line), 8);
    assert_int_equal(line, 16);
    assert_int_equal(tc_place_split("In[3]:2", &line), 5);
    assert_int_equal(tc_place_split("C:\\train.py", &line), 0);
    assert_int_equal(tc_place_split("train.py:", &line), 0);
    assert_int_equal(tc_place_split("train.py:0", &line), 0);
    assert_int_equal(tc_place_split("train.py:4x", &line), 0);
    assert_int_equal(tc_place_split(":4", &line), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diff_finds_what_is_missing),
        cmocka_unit_test(diff_of_nothing),
        cmocka_unit_test(diff_keeps_the_longest_of_two_orders),
        cmocka_unit_test(diff_without_anchors_is_the_shortest),
        cmocka_unit_test(diff_of_long_sequences_matches_nearly_all),
        cmocka_unit_test(rest_is_matched_between_what_was),
        cmocka_unit_test(lines_of_two_scripts),
        cmocka_unit_test(equal_files_are_known_to_be),
        cmocka_unit_test(what_is_written_out_is_a_choice),
        cmocka_unit_test(another_computation_is_none),
        cmocka_unit_test(places_name_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
