/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_states.c - ConsistencyRelation: two attributes hold equal values while both last
 *
 * A state is the value of an attribute from one change to the next. States of two variables are
 * walked in the order of time; those that overlap by more than a share of their common span must
 * have equal values.
 */
#include "python_tool/python_rules.h"

#include <string.h>

/* States that share less of their common span than this have nothing to do with each other. */
#define MIN_OVERLAP 0.01

/* ---- states -------------------------------------------------------------------------------- */

static struct tc_python_variable *variable_at(struct tc_python_variables *variables,
                                              struct tc_map *places, int64_t process,
                                              struct tc_str name)
{
    bool is_new;
    uint64_t *place = tc_map_at(places, tc_python_hash(name) ^ ((uint64_t)process << 32), &is_new);

    if (is_new) {
        *place = variables->items.n;
        tc_vec_push(&variables->items, ((struct tc_python_variable){process, name, {0}}));
    }
    return &variables->items.items[*place];
}

static void add_state(struct tc_python_trace *trace, struct tc_python_variable *variable,
                      const struct tc_python_record *record, const struct tc_value *value)
{
    tc_sym key = tc_python_key(trace->keys, value);
    struct tc_python_state *last =
        variable->states.n ? &variable->states.items[variable->states.n - 1] : NULL;

    if (key == TC_NO_SYM)
        return;
    if (last && last->value == key) {
        last->last = *record;
        return;
    }
    if (last)
        last->end = record->time;
    tc_vec_push(&variable->states,
                ((struct tc_python_state){key, value, record->time, trace->last_time, *record}));
}

static void find_states(struct tc_python_trace *trace, struct tc_python_variables *out)
{
    struct tc_map places = TC_MAP_INIT;
    char *field = tc_arena_alloc(&trace->arena, out->attr.size + 11);
    struct tc_str path = {field, out->attr.size + 11};

    memcpy(field, "attributes.", 11);
    memcpy(field + 11, out->attr.text, out->attr.size);
    for (size_t i = 0; i < trace->changes.n; i++) {
        const struct tc_python_record *record = &trace->changes.items[i];
        const struct tc_value *value;
        if (!tc_str_same(tc_value_str(tc_value_get(record->line, "var_type")), out->type))
            continue;
        struct tc_python_variable *variable = variable_at(
            out, &places, record->process, tc_value_str(tc_value_get(record->line, "var_name")));
        value = tc_python_field(record->line, path);
        if (value)
            add_state(trace, variable, record, value);
    }
    tc_map_release(&places);
}

const struct tc_python_variables *tc_python_trace_states(struct tc_python_trace *trace,
                                                         struct tc_str type, struct tc_str attr)
{
    struct tc_python_variables *variables;

    for (size_t i = 0; i < trace->states.n; i++)
        if (tc_str_same(trace->states.items[i]->type, type) &&
            tc_str_same(trace->states.items[i]->attr, attr))
            return trace->states.items[i];
    variables = tc_arena_zalloc(&trace->arena, sizeof(*variables));
    variables->type = type;
    variables->attr = attr;
    find_states(trace, variables);
    tc_vec_push(&trace->states, variables);
    return variables;
}

void tc_python_variables_release(struct tc_python_variables *variables)
{
    for (size_t i = 0; i < variables->items.n; i++)
        tc_vec_release(&variables->items.items[i].states);
    tc_vec_release(&variables->items);
}

/* ---- the rule ------------------------------------------------------------------------------ */

/* One side of the relation, with what its precondition asks of each state. */
struct side {
    struct tc_str type, attr;
    const struct tc_python_variables *variables;
    struct tc_arena arena; /* of rows */
    TC_VEC(tc_sym *) rows; /* of states, variable by variable */
    TC_VEC(size_t) first;  /* place in rows of the first state of a variable */
};

static void open_side(struct tc_python_judge *judge, size_t i, struct side *side)
{
    struct tc_python_trace *trace = judge->trace;
    size_t size = (judge->when.columns.n + 1) * sizeof(tc_sym);

    *side = (struct side){.type = tc_python_param(judge, i, "var_type"),
                          .attr = tc_python_param(judge, i, "attr_name")};
    if (!side->type.text || !side->attr.text) {
        judge->unchecked = "its params are not attributes of variables";
        return;
    }
    side->variables = tc_python_trace_states(trace, side->type, side->attr);
    for (size_t v = 0; v < side->variables->items.n; v++) {
        const struct tc_python_variable *variable = &side->variables->items.items[v];
        if (!variable->states.n)
            judge->unchecked = "a variable of its type lacks the attribute in this trace";
        tc_vec_push(&side->first, side->rows.n);
        for (size_t s = 0; s < variable->states.n; s++) {
            tc_sym *row = tc_arena_alloc(&side->arena, size);
            const struct tc_python_record *last = &variable->states.items[s].last;
            tc_python_when_row(trace, &judge->when, last, last, row);
            tc_vec_push(&side->rows, row);
        }
    }
}

