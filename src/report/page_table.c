/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_table.c - values known by a hash of their JSON
 */
#include "report/page_table.h"

#include "base/hash.h"

size_t tc_page_table_size(const struct tc_page_table *table)
{
    return table->rows.size + table->pool->text.size;
}

static uint64_t number_of_text(struct tc_pool *pool, const struct tc_strbuf *value)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&pool->numbers, tc_hash64(value->text, value->size, 0), &is_new);

    if (is_new) {
        tc_strbuf_adds(&pool->text, pool->n ? "," : "");
        tc_strbuf_add(&pool->text, value->text, value->size);
        *slot = ++pool->n;
    }
    return *slot - 1;
}

static void add_cell(struct tc_page_table *table, const struct tc_column *column,
                     const struct tc_json *value)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_print(value, &text);
    if (column->flags & TC_POOLED)
        tc_strbuf_add_int(&table->rows, (int64_t)number_of_text(table->pool, &text));
    else
        tc_strbuf_add(&table->rows, text.text, text.size);
    tc_strbuf_release(&text);
}

void tc_page_table_add(struct tc_page_table *table, struct tc_json *take, bool has_details)
{
    size_t n_absent = 0;

    tc_strbuf_adds(&table->rows, table->n_rows++ ? ",[" : "[");
    for (size_t i = 0, n = 0; i < table->n_columns; i++) {
        const struct tc_column *column = &table->columns[i];
        const struct tc_json *value = tc_json_get(take, column->key);
        if (!value || (column->flags & TC_DETAIL && !has_details)) {
            n_absent++;
            continue;
        }
        for (; n_absent; n_absent--)
            tc_strbuf_adds(&table->rows, n++ ? ",null" : "null");
        tc_strbuf_adds(&table->rows, n++ ? "," : "");
        add_cell(table, column, value);
    }
    tc_strbuf_addc(&table->rows, ']');
    tc_json_free(take);
}

void tc_page_table_print(struct tc_page_table *table, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, "{\"keys\":[");
    for (size_t i = 0; i < table->n_columns; i++)
        tc_strbuf_addf(out, "%s\"%s%s\"", i ? "," : "",
                       table->columns[i].flags & TC_POOLED ? "@" : "", table->columns[i].key);
    tc_strbuf_adds(out, "],\"rows\":[");
    tc_strbuf_add(out, table->rows.text, table->rows.size);
    tc_strbuf_adds(out, "]}");
    tc_strbuf_release(&table->rows);
}

void tc_pool_print(struct tc_pool *pool, struct tc_strbuf *out)
{
    tc_strbuf_addc(out, '[');
    tc_strbuf_add(out, pool->text.text, pool->text.size);
    tc_strbuf_addc(out, ']');
    tc_strbuf_release(&pool->text);
    tc_map_release(&pool->numbers);
}
