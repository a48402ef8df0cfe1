/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.c - the change that a violation of a setting tells of
 *
 * A fact has both values, a claim about an operand has them in what it says of an example. Texts
 * point into the symbols, and live as long as these.
 */
#include "check/change.h"

#include <string.h>

#include "base/hash.h"

static struct tc_str text_of(const struct tc_strtab *symbols, tc_sym sym)
{
    return (struct tc_str){tc_strtab_text(symbols, sym), (uint32_t)tc_strtab_size(symbols, sym)};
}

static struct tc_str from(struct tc_str text, size_t at)
{
    return (struct tc_str){text.text + at, text.size - (uint32_t)at};
}

/* "lr" of "args.lr" and of "self.lr". */
static struct tc_str last_name(struct tc_str path)
{
    size_t at = path.size;

    while (at && path.text[at - 1] != '.')
        at--;
    return from(path, at);
}

static bool of_fact(struct tc_change *change, const struct tc_fact *fact,
                    const struct tc_violation *v, const struct tc_strtab *symbols)
{
    if (fact->attribute != TC_ATTRIBUTE_VALUE || fact->path == TC_NO_SYM ||
        fact->value == TC_NO_SYM || !v->n_outcome)
        return false;
    change->name = last_name(text_of(symbols, fact->path));
    change->from = text_of(symbols, fact->value);
    change->to = text_of(symbols, v->outcome[0]);
    return true;
}

/* Of what an example says of an operand, "self.lr is 0.02", the value. */
static bool find_value(struct tc_str *value, struct tc_str path, const struct tc_violation *v,
                       const struct tc_strtab *symbols)
{
    static const char is[] = " is ";
    const size_t n = strlen(is);

    for (size_t i = 0; i < v->n_outcome && i < TC_VIOLATION_OUTCOME; i++) {
        struct tc_str said = text_of(symbols, v->outcome[i]);
        if (said.size <= path.size + n || memcmp(said.text, path.text, path.size) != 0 ||
            memcmp(said.text + path.size, is, n) != 0)
            continue;
        *value = from(said, path.size + n);
        return true;
    }
    return false;
}

static bool of_operand(struct tc_change *change, const struct tc_violation *v,
                       const struct tc_strtab *symbols)
{
    for (size_t i = 0; i < v->invariant->n_params; i++) {
        const struct tc_param *p = &v->invariant->params[i];
        if (p->kind != TC_PARAM_OPERAND || p->to == TC_NO_SYM)
            continue;
        change->name = last_name(text_of(symbols, p->name));
        change->from = text_of(symbols, p->to);
        return find_value(&change->to, text_of(symbols, p->name), v, symbols);
    }
    return false;
}

bool tc_change_of(struct tc_change *change, const struct tc_violation *v,
                  const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (!v->is_setting)
        return false;
    change->run = v->first.run;
    return fact ? of_fact(change, fact, v, symbols) : of_operand(change, v, symbols);
}

static bool is_equal(struct tc_str a, struct tc_str b)
{
    return a.size == b.size && !memcmp(a.text, b.text, a.size);
}

/* "initial_lr" ends as "lr" does, after a low line. */
static bool ends_as(struct tc_str name, struct tc_str end)
{
    return name.size > end.size + 1 && end.size && name.text[name.size - end.size - 1] == '_' &&
           is_equal(from(name, name.size - end.size), end);
}

bool tc_change_is_same(const struct tc_change *a, const struct tc_change *b)
{
    return a->run == b->run && is_equal(a->from, b->from) && is_equal(a->to, b->to) &&
           (is_equal(a->name, b->name) || ends_as(a->name, b->name) || ends_as(b->name, a->name));
}

uint64_t tc_change_key(const struct tc_change *change)
{
    return tc_hash64(change->from.text, change->from.size,
                     tc_hash64(change->to.text, change->to.size, change->run));
}
