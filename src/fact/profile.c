/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - the facts of each call as one line of a signature
 *
 * All facts of calls are sorted by call, then by path and attribute; each call's stretch becomes a
 * line. The set is only read. Names are the script's and are made safe where the text is printed.
 */
#include "fact/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/safe.h"
#include "fact/phrase.h"
#include "invariant/describe.h"

/* A fact of a call, with what it is sorted by. */
struct entry {
    const struct tc_fact *fact;
    char *subject;
    const char *path;
};

struct profile {
    const struct tc_strtab *symbols;
    const struct tc_invariant_set *set;
    TC_VEC(struct entry) entries;
    struct tc_strbuf *out;
};

static const char *text_of(const struct tc_strtab *symbols, tc_sym sym)
{
    return sym == TC_NO_SYM ? "" : tc_strtab_text(symbols, sym);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->subject, y->subject);

    order = order ? order : strcmp(x->path, y->path);
    return order ? order : (int)x->fact->attribute - (int)y->fact->attribute;
}

static void add_entries(struct profile *p)
{
    for (size_t i = 0; i < p->set->items.n; i++) {
        const struct tc_fact *fact = tc_invariant_fact(p->set->items.items[i]);
        struct tc_strbuf subject = TC_STRBUF_INIT;
        if (!fact || fact->subject.kind != TC_SUBJECT_CALL)
            continue;
        struct tc_fact call = *fact;
        call.subject.fields[TC_FACT_STAGE] = TC_NO_SYM; /* it stands before */
        tc_strbuf_addf(&subject, "%-11s ",
                       text_of(p->symbols, fact->subject.fields[TC_FACT_STAGE]));
        tc_phrase_subject(p->symbols, &call.subject, &subject);
        tc_phrase_context(p->symbols, &call.subject, &subject);
        tc_vec_push(&p->entries, ((struct entry){fact, tc_strbuf_take(&subject),
                                                 text_of(p->symbols, fact->path)}));
    }
    if (p->entries.n)
        qsort(p->entries.items, p->entries.n, sizeof(*p->entries.items), compare_entries);
}

/* ---- one operand ---------------------------------------------------------------------------- */

/* The value of an attribute among those of one path, or NULL. */
static const char *value_of(const struct profile *p, const struct entry *entries, size_t n,
                            enum tc_attribute attribute)
{
    for (size_t i = 0; i < n; i++)
        if (entries[i].fact->attribute == (uint32_t)attribute)
            return text_of(p->symbols, entries[i].fact->value);
    return NULL;
}

/* A JSON string without its quotes. */
static void add_plain(struct tc_strbuf *out, const char *json)
{
    size_t n = strlen(json);

    if (n > 1 && *json == '"')
        tc_strbuf_add(out, json + 1, n - 2);
    else
        tc_strbuf_adds(out, json);
}

static void add_source(struct tc_strbuf *out, const char *json)
{
    struct tc_strbuf name = TC_STRBUF_INIT;

    add_plain(&name, json);
    tc_strbuf_adds(out, " from ");
    if (strchr(json, '.'))
        tc_describe_call_name(name.text, out);
    else
        tc_strbuf_adds(out, name.text);
    tc_strbuf_release(&name);
}

static void add_tensor(const struct profile *p, const struct entry *e, size_t n)
{
    const char *dtype = value_of(p, e, n, TC_ATTRIBUTE_DTYPE);
    const char *shape = value_of(p, e, n, TC_ATTRIBUTE_SHAPE);
    const char *n_dimensions = value_of(p, e, n, TC_ATTRIBUTE_NDIM);
    const char *grad = value_of(p, e, n, TC_ATTRIBUTE_REQUIRES_GRAD);

    add_plain(p->out, dtype ? dtype : "tensor");
    if (shape)
        tc_strbuf_adds(p->out, shape);
    else if (n_dimensions)
        tc_strbuf_addf(p->out, "[%s dimensions]", n_dimensions);
    if (grad && !strcmp(grad, "true"))
        tc_strbuf_adds(p->out, " with gradient");
    if (value_of(p, e, n, TC_ATTRIBUTE_SOURCE))
        add_source(p->out, value_of(p, e, n, TC_ATTRIBUTE_SOURCE));
}

