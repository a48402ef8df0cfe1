/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_form.c - one line of an invariant file of the Python TrainCheck
 *
 * It is kept as it was written, with exact integers; its rules are judged by python_tool/.
 */
#include "invariant/python_form.h"

#include <string.h>

#include "trace/scan.h"

bool tc_is_python_invariant(const char *line, size_t size)
{
    static const char mark[] = "\"param_type\"";

    return memmem(line, size, mark, sizeof(mark) - 1) != NULL;
}

static void set_text(struct tc_invariant_set *set, struct tc_invariant *invariant)
{
    struct tc_str text = tc_value_str(tc_value_get(invariant->foreign, "text_description"));

    if (!text.size)
        text = tc_value_str(tc_value_get(invariant->foreign, "relation"));
    invariant->text = tc_arena_text(&set->arena, text.text, text.size);
}

/* Params and precondition as text: what tells it from others. */
static void set_param(struct tc_invariant_set *set, struct tc_invariant *invariant)
{
    static const char *const keys[] = {"params", "precondition"};
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < 2; i++) {
        const struct tc_value *value = tc_value_get(invariant->foreign, keys[i]);
        if (value)
            tc_value_print(value, &text);
    }
    invariant->params[0] =
        (struct tc_param){.kind = TC_PARAM_FOREIGN,
                          .name = tc_strtab_intern(set->symbols, text.text, text.size),
                          .role = TC_NO_SYM,
                          .attr = TC_NO_SYM,
                          .from = TC_NO_SYM,
                          .to = TC_NO_SYM};
    invariant->n_params = 1;
    tc_strbuf_release(&text);
}

static uint64_t count_of(const struct tc_value *definition, const char *key)
{
    int64_t n = tc_value_int(tc_value_get(definition, key), 0);

    return n > 0 ? (uint64_t)n : 0;
}

enum tc_status tc_python_invariant_read(struct tc_invariant_set *set, const char *line, size_t size,
                                        struct tc_error *err)
{
    struct tc_value *definition = tc_arena_alloc(&set->arena, sizeof(*definition));
    const char *text = tc_arena_text(&set->arena, line, size);
    enum tc_status status = tc_scan(text, size, &set->arena, definition, err);
    struct tc_str relation;
    bool is_new;

    if (status != TC_OK)
        return status;
    relation = tc_value_str(tc_value_get(definition, "relation"));
    if (!relation.size)
        return tc_error_set(err, TC_E_FORMAT, "field \"relation\" is missing or no string");
    struct tc_invariant *invariant = tc_invariant_add(set);
    invariant->foreign = definition;
    invariant->relation = tc_strtab_intern(set->symbols, relation.text, relation.size);
    invariant->held = count_of(definition, "num_positive_examples");
    invariant->excluded = count_of(definition, "num_negative_examples");
    invariant->pipelines = 1;
    set_text(set, invariant);
    set_param(set, invariant);
    tc_invariant_name(invariant, set->symbols);
    tc_map_at(&set->known, tc_invariant_digest(invariant, set->symbols), &is_new);
    if (!is_new)
        set->items.n--;
    return TC_OK;
}
