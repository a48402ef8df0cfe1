/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_padded.c - reads masks of rows by their names and summaries
 */
#include "relation/rows_padded.h"

#include <string.h>

#include "relation/form.h"

#define MAX_DEPTH 3

static bool ends_with(struct tc_str name, const char *end)
{
    const size_t n = strlen(end);

    return name.size >= n && !memcmp(name.text + name.size - n, end, n);
}

static int64_t count_in_summary(const struct tc_value *summary, const char *what)
{
    return tc_value_int(tc_value_get(summary, what), -1);
}

/* Of zeros and ones. */
static bool read_numbers(const struct tc_value *summary, bool one_is_visible,
                         struct tc_rows_padded *out)
{
    const int64_t zero = count_in_summary(summary, "zero"), one = count_in_summary(summary, "one"),
                  visible = one_is_visible ? 1 : 0;

    if (zero + one != out->rows * out->columns)
        return false;
    out->n_visible = one_is_visible ? one : zero;
    out->ends_in_padding = out->n_visible < zero + one &&
                           count_in_summary(summary, "first") == visible &&
                           count_in_summary(summary, "last") != visible;
    return true;
}

static bool read_mask(const struct tc_value *mask, bool one_is_visible, struct tc_rows_padded *out)
{
    const struct tc_value *summary = tc_value_get(mask, "summary");

    *out = (struct tc_rows_padded){.rows = tc_size_of(mask, 0), .columns = tc_size_of(mask, 1)};
    if (!summary || out->rows < 1 || out->columns < 2 || tc_n_dimensions(mask) != 2)
        return false;
    if (!tc_value_get(summary, "true"))
        return read_numbers(summary, one_is_visible, out);
    out->n_visible = count_in_summary(summary, one_is_visible ? "true" : "false");
    return true;
}

static bool find_mask(const struct tc_value *v, unsigned depth, struct tc_rows_padded *out)
{
    const struct tc_value *dict = tc_value_get(v, "dict");
    bool is_found = false;

    v = dict ? dict : v;
    for (uint32_t i = 0; v && v->kind == TC_VALUE_OBJECT && i < v->n && !is_found; i++) {
        const struct tc_value *member = &v->members[i].value;
        if (ends_with(v->members[i].key, "attention_mask"))
            is_found = read_mask(member, true, out);
        else if (ends_with(v->members[i].key, "padding_mask"))
            is_found = read_mask(member, false, out);
        else if (depth && tc_value_get(member, "dict"))
            is_found = find_mask(member, depth - 1, out);
    }
    return is_found;
}

bool tc_rows_padded_of(const struct tc_call *forward, struct tc_rows_padded *out)
{
    return find_mask(forward->args, MAX_DEPTH, out);
}

int64_t tc_count_of_number(const struct tc_value *tensor, int64_t number)
{
    const struct tc_value *summary = tc_value_get(tensor, "summary");

    return number < 0                                  ? count_in_summary(summary, "negative")
           : number == 0                               ? count_in_summary(summary, "zero")
           : number == 1                               ? count_in_summary(summary, "one")
           : count_in_summary(summary, "max") < number ? 0
                                                       : -1;
}
