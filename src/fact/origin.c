/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.c - at which lines of the script a tensor was made
 *
 * A mistake in plain Python shows first where its result is used. So what breaks a fact is told
 * with the line that made the operand, and the line that made what that was made of.
 */
#include "fact/origin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fact/tensor_content.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* So many tensors are known by their lines before all are forgotten. */
#define MAX_ORIGINS ((size_t)1 << 20)
/* Lines of operands that are listed. */
#define MAX_LINES 3

static struct tc_fact_origin unpack(uint64_t packed)
{
    return (struct tc_fact_origin){(tc_sym)packed, (tc_sym)(packed >> 32)};
}

struct tc_fact_origin tc_fact_origin(const struct tc_fact_watch *w, int64_t serial)
{
    uint64_t packed;

    return serial >= 0 && tc_map_get(&w->origins, (uint64_t)serial, &packed)
               ? unpack(packed)
               : (struct tc_fact_origin){TC_SYM_EMPTY, TC_SYM_EMPTY};
}

/* Of an origin the line that is not this one. */
static tc_sym line_but(struct tc_fact_origin origin, tc_sym line)
{
    return origin.line == line ? origin.before : origin.line;
}

void tc_fact_keep_origin(struct tc_fact_watch *w, const struct tc_fact_open *open,
                         const struct tc_call *call, int64_t serial)
{
    const tc_sym line = tc_call_at(call);
    tc_sym before = line_but(tc_fact_origin(w, serial), line);

    for (size_t i = 0; before == TC_SYM_EMPTY && i < open->operands.n_tensors; i++)
        before = line_but(tc_fact_origin(w, open->operands.tensors[i]), line);
    if (w->origins.n >= MAX_ORIGINS)
        tc_map_clear(&w->origins);
    if (line != TC_SYM_EMPTY)
        tc_map_put(&w->origins, (uint64_t)serial, line | (uint64_t)before << 32);
}

/* ---- the value that a fact speaks of -------------------------------------------------------- */

static const struct tc_value *member_of(const struct tc_value *value, const char *name, size_t size)
{
    for (uint32_t i = 0; value && value->kind == TC_VALUE_OBJECT && i < value->n; i++)
        if (tc_fact_is_name(value->members[i].key, (struct tc_str){name, (uint32_t)size}))
            return &value->members[i].value;
    return NULL;
}

/* "[2]" of an array; NULL where there is no such thing. */
static const struct tc_value *element_of(const struct tc_value *value, const char **path)
{
    char *end;
    const unsigned long i = strtoul(*path + 1, &end, 10);

    *path = *end == ']' ? end + 1 : end;
    return value && value->kind == TC_VALUE_ARRAY && i < value->n ? &value->items[i] : NULL;
}

/* The tensor on the way along the path: "args.input", "self", "args.tensors[1]", "value". */
static const struct tc_value *tensor_at(const struct tc_call *call, const char *path)
{
    const size_t root = strcspn(path, ".[");
    const struct tc_str name = {path, (uint32_t)root};
    const struct tc_value *value = tc_str_is(name, "self")                 ? call->self
                                   : tc_str_is(name, "args")               ? call->args
                                   : tc_str_is(name, "value") && call->end ? call->end->value
                                                                           : NULL;

    for (path += root; value && *path && !tc_is_tensor(value);) {
        if (*path == '[') {
            value = element_of(value, &path);
            continue;
        }
        const size_t size = strcspn(++path, ".[");
        value = member_of(value, path, size);
        path += size;
    }
    return value && tc_is_tensor(value) ? value : NULL;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Without its folders. */
void tc_fact_print_line(const struct tc_facts *facts, tc_sym line, struct tc_strbuf *out)
{
    const char *text = tc_strtab_text(facts->table.symbols, line), *slash = strrchr(text, '/');

    tc_strbuf_adds(out, slash ? slash + 1 : text);
}

void tc_fact_print_origin(const struct tc_facts *facts, struct tc_fact_origin origin, tc_sym at,
                          struct tc_strbuf *out)
{
    const tc_sym first = line_but(origin, at),
                 second = first == origin.line ? origin.before : first;

    if (first == TC_SYM_EMPTY)
        return;
    tc_strbuf_adds(out, "; made at ");
    tc_fact_print_line(facts, first, out);
    if (second == first || second == TC_SYM_EMPTY || second == at)
        return;
    tc_strbuf_adds(out, " from ");
    tc_fact_print_line(facts, second, out);
}

/* Where the operands of a call were made, other lines than its own, each once. */
static void print_operands(const struct tc_facts *facts, const struct tc_fact_watch *w,
                           const struct tc_call *call, struct tc_strbuf *out)
{
    const tc_sym at = tc_call_at(call);
    const struct tc_fact_open *open = w->n_open ? &w->open.items[w->n_open - 1] : NULL;
    tc_sym lines[MAX_LINES];
    size_t n = 0, k;

    for (size_t i = 0; open && open->id == call->id && i < open->operands.n_tensors; i++) {
        const tc_sym line = line_but(tc_fact_origin(w, open->operands.tensors[i]), at);
        for (k = 0; k < n && lines[k] != line; k++)
            ;
        if (line == TC_SYM_EMPTY || k < n || n == MAX_LINES)
            continue;
        tc_strbuf_adds(out, n ? ", " : "; operands made at ");
        tc_fact_print_line(facts, line, out);
        lines[n++] = line;
    }
}

/* The element that all places of a tensor show. */
static void print_element(const struct tc_value *tensor, struct tc_strbuf *out)
{
    const struct tc_value *summary = tc_value_get(tensor, "summary");
    const struct tc_value *min = tc_value_get(summary, "min"),
                          *constant = tc_value_get(tensor, "constant");

    if (min && tc_value_int(min, 0) == tc_value_int(tc_value_get(summary, "max"), 1))
        tc_strbuf_addf(out, "; all are %" PRId64, tc_value_int(min, 0));
    else if (constant && constant->kind == TC_VALUE_FLOAT)
        tc_strbuf_addf(out, "; all are %g", constant->number);
}

const char *tc_fact_origin_of(struct tc_facts *facts, const struct tc_fact *fact)
{
    const struct tc_event *event = facts->event;
    struct tc_strbuf *out = &facts->origin;

    if (facts->has_origin)
        return out->text;
    if (fact->subject.kind != TC_SUBJECT_CALL || !event->call)
        return NULL;
    const struct tc_fact_watch *w = tc_fact_watch_of(facts, event->process);
    const char *path =
        fact->path == TC_NO_SYM ? "" : tc_strtab_text(facts->table.symbols, fact->path);
    const struct tc_value *tensor = tensor_at(event->call, path);
    tc_strbuf_reset(out);
    if (tensor && fact->attribute == TC_ATTRIBUTE_UNIFORM)
        print_element(tensor, out);
    if (tensor && strncmp(path, "value", strlen("value")) != 0)
        tc_fact_print_origin(facts, tc_fact_origin(w, tc_value_int(tc_value_get(tensor, "id"), -1)),
                             tc_call_at(event->call), out);
    else if (strncmp(path, "args", 4) != 0 && strncmp(path, "self", 4) != 0)
        print_operands(facts, w, event->call, out);
    return out->size ? out->text : NULL;
}
