/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.c - the change that a violation of a setting tells of
 *
 * A fact has one value, what was seen is the other. Texts point into the symbols, and live as long
 * as these.
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

bool tc_change_of(struct tc_change *change, const struct tc_violation *v,
                  const struct tc_strtab *symbols)
{
    const struct tc_fact *fact = tc_invariant_fact(v->invariant);

    if (!v->is_setting || !fact || fact->attribute != TC_ATTRIBUTE_VALUE ||
        fact->path == TC_NO_SYM || fact->value == TC_NO_SYM || !v->n_outcome)
        return false;
    *change = (struct tc_change){.name = last_name(text_of(symbols, fact->path)),
                                 .from = text_of(symbols, fact->value),
                                 .to = text_of(symbols, v->outcome[0]),
                                 .run = v->first.run};
    return true;
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
