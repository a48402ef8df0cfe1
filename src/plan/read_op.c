/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_op.c - an operator of a plan, with its arguments by the names that its rule has
 *
 * An operator over lists of tensors (_foreach_add_, _fused_adamw_) becomes one for each element.
 */
#include <string.h>

#include "plan/read_op.h"

#include "base/hash.h"
#include "plan/rules.h"

/* An op line as read, before its arguments are put in the rule's order. */
struct raw {
    struct tc_plan_argument *args;
    uint32_t n_args;
    TC_VEC(const struct tc_plan_tensor *) outs;
};

static enum tc_status read_args(struct tc_plan_reader *r, const struct tc_value *v, struct raw *raw)
{
    enum tc_status status = TC_OK;

    if (!v || v->kind != TC_VALUE_OBJECT)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'a': expected an object");
    raw->args = tc_arena_alloc(&r->set->line, (v->n + 1) * sizeof(*raw->args));
    raw->n_args = v->n;
    for (uint32_t i = 0; i < v->n && !status; i++) {
        char field[80] = "a.";
        struct tc_str key = v->members[i].key;
        size_t n = key.size < 70 ? key.size : 70;
        memcpy(field + 2, key.text, n);
        field[n + 2] = '\0';
        raw->args[i].name = key;
        status = tc_read_argument(r, &v->members[i].value, field, &raw->args[i].value);
    }
    return status;
}

static enum tc_status read_outs(struct tc_plan_reader *r, const struct tc_value *v, struct raw *raw)
{
    if (!v || v->kind != TC_VALUE_ARRAY)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'out': expected a list");
    for (uint32_t i = 0; i < v->n; i++) {
        struct tc_plan_tensor *t = NULL;
        if (v->items[i].kind != TC_VALUE_NULL) {
            t = tc_arena_alloc(&r->set->arena, sizeof(*t));
            enum tc_status status = tc_read_tensor(r, &v->items[i], "out", t);
            if (status)
                return status;
        }
        tc_vec_push(&raw->outs, t);
    }
    return TC_OK;
}

/* ---- one operator -------------------------------------------------------------------------- */

/* "other|scalar" has the name? */
static bool is_named(const char *alternatives, size_t size, struct tc_str name)
{
    for (const char *p = alternatives, *end = p + size; p < end;) {
        size_t n = strcspn(p, "| ");
        if (n == name.size && !memcmp(p, name.text, n))
            return true;
        p += n + 1;
    }
    return false;
}

static const struct tc_plan_value *find_argument(const struct raw *raw, const char *alternatives,
                                                 size_t size)
{
    for (uint32_t i = 0; i < raw->n_args; i++)
        if (raw->args[i].value.kind != TC_PLAN_NONE &&
            is_named(alternatives, size, raw->args[i].name))
            return &raw->args[i].value;
    return NULL;
}

static void collect(const struct tc_plan_value *v, const struct tc_plan_tensor **out, uint32_t *n)
{
    if (v->kind == TC_PLAN_TENSOR) {
        if (out)
            out[*n] = v->tensor;
        ++*n;
    }
    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n; i++)
        collect(&v->items[i], out, n);
}

/* Element `part` of the lists that have `parts` of them. */
static struct tc_plan_value part_of(const struct tc_plan_value *v, uint32_t part, uint32_t parts)
{
    bool is_list = parts && v->kind == TC_PLAN_LIST && v->n == parts;

    return is_list ? v->items[part] : *v;
}

static void put_args(struct tc_plan_reader *r, const struct raw *raw, struct tc_plan_op *op,
                     uint32_t part, uint32_t parts)
{
    struct tc_plan_value *args = tc_arena_zalloc(&r->set->arena, TC_RULE_MAX_ARGS * sizeof(*args));
    const char *p = op->rule ? op->rule->args : "";
    uint32_t n = 0;

    while (*p && n < TC_RULE_MAX_ARGS) {
        size_t size = strcspn(p, " ");
        const struct tc_plan_value *v = find_argument(raw, p, size);
        if (v)
            args[n] = part_of(v, part, parts);
        n++;
        p += size + (p[size] == ' ');
    }
    op->args = args;
    op->n_args = n;
}

