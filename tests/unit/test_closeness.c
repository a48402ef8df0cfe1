/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_closeness.c - how far apart values are, and which steps are no more than rounding
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "compare/closeness.h"
#include "replay/symbols.h"
#include "trace/scan.h"
#include <traincheck/error.h>

/* Leaves of a value that a call returned. */
struct told {
    char line[512]; /* texts lie in it */
    struct tc_arena arena;
    struct tc_leaf_reader reader;
    struct tc_leaves leaves;
};

static void tell(struct told *told, const char *value)
{
    struct tc_record record;
    struct tc_error err;

    *told = (struct told){.reader.symbols = tc_symbols_new()};
    snprintf(told->line, sizeof(told->line), "{\"type\":\"return\",\"id\":1,\"t\":1,\"value\":%s}",
             value);
    assert_int_equal(tc_record_parse(told->line, strlen(told->line), &told->arena, &record, &err),
                     TC_OK);
    tc_leaves_of_end(&told->reader, &record, &told->leaves);
}

static void forget(struct told *told)
{
    tc_strtab_free(told->reader.symbols);
    tc_leaf_reader_release(&told->reader);
    tc_vec_release(&told->leaves);
    tc_arena_release(&told->arena);
}

static const struct tc_leaf *leaf_of(const struct told *told, const char *path)
{
    for (size_t i = 0; i < told->leaves.n; i++)
        if (!strcmp(tc_strtab_text(told->reader.symbols, told->leaves.items[i].path), path))
            return &told->leaves.items[i];
    return NULL;
}

/* -1: it is not told. */
static double distance(const char *path, const char *x, const char *y, int *limit)
{
    struct told a, b;
    struct tc_distance d = {0, 0};

    tell(&a, x);
    tell(&b, y);
    const bool is_told = tc_leaf_distance(leaf_of(&a, path), leaf_of(&b, path), &d);
    *limit = d.limit;
    forget(&a);
    forget(&b);
    return is_told ? d.relative : -1;
}

#define TENSOR(dtype, rest) "{\"tensor\":\"Tensor\",\"id\":1,\"dtype\":\"" dtype "\"," rest "}"
#define FULL(dtype, digest, sketch) \
    TENSOR(dtype, "\"digest\":\"" digest "\",\"sketch\":" sketch ",\"value\":1.5")

static void sketches_and_numbers_tell_the_distance(void **state)
{
    int limit;
    const char *x = FULL("float32", "a", "[10,1,2,3,4]");

    (void)state;
    assert_float_equal(distance("result.digest", x, FULL("float32", "b", "[8,2,1,4,3]"), &limit),
                       0.1, 1e-12);
    assert_int_equal(limit, -18);
    assert_float_equal(distance("result.digest", x, FULL("bfloat16", "b", "[20,5,-2,7,8]"), &limit),
                       0.2, 1e-12);
    assert_int_equal(limit, -6);
    assert_float_equal(distance("result.digest", FULL("float16", "a", "[1e300,1e300,0,0,0]"),
                                FULL("float16", "b", "[0,0,0,0,0]"), &limit),
                       0.5, 1e-12);
    assert_int_equal(limit, -9);
    /* The digest speaks for all of the tensor. */
    assert_true(distance("result.value", x, FULL("float32", "b", "[8,2,1,4,3]"), &limit) < 0);
    assert_float_equal(distance("result.value", TENSOR("float32", "\"value\":2"),
                                TENSOR("float32", "\"value\":1.5"), &limit),
                       0.25, 1e-12);
    assert_float_equal(distance("result", "2.5", "2.0", &limit), 0.2, 1e-12);
}

static void what_has_no_sketch_is_not_told(void **state)
{
    int limit;
    const char *x = FULL("float32", "a", "[10,1,2,3,4]"),
               *y = TENSOR("float32", "\"digest\":\"b\"");

    (void)state;
    assert_true(distance("result.digest", x, y, &limit) < 0);
    assert_true(distance("result.digest", x, FULL("float32", "b", "[10,1,2]"), &limit) < 0);
    assert_true(distance("result.digest", x, FULL("float32", "b", "[10,1,2,\"3\",4]"), &limit) < 0);
}

static void a_sketch_is_no_leaf(void **state)
{
    struct told told;

    (void)state;
    tell(&told, FULL("float32", "a", "[10,1,2,3,4]"));
    for (size_t i = 0; i < told.leaves.n; i++)
        assert_null(
            strstr(tc_strtab_text(told.reader.symbols, told.leaves.items[i].path), "sketch"));
    forget(&told);
    tell(&told, "{\"object\":\"Thing\",\"attrs\":{\"sketch\":3}}");
    assert_non_null(leaf_of(&told, "result.attrs.sketch"));
    forget(&told);
}

/* ---- steps ---- */

