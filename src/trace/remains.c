/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains.c - lines that stay as they are, and variables whose attributes are merged
 *
 * A variable's later records hold only what changed. So of each the last value of each attribute is
 * kept as text, and one record of it is printed. It has no cause: the change has left with that.
 */
#include "trace/remains.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/scan.h"

struct attribute {
    char *key, *value; /* of the value its JSON */
};

struct variable {
    int64_t serial, root, t, step;
    char *name, *kind, *stage; /* NULL: no record of it told */
    TC_VEC(struct attribute) attrs;
};

struct tc_remains {
    struct tc_strbuf lines;  /* that stay as they are */
    struct tc_map variables; /* serial -> struct variable * */
    uint64_t n_steps;
    int64_t first_step, last_step, t; /* TC_NONE: none was seen */
};

struct tc_remains *tc_remains_new(void)
{
    struct tc_remains *remains = tc_calloc(1, sizeof(*remains));

    remains->first_step = remains->last_step = remains->t = TC_NONE;
    return remains;
}

void tc_remains_free(struct tc_remains *remains)
{
    struct variable *v;

    if (!remains)
        return;
    for (size_t pos = 0; (v = tc_map_next(&remains->variables, &pos));) {
        for (size_t i = 0; i < v->attrs.n; i++) {
            tc_free(v->attrs.items[i].key);
            tc_free(v->attrs.items[i].value);
        }
        tc_vec_release(&v->attrs);
        tc_free(v->name);
        tc_free(v->kind);
        tc_free(v->stage);
    }
    tc_map_release_structs(&remains->variables);
    tc_strbuf_release(&remains->lines);
    tc_free(remains);
}

/* ---- records -------------------------------------------------------------------------------- */

static char *copy(struct tc_str text)
{
    struct tc_strbuf out = TC_STRBUF_INIT;

    tc_strbuf_add(&out, text.text, text.size);
    return tc_strbuf_take(&out);
}

static void replace(char **text, struct tc_str with)
{
    if (!with.text)
        return;
    tc_free(*text);
    *text = copy(with);
}

static void set_attribute(struct variable *v, const struct tc_member *member)
{
    struct tc_strbuf value = TC_STRBUF_INIT;
    size_t i = 0;

    while (i < v->attrs.n && !(strlen(v->attrs.items[i].key) == member->key.size &&
                               !memcmp(v->attrs.items[i].key, member->key.text, member->key.size)))
        i++;
    if (i == v->attrs.n)
        tc_vec_push(&v->attrs, ((struct attribute){.key = copy(member->key)}));
    tc_value_print(&member->value, &value);
    tc_free(v->attrs.items[i].value);
    v->attrs.items[i].value = tc_strbuf_take(&value);
}

static void add_variable(struct tc_remains *remains, const struct tc_record *record)
{
    const bool is_new = !tc_map_find(&remains->variables, (uint64_t)record->var);
    struct variable *v = tc_map_struct(&remains->variables, (uint64_t)record->var, sizeof(*v));

    if (is_new)
        v->root = TC_NONE;
    v->serial = record->var;
    v->t = record->t;
    v->step = record->step;
    v->root = record->root != TC_NONE ? record->root : v->root;
    replace(&v->name, record->name);
    replace(&v->kind, record->kind);
    replace(&v->stage, record->stage);
    for (uint32_t i = 0; i < record->attrs->n; i++)
        set_attribute(v, &record->attrs->members[i]);
}

static void add_line(struct tc_remains *remains, struct tc_str line)
{
    tc_strbuf_add(&remains->lines, line.text, line.size);
    tc_strbuf_addc(&remains->lines, '\n');
}

static void see_step(struct tc_remains *remains, int64_t step)
{
    if (step == TC_NONE)
        return;
    if (remains->first_step == TC_NONE)
        remains->first_step = step;
    remains->last_step = step;
}

void tc_remains_add(struct tc_remains *remains, const struct tc_record *record, struct tc_str line)
{
    see_step(remains, record->step);
    if (record->t != TC_NONE)
        remains->t = record->t;
    switch (record->type) {
    case TC_RECORD_VAR:
        add_variable(remains, record);
        break;
    case TC_RECORD_STEP:
        remains->n_steps++;
        break;
    case TC_RECORD_NOTE:
        if (tc_str_is(record->code, "trimmed")) /* by an earlier trimming */
            remains->n_steps += record->count > 0 ? (uint64_t)record->count : 0;
        else
            add_line(remains, line);
        break;
    case TC_RECORD_API:
    case TC_RECORD_SOURCE:
    case TC_RECORD_UNKNOWN:
        add_line(remains, line);
        break;
    case TC_RECORD_PROCESS:
    case TC_RECORD_CALL:
    case TC_RECORD_RETURN:
    case TC_RECORD_RAISE:
    case TC_RECORD_END:
        break;
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_text(const char *key, const char *text, struct tc_strbuf *out)
{
    if (!text)
        return;
    tc_strbuf_addf(out, ",\"%s\":", key);
    tc_strbuf_add_json(out, text, strlen(text));
}

static void print_number(const char *key, int64_t number, struct tc_strbuf *out)
{
    if (number != TC_NONE)
        tc_strbuf_addf(out, ",\"%s\":%" PRId64, key, number);
}

static void print_variable(const struct variable *v, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "{\"type\":\"var\",\"var\":%" PRId64 ",\"t\":%" PRId64 ",\"attrs\":{",
                   v->serial, v->t);
    for (size_t i = 0; i < v->attrs.n; i++) {
        tc_strbuf_adds(out, i ? "," : "");
        tc_strbuf_add_json(out, v->attrs.items[i].key, strlen(v->attrs.items[i].key));
        tc_strbuf_addf(out, ":%s", v->attrs.items[i].value);
    }
    tc_strbuf_addc(out, '}');
    print_text("name", v->name, out);
    print_text("kind", v->kind, out);
    print_number("root", v->root, out);
    print_number("step", v->step, out);
    print_text("stage", v->stage, out);
    tc_strbuf_adds(out, "}\n");
}

void tc_remains_print(const struct tc_remains *remains, struct tc_strbuf *out)
{
    const struct variable *v;

    tc_strbuf_adds(out, "{\"type\":\"note\",\"code\":\"trimmed\",\"text\":\"");
    if (remains->first_step != TC_NONE)
        tc_strbuf_addf(out, "records of steps %" PRId64 " to %" PRId64, remains->first_step,
                       remains->last_step);
    else
        tc_strbuf_adds(out, "records before the first step");
    tc_strbuf_addf(out, " were deleted to keep the trace short\",\"count\":%" PRIu64,
                   remains->n_steps);
    print_number("t", remains->t, out);
    tc_strbuf_adds(out, "}\n");
    tc_strbuf_add(out, remains->lines.text, remains->lines.size);
    for (size_t pos = 0; (v = tc_map_next(&remains->variables, &pos));)
        print_variable(v, out);
}