/* Tensors of all arguments, those that the rule does not name too. */
static void put_reads(struct tc_plan_reader *r, const struct raw *raw, struct tc_plan_op *op,
                      uint32_t part, uint32_t parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < raw->n_args; i++) {
        struct tc_plan_value v = part_of(&raw->args[i].value, part, parts);
        collect(&v, NULL, &n);
    }
    const struct tc_plan_tensor **reads = tc_arena_alloc(&r->set->arena, (n + 1) * sizeof(*reads));
    n = 0;
    for (uint32_t i = 0; i < raw->n_args; i++) {
        struct tc_plan_value v = part_of(&raw->args[i].value, part, parts);
        collect(&v, reads, &n);
    }
    op->reads = reads;
    op->n_reads = n;
}

static void put_outs(struct tc_plan_reader *r, const struct raw *raw, struct tc_plan_op *op,
                     uint32_t part, uint32_t parts)
{
    size_t n = raw->outs.n, each = parts ? n / parts : n;
    const struct tc_plan_tensor **outs = tc_arena_alloc(&r->set->arena, (n + 1) * sizeof(*outs));

    op->n_outs = 0;
    for (size_t i = 0; i < each; i++)
        outs[op->n_outs++] = raw->outs.items[parts ? i * parts + part : i];
    op->outs = outs;
}

/* How many operators a list operator stands for; 0 if it is none. */
static uint32_t count_parts(const char *name, const struct raw *raw)
{
    if (strncmp(name, "aten._foreach_", 14) != 0 && strncmp(name, "aten._fused_ad", 14) != 0 &&
        strncmp(name, "aten._fused_sgd", 15) != 0)
        return 0;
    for (uint32_t i = 0; i < raw->n_args; i++)
        if (tc_str_is(raw->args[i].name, "self") && raw->args[i].value.kind == TC_PLAN_LIST)
            return raw->args[i].value.n;
    return 0;
}

static enum tc_status add_parts(struct tc_plan_reader *r, const struct raw *raw,
                                struct tc_plan_op op)
{
    uint32_t parts = count_parts(op.name, raw);

    if (parts && raw->outs.n % parts)
        return tc_error_set(r->err, TC_E_FORMAT,
                            "field 'out': %zu tensors, of an operator over lists of %u",
                            raw->outs.n, parts);
    for (uint32_t part = 0; part < (parts ? parts : 1); part++) {
        op.part = part;
        put_args(r, raw, &op, part, parts);
        put_reads(r, raw, &op, part, parts);
        put_outs(r, raw, &op, part, parts);
        tc_vec_push(&r->rank->program->ops, op);
    }
    return TC_OK;
}

/* All that an argument says, but for the elements of tensors. */
static uint64_t hash_value(const struct tc_plan_value *v, uint64_t seed)
{
    uint64_t h = tc_hash_mix(seed, (uint64_t)v->kind, v->n);

    if (v->kind == TC_PLAN_TEXT)
        return tc_hash64(v->text, strlen(v->text), h);
    if (v->kind == TC_PLAN_NUMBER)
        return tc_hash64(&v->number, sizeof(v->number), h);
    if (v->kind == TC_PLAN_WHOLE || v->kind == TC_PLAN_TRUTH)
        return tc_hash_mix(h, v->kind == TC_PLAN_WHOLE ? (uint64_t)v->whole : v->truth, 1);
    for (uint32_t i = 0; v->kind == TC_PLAN_LIST && i < v->n; i++)
        h = hash_value(&v->items[i], h);
    return h;
}