/* Numbers that are so far apart. */
static void note(struct tc_closeness *c, int64_t step, const char *dtype, double relative)
{
    const struct tc_closeness_place place = {.step = step, .path = (tc_sym)step};
    char x[128], y[128];
    struct told a, b;

    snprintf(x, sizeof(x), "{\"tensor\":\"T\",\"dtype\":\"%s\",\"value\":1}", dtype);
    snprintf(y, sizeof(y), "{\"tensor\":\"T\",\"dtype\":\"%s\",\"value\":%.17g}", dtype,
             1 - relative);
    tell(&a, x);
    tell(&b, y);
    tc_closeness_note(c, &place, leaf_of(&a, "result.value"), leaf_of(&b, "result.value"));
    forget(&a);
    forget(&b);
}

static void steps_are_rounding_until_half_of_the_values_are_far(void **state)
{
    struct tc_closeness c = {.near_until = -1};

    (void)state;
    for (int64_t step = 0; step < 10; step++) {
        note(&c, step, "float32", 1e-7);
        note(&c, step, "float32", 2e-7);
        note(&c, step, "float32", step < 7 ? 1e-7 : 1e-2);
        note(&c, step, "float32", 1e-2); /* zero but for rounding */
        tc_closeness_note(&c, &(struct tc_closeness_place){0}, &(struct tc_leaf){0},
                          &(struct tc_leaf){0});
        tc_closeness_close(&c, step);
    }
    assert_true(c.is_far && c.is_known);
    assert_int_equal(c.near_until, 6);
    assert_int_equal(c.far.step, 7);
    assert_int_equal(c.n_entries, 10);
    assert_true(c.entries[0].typical < 2e-7 && c.entries[0].typical > 5e-8);
    assert_float_equal(c.entries[0].worst, 1e-2, 1e-9);
}

static void a_step_without_a_difference_is_rounding_too(void **state)
{
    struct tc_closeness c = {.near_until = -1};

    (void)state;
    note(&c, 3, "float32", 1e-7);
    tc_closeness_close(&c, 3);
    tc_closeness_close(&c, 4);
    assert_int_equal(c.near_until, 4);
    /* What differs, nobody knows by how much. */
    tc_closeness_note(&c, &(struct tc_closeness_place){0}, &(struct tc_leaf){0},
                      &(struct tc_leaf){0});
    tc_closeness_close(&c, 5);
    assert_int_equal(c.near_until, 4);
}

static void numbers_of_a_lower_precision_round_more(void **state)
{
    struct tc_closeness c = {.near_until = -1};

    (void)state;
    note(&c, 0, "bfloat16", 4e-3);
    tc_closeness_close(&c, 0);
    note(&c, 1, "float32", 1e-3);
    tc_closeness_close(&c, 1);
    assert_false(c.is_far);
    note(&c, 2, "float32", 2e-2);
    tc_closeness_close(&c, 2);
    assert_int_equal(c.near_until, 1);
}

/* Of several processes the first step counts. */
static void the_first_step_of_all_processes_counts(void **state)
{
    struct tc_closeness c = {.near_until = -1};

    (void)state;
    for (int64_t first = 8; first >= 4; first -= 2)
        for (int64_t step = 0; step < 10; step++) {
            note(&c, step, "float32", step < first ? 1e-7 : 1e-3);
            tc_closeness_close(&c, step);
        }
    assert_int_equal(c.near_until, 3);
    assert_int_equal(c.far.path, 4);
}

static void a_long_run_keeps_so_many_entries(void **state)
{
    struct tc_closeness c = {.near_until = -1};
    uint64_t n = 0;

    (void)state;
    for (int64_t step = 0; step < 1000; step++) {
        note(&c, step, "float32", step == 777 ? 1e-6 : 1e-7);
        tc_closeness_close(&c, step);
    }
    assert_true(c.n_entries <= TC_CLOSENESS_ENTRIES && c.n_entries > TC_CLOSENESS_ENTRIES / 2 - 4);
    for (size_t i = 0; i < c.n_entries; i++) {
        n += c.entries[i].n_windows;
        assert_int_equal(c.entries[i].step, i * c.per_entry);
        assert_true((c.entries[i].worst > 5e-7) == (777 / c.per_entry == i));
    }
    assert_int_equal(n, 1000);
    assert_int_equal(c.near_until, 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sketches_and_numbers_tell_the_distance),
        cmocka_unit_test(what_has_no_sketch_is_not_told),
        cmocka_unit_test(a_sketch_is_no_leaf),
        cmocka_unit_test(steps_are_rounding_until_half_of_the_values_are_far),
        cmocka_unit_test(a_step_without_a_difference_is_rounding_too),
        cmocka_unit_test(numbers_of_a_lower_precision_round_more),
        cmocka_unit_test(the_first_step_of_all_processes_counts),
        cmocka_unit_test(a_long_run_keeps_so_many_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