/* Operands by their name, of the result what it is. */
static bool add_operand(const struct profile *p, const struct entry *e, size_t n, const char *name,
                        const char *before)
{
    const char *value = value_of(p, e, n, TC_ATTRIBUTE_VALUE);
    const char *class = value_of(p, e, n, TC_ATTRIBUTE_CLASS);
    const char *length = value_of(p, e, n, TC_ATTRIBUTE_LENGTH);

    if (!value && !class && !length && !value_of(p, e, n, TC_ATTRIBUTE_TENSOR) &&
        !value_of(p, e, n, TC_ATTRIBUTE_DTYPE))
        return false;
    tc_strbuf_addf(p->out, "%s%s%s", before, name, !*name ? "" : value ? "=" : " ");
    if (value)
        tc_strbuf_adds(p->out, value);
    else if (class)
        add_plain(p->out, class);
    else if (length)
        tc_strbuf_addf(p->out, "of %s", length);
    else
        add_tensor(p, e, n);
    return true;
}

/* ---- one call ------------------------------------------------------------------------------- */

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Those of the paths with this prefix; true if there were any. */
static bool add_operands(const struct profile *p, const struct entry *e, size_t n,
                         const char *prefix, const char *opening)
{
    const char *before = opening;

    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp(e[end].path, e[i].path);)
            end++;
        if (!starts(e[i].path, prefix))
            continue;
        const char *name = e[i].path + strlen(prefix);
        if (add_operand(p, &e[i], end - i, *name == '.' ? name + 1 : name, before))
            before = ", ";
    }
    return before != opening;
}

static void add_count(const struct profile *p, const struct tc_fact *call)
{
    for (size_t i = 0; i < p->set->items.n; i++) {
        const struct tc_fact *f = tc_invariant_fact(p->set->items.items[i]);
        if (f && f->attribute == TC_ATTRIBUTE_COUNT &&
            f->subject.fields[TC_FACT_FN] == call->subject.fields[TC_FACT_FN] &&
            f->subject.fields[TC_FACT_OF] == call->subject.fields[TC_FACT_OF] &&
            f->subject.fields[TC_FACT_STAGE] == call->subject.fields[TC_FACT_STAGE])
            tc_strbuf_addf(p->out, "; %s a step", text_of(p->symbols, f->value));
    }
}

static bool has_value(const struct profile *p, const struct entry *e, size_t n,
                      enum tc_attribute attribute, const char *wanted)
{
    for (size_t i = 0; i < n; i++)
        if (e[i].fact->attribute == (uint32_t)attribute &&
            !strcmp(text_of(p->symbols, e[i].fact->value), wanted))
            return true;
    return false;
}

static void add_call(const struct profile *p, const struct entry *e, size_t n)
{
    tc_strbuf_adds(p->out, e->subject);
    tc_strbuf_addc(p->out, ':');
    if (!add_operands(p, e, n, "args", " "))
        tc_strbuf_adds(p->out, " no operands");
    add_operands(p, e, n, "self", "; receiver ");
    add_operands(p, e, n, "value", " -> ");
    if (has_value(p, e, n, TC_ATTRIBUTE_FINITE, "true"))
        tc_strbuf_adds(p->out, ", finite");
    if (has_value(p, e, n, TC_ATTRIBUTE_AUTOCAST, "true"))
        tc_strbuf_adds(p->out, ", under autocast");
    add_count(p, e->fact);
}

/* A line each: names are the script's, and may hold anything. */
void tc_fact_profile(const struct tc_strtab *symbols, const struct tc_invariant_set *set,
                     struct tc_strbuf *out)
{
    struct tc_strbuf line = TC_STRBUF_INIT;
    struct profile p = {.symbols = symbols, .set = set, .out = &line};

    add_entries(&p);
    for (size_t i = 0, end; i < p.entries.n; i = end) {
        for (end = i + 1; end < p.entries.n &&
                          !strcmp(p.entries.items[end].subject, p.entries.items[i].subject);)
            end++;
        tc_strbuf_reset(&line);
        add_call(&p, &p.entries.items[i], end - i);
        tc_safe_add(out, TC_SAFE_LINE, line.text, line.size);
        tc_strbuf_addc(out, '\n');
    }
    tc_strbuf_release(&line);
    for (size_t i = 0; i < p.entries.n; i++)
        tc_free(p.entries.items[i].subject);
    tc_vec_release(&p.entries);
}