static uint64_t hash_args(const struct raw *raw)
{
    uint64_t h = 0;

    for (uint32_t i = 0; i < raw->n_args; i++)
        h = hash_value(&raw->args[i].value,
                       tc_hash64(raw->args[i].name.text, raw->args[i].name.size, h));
    return h;
}

static const struct tc_rule *rule_of(struct tc_plan_set *set, const char *name)
{
    bool is_new;
    uint64_t *rule = tc_map_at(&set->rules, (uintptr_t)name, &is_new);

    if (is_new)
        *rule = (uintptr_t)tc_rule_find(name);
    return (const struct tc_rule *)(uintptr_t)*rule;
}

static void add_lines(const struct tc_value *lines, const char *before, struct tc_strbuf *text)
{
    for (uint32_t i = 0; lines && lines->kind == TC_VALUE_ARRAY && i < lines->n; i++) {
        struct tc_str line = tc_value_str(&lines->items[i]);
        tc_strbuf_addf(text, "%s%.*s", i ? TC_PLAN_CALLED_FROM : before, (int)line.size, line.text);
    }
}

static const char *read_made(struct tc_plan_reader *r, const struct tc_value *made)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t i = 0; made && made->kind == TC_VALUE_ARRAY && i < made->n; i++) {
        struct tc_str line = tc_value_str(&made->items[i]);
        tc_strbuf_addf(&text, "%s%.*s", i ? ", " : "", (int)line.size, line.text);
    }
    const char *kept = tc_read_text(r, (struct tc_str){text.text, (uint32_t)text.size});
    tc_strbuf_release(&text);
    return kept;
}

/* As one text: it is compared as a whole. */
static const char *read_callers(struct tc_plan_reader *r, const struct tc_value *op)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    add_lines(tc_value_get(op, "via"), "", &text);
    add_lines(tc_value_get(op, "back"), TC_PLAN_BACKWARD_OF, &text);
    const char *kept = tc_read_text(r, (struct tc_str){text.text, (uint32_t)text.size});
    tc_strbuf_release(&text);
    return kept;
}

enum tc_status tc_plan_read_op(struct tc_plan_reader *r, const struct tc_value *v, uint64_t number)
{
    const struct tc_value *src = tc_value_get(v, "src"), *rng = tc_value_get(v, "rng"),
                          *value = tc_value_get(v, "value");
    struct tc_str name = tc_value_str(tc_value_get(v, "op"));
    struct tc_plan_op op = {.line = number, .src = "", .node = "", .made = ""};
    struct raw raw = {0};
    enum tc_status status;

    if (!name.size)
        return tc_error_set(r->err, TC_E_FORMAT, "field 'op': expected a text");
    op.name = tc_read_text(r, name);
    op.mod = tc_read_text(r, tc_value_str(tc_value_get(v, "mod")));
    if (src && src->kind == TC_VALUE_ARRAY && src->n == 2) {
        op.src = tc_read_text(r, tc_value_str(&src->items[0]));
        op.node = tc_read_text(r, tc_value_str(&src->items[1]));
    }
    op.via = read_callers(r, v);
    op.made = read_made(r, tc_value_get(v, "made"));
    op.draws = rng && rng->kind == TC_VALUE_ARRAY && rng->n == 2;
    for (int i = 0; op.draws && i < 2; i++)
        op.rng[i] = tc_value_int(&rng->items[i], 0);
    op.has_value = tc_value_number(value, &op.value) || (value && value->kind == TC_VALUE_BOOL);
    if (tc_value_is_true(value))
        op.value = 1;
    op.rule = rule_of(r->set, op.name);
    status = read_args(r, tc_value_get(v, "a"), &raw);
    if (!op.rule && !op.draws && tc_rule_may_be_unknown(op.name)) {
        op.rule = &tc_rule_unknown;
        op.attributes = hash_args(&raw);
    }
    if (!status)
        status = read_outs(r, tc_value_get(v, "out"), &raw);
    if (!status)
        status = add_parts(r, &raw, op);
    tc_vec_release(&raw.outs);
    return status;
}