static void close_side(struct side *side)
{
    tc_arena_release(&side->arena);
    tc_vec_release(&side->rows);
    tc_vec_release(&side->first);
}

static double overlap(const struct tc_python_state *a, const struct tc_python_state *b)
{
    int64_t begin = a->begin > b->begin ? a->begin : b->begin;
    int64_t end = a->end < b->end ? a->end : b->end;
    int64_t from = a->begin < b->begin ? a->begin : b->begin;
    int64_t to = a->end > b->end ? a->end : b->end;

    if (a->begin >= b->end || a->end <= b->begin)
        return 0;
    return ((double)end - (double)begin) / ((double)to - (double)from);
}

static void say_other_state(struct tc_python_judge *judge, const struct side *a, size_t i,
                            const struct tc_python_state *x, const struct side *b, size_t j,
                            const struct tc_python_state *y)
{
    const struct tc_python_variable *v = &a->variables->items.items[i];
    const struct tc_python_variable *w = &b->variables->items.items[j];
    bool y_is_later = tc_python_step(&y->last) > tc_python_step(&x->last);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text,
                   "%.*s of %.*s in process %lld is %s, and %.*s of %.*s in process %lld is %s",
                   (int)a->attr.size, a->attr.text, (int)v->name.size, v->name.text,
                   (long long)v->process, tc_strtab_text(judge->trace->keys, x->value),
                   (int)b->attr.size, b->attr.text, (int)w->name.size, w->name.text,
                   (long long)w->process, tc_strtab_text(judge->trace->keys, y->value));
    tc_python_broken(judge, y_is_later ? &y->last : &x->last, text.text);
    tc_strbuf_release(&text);
}

/* States of both stand in order of time: those that end before the one at hand are passed for good.
 */
static void judge_variables(struct tc_python_judge *judge, const struct side *a, size_t i,
                            const struct side *b, size_t j)
{
    const struct tc_python_variable *v = &a->variables->items.items[i];
    const struct tc_python_variable *w = &b->variables->items.items[j];
    size_t from = 0;

    for (size_t s = 0; s < v->states.n; s++) {
        const struct tc_python_state *x = &v->states.items[s];
        while (from < w->states.n && w->states.items[from].end <= x->begin)
            from++;
        for (size_t t = from; t < w->states.n && w->states.items[t].begin < x->end; t++) {
            const struct tc_python_state *y = &w->states.items[t];
            const tc_sym *rows[] = {a->rows.items[a->first.items[i] + s],
                                    b->rows.items[b->first.items[j] + t]};
            if (overlap(x, y) <= MIN_OVERLAP || !tc_python_when_holds(&judge->when, rows, 2))
                continue;
            if (x->value == y->value)
                tc_python_held(judge, &x->last);
            else
                say_other_state(judge, a, i, x, b, j, y);
        }
    }
}

/* Must both records name the same variable, whatever else holds? */
static bool needs_equal_names(const struct tc_python_when *when)
{
    if (when->inverted || when->is_unconditional)
        return false;
    for (size_t i = 0; i < when->any_of.n; i++) {
        const struct tc_python_conjunction *all = &when->any_of.items[i];
        size_t j = 0;
        while (j < all->clauses.n &&
               !(all->clauses.items[j].kind == TC_PYTHON_CONSISTENT &&
                 tc_str_is(when->columns.items[all->clauses.items[j].column].field, "var_name")))
            j++;
        if (j == all->clauses.n)
            return false;
    }
    return true;
}

static void judge_sides(struct tc_python_judge *judge, const struct side *a, const struct side *b)
{
    bool is_one = tc_str_same(a->type, b->type) && tc_str_same(a->attr, b->attr);
    bool by_name = needs_equal_names(&judge->when);

    for (size_t i = 0; i < a->variables->items.n; i++) {
        const struct tc_python_variable *v = &a->variables->items.items[i];
        for (size_t j = is_one ? i + 1 : 0; j < b->variables->items.n; j++) {
            const struct tc_python_variable *w = &b->variables->items.items[j];
            bool is_same_name = tc_str_same(v->name, w->name);
            if (by_name && !is_same_name)
                continue;
            /* A variable is not compared with itself. */
            if (is_same_name && v->process == w->process && tc_str_same(a->type, b->type))
                continue;
            judge_variables(judge, a, i, b, j);
        }
    }
}

void tc_python_judge_consistency(struct tc_python_judge *judge)
{
    struct side a, b;

    open_side(judge, 0, &a);
    open_side(judge, 1, &b);
    if (!judge->unchecked)
        judge_sides(judge, &a, &b);
    close_side(&a);
    close_side(&b);
}
