/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_error.c - status codes and messages
 */
#include "unit.h"

#include <traincheck/error.h>

static void every_status_has_its_text(void **state)
{
    (void)state;
    assert_string_equal(tc_status_text(TC_OK), "success");
    assert_string_equal(tc_status_text(TC_END), "end of input");
    assert_string_equal(tc_status_text(TC_E_NOMEM), "out of memory");
    assert_string_equal(tc_status_text((enum tc_status)77), "unknown status");
}

static void set_fills_and_returns(void **state)
{
    struct tc_error err = {TC_OK, ""};

    (void)state;
    assert_int_equal(tc_error_set(&err, TC_E_IO, "%s: line %d", "a.c", 7), TC_E_IO);
    assert_int_equal(err.status, TC_E_IO);
    assert_string_equal(err.text, "a.c: line 7");
    assert_int_equal(tc_error_set(NULL, TC_E_FORMAT, "x"), TC_E_FORMAT);
}

static void set_may_quote_itself(void **state)
{
    struct tc_error err = {TC_OK, "inner"};

    (void)state;
    tc_error_set(&err, TC_E_IO, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
}

static void prefix_goes_in_front(void **state)
{
    struct tc_error err;

    (void)state;
    tc_error_set(&err, TC_E_IO, "no space");
    tc_error_prefix(&err, "file %d", 3);
    assert_string_equal(err.text, "file 3: no space");
    assert_int_equal(err.status, TC_E_IO);
    tc_error_prefix(NULL, "x");
}

static void long_texts_are_cut(void **state)
{
    char x[2000];
    struct tc_error err;

    (void)state;
    memset(x, 'x', sizeof(x) - 1);
    x[sizeof(x) - 1] = '\0';
    tc_error_set(&err, TC_E_IO, "%s", x);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    tc_error_prefix(&err, "p");
    assert_memory_equal(err.text, "p: xxx", 6);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    tc_error_prefix(&err, "%s", x);
    assert_memory_equal(err.text, "p: xxx", 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_text), cmocka_unit_test(set_fills_and_returns),
        cmocka_unit_test(set_may_quote_itself),      cmocka_unit_test(prefix_goes_in_front),
        cmocka_unit_test(long_texts_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
