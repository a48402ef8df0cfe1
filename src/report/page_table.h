/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_table.h - many objects of equal keys as a table, in which no text stands twice
 *
 * {"keys":[...],"rows":[[...],...]}: a row has its values in the order of the keys; what is absent
 * is null, and at the end of a row left out. A key that begins with "@" has numbers of values in
 * the pool, which all tables share.
 */
#ifndef TC_REPORT_PAGE_TABLE_H
#define TC_REPORT_PAGE_TABLE_H

#include <stdbool.h>

#include "base/json.h"
#include "base/map.h"

/* All zero to begin with. */
struct tc_pool {
    struct tc_strbuf text; /* of the values, with commas between */
    struct tc_map numbers; /* hash of a value -> its number, plus one */
    size_t n;
};

enum {
    TC_POOLED = 1,
    TC_DETAIL = 2, /* left out where the table is larger than it should be */
};

struct tc_column {
    const char *key;
    unsigned flags;
};

struct tc_page_table {
    struct tc_pool *pool;
    const struct tc_column *columns;
    size_t n_columns, n_rows;
    struct tc_strbuf rows;
};

/* How many bytes the table has, with its pool. */
size_t tc_page_table_size(const struct tc_page_table *table);
/* Takes the object. */
void tc_page_table_add(struct tc_page_table *table, struct tc_json *take, bool has_details);
/* Appends the table, and releases it. */
void tc_page_table_print(struct tc_page_table *table, struct tc_strbuf *out);
/* Appends all values as an array, and releases the pool. */
void tc_pool_print(struct tc_pool *pool, struct tc_strbuf *out);

#endif /* TC_REPORT_PAGE_TABLE_H */
