/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - numbers and tensors within what a call is given or returns
 */
#include "fact/walk.h"

#include <string.h>

#include "fact/operand_pack.h"

/* Of lists and dicts in others so many; longer lists are not looked into at all. */
#define MAX_DEPTH 2

struct walk {
    tc_fact_visitor *visit;
    void *context;
    struct tc_strbuf path;
};

static void walk_value(struct walk *w, const struct tc_value *value, unsigned depth);

static void cut_path(struct walk *w, size_t size)
{
    w->path.size = size;
    w->path.text[size] = '\0';
}

static void walk_members(struct walk *w, const struct tc_value *dict, unsigned depth)
{
    const size_t size = w->path.size;

    for (uint32_t i = 0; i < dict->n; i++) {
        tc_strbuf_addc(&w->path, '.');
        tc_strbuf_add(&w->path, dict->members[i].key.text, dict->members[i].key.size);
        walk_value(w, &dict->members[i].value, depth + 1);
        cut_path(w, size);
    }
}

static void walk_items(struct walk *w, const struct tc_value *list, unsigned depth)
{
    const size_t size = w->path.size;

    for (uint32_t i = 0; list->n <= TC_FACT_LIST && i < list->n; i++) {
        tc_strbuf_addf(&w->path, "[%u]", (unsigned)i);
        walk_value(w, &list->items[i], depth + 1);
        cut_path(w, size);
    }
}

static void walk_value(struct walk *w, const struct tc_value *value, unsigned depth)
{
    const struct tc_value *dict = tc_value_get(value, "dict");

    if (depth > MAX_DEPTH)
        return;
    if (value->kind == TC_VALUE_ARRAY)
        walk_items(w, value, depth);
    else if (dict && dict->kind == TC_VALUE_OBJECT)
        walk_members(w, dict, depth);
    else
        w->visit(w->context, w->path.text, value);
}

void tc_fact_walk(const struct tc_value *value, const char *path, tc_fact_visitor *visit,
                  void *context)
{
    struct walk w = {.visit = visit, .context = context};

    if (!value)
        return;
    tc_strbuf_adds(&w.path, path);
    if (!strcmp(path, "args") && value->kind == TC_VALUE_OBJECT)
        walk_members(&w, value, 0);
    else
        walk_value(&w, value, 0);
    tc_strbuf_release(&w.path);
}
