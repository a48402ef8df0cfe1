/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lean.c - calls that are left out, and what that makes of those inside of them
 *
 * The agent does not see a call that it was not asked for: what that calls has the next call
 * outwards for its parent, and if no other than containers is around it, the nearest line of the
 * user's. A root forward stays whatever its name.
 */
#include "replay/lean.h"

#include <string.h>

#include "replay/symbols.h"

void tc_lean_release(struct tc_lean *lean)
{
    tc_map_release(&lean->around);
    tc_map_release(&lean->lines);
}

static bool is_left_out(const struct tc_lean *lean, const struct tc_record *call)
{
    return tc_strtab_find(lean->left_out, call->fn.text, call->fn.size) != TC_NO_SYM &&
           !tc_value_is(tc_value_get(call->self, "role"), "root");
}

/* Is nothing around it but what tells its place to those inside? */
static bool is_outside(const struct tc_call *call)
{
    for (; call; call = call->parent)
        if (call->role != TC_ROLE_LIBRARY && call->role != TC_ROLE_METHOD)
            return false;
    return true;
}

static tc_sym line_of(const struct tc_lean *lean, const struct tc_spans *spans,
                      const struct tc_record *call)
{
    uint64_t line = TC_NO_SYM;

    if (call->at.text)
        return tc_symbols_str(spans->symbols, call->at);
    tc_map_get(&lean->lines, (uint64_t)call->parent, &line);
    return (tc_sym)line;
}

static void leave_out(struct tc_lean *lean, const struct tc_spans *spans,
                      const struct tc_record *call)
{
    uint64_t around = (uint64_t)call->parent;

    tc_map_get(&lean->around, (uint64_t)call->parent, &around);
    tc_map_put(&lean->lines, (uint64_t)call->id, line_of(lean, spans, call));
    tc_map_put(&lean->around, (uint64_t)call->id, around);
}

/* The place of a call without a recorded one around it. */
static void set_place(const struct tc_lean *lean, const struct tc_spans *spans,
                      struct tc_record *call)
{
    static const struct tc_str by_user = {"user", 4}, by_torch = {"torch", 5};
    const tc_sym line = line_of(lean, spans, call);

    call->by = call->at.text ? by_user : by_torch;
    if (line != TC_NO_SYM)
        call->at = (struct tc_str){tc_strtab_text(spans->symbols, line),
                                   (uint32_t)tc_strtab_size(spans->symbols, line)};
}

static const struct tc_record *take_call(struct tc_lean *lean, const struct tc_spans *spans,
                                         const struct tc_record *call, struct tc_record *changed)
{
    uint64_t around;

    if (is_left_out(lean, call)) {
        leave_out(lean, spans, call);
        return NULL;
    }
    if (!tc_map_get(&lean->around, (uint64_t)call->parent, &around))
        return call;
    *changed = *call;
    if (is_outside(tc_spans_find(spans, (int64_t)around)))
        set_place(lean, spans, changed);
    changed->parent = (int64_t)around;
    return changed;
}

static const struct tc_record *take_end(struct tc_lean *lean, const struct tc_record *end)
{
    if (!tc_map_remove(&lean->around, (uint64_t)end->id))
        return end;
    tc_map_remove(&lean->lines, (uint64_t)end->id);
    return NULL;
}

static const struct tc_record *take_variable(const struct tc_lean *lean,
                                             const struct tc_record *variable,
                                             struct tc_record *changed)
{
    uint64_t around;

    if (!tc_map_get(&lean->around, (uint64_t)variable->cause, &around))
        return variable;
    *changed = *variable;
    changed->cause = TC_NONE;
    return changed;
}

const struct tc_record *tc_lean_take(struct tc_lean *lean, const struct tc_spans *spans,
                                     const struct tc_record *record, struct tc_record *changed)
{
    if (!lean->left_out)
        return record;
    switch (record->type) {
    case TC_RECORD_CALL:
        return take_call(lean, spans, record, changed);
    case TC_RECORD_RETURN:
    case TC_RECORD_RAISE:
        return take_end(lean, record);
    case TC_RECORD_VAR:
        return take_variable(lean, record, changed);
    default:
        return record;
    }
}

void tc_lean_add_told(const struct tc_value *process, struct tc_strtab *left_out)
{
    const struct tc_value *names = tc_value_get(process, "left_out");

    for (uint32_t i = 0; names && names->kind == TC_VALUE_ARRAY && i < names->n; i++) {
        const struct tc_str name = tc_value_str(&names->items[i]);
        if (name.text)
            tc_strtab_intern(left_out, name.text, name.size);
    }
}
