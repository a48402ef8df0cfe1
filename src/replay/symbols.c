/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.c - the fixed words in front, then roles, then whatever appears
 *
 * tc_symbols_new() interns in the order of the enumeration, which is what makes its numbers true.
 * Symbols compare by number for speed and by text where order is shown to anyone.
 */
#include "replay/symbols.h"

#include <string.h>

#include "base/strbuf.h"

static const char *const known[TC_SYM_KNOWN_COUNT] = {
#define X(name, text) [TC_SYM_##name] = (text),
    TC_SYM_MAP(X)
#undef X
};

struct tc_strtab *tc_symbols_new(void)
{
    struct tc_strtab *symbols = tc_strtab_new();

    for (size_t i = 0; i < TC_SYM_KNOWN_COUNT; i++)
        tc_strtab_intern_text(symbols, known[i]);
    for (enum tc_role role = 0; role < TC_N_ROLES; role++)
        tc_strtab_intern_text(symbols, tc_role_text(role));
    return symbols;
}

tc_sym tc_symbols_str(struct tc_strtab *symbols, struct tc_str text)
{
    return text.text ? tc_strtab_intern(symbols, text.text, text.size) : TC_SYM_EMPTY;
}

tc_sym tc_symbols_join(struct tc_strtab *symbols, const char *prefix, struct tc_str text)
{
    char small[128];
    size_t n = strlen(prefix);

    if (n + text.size <= sizeof(small)) {
        memcpy(small, prefix, n);
        memcpy(small + n, text.text, text.size);
        return tc_strtab_intern(symbols, small, n + text.size);
    }
    struct tc_strbuf buf = TC_STRBUF_INIT;
    tc_strbuf_adds(&buf, prefix);
    tc_strbuf_add(&buf, text.text, text.size);
    tc_sym sym = tc_strtab_intern(symbols, buf.text, buf.size);
    tc_strbuf_release(&buf);
    return sym;
}

tc_sym tc_symbols_quote(struct tc_strtab *symbols, struct tc_str text)
{
    struct tc_strbuf buf = TC_STRBUF_INIT;

    tc_strbuf_add_json(&buf, text.text ? text.text : "", text.size);
    tc_sym sym = tc_strtab_intern(symbols, buf.text, buf.size);
    tc_strbuf_release(&buf);
    return sym;
}

int tc_sym_compare(const void *a, const void *b)
{
    tc_sym x = *(const tc_sym *)a, y = *(const tc_sym *)b;

    return x < y ? -1 : x > y;
}

void tc_sym_sort(tc_sym *syms, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        tc_sym sym = syms[i];
        size_t j = i;

        for (; j > 0 && syms[j - 1] > sym; j--)
            syms[j] = syms[j - 1];
        syms[j] = sym;
    }
}

tc_sym tc_symbols_role(const struct tc_strtab *symbols, enum tc_role role)
{
    const char *text = tc_role_text(role);

    return tc_strtab_find(symbols, text, strlen(text));
}

tc_sym tc_atom_first(const struct tc_strtab *symbols, tc_sym atom)
{
    size_t n;
    const tc_sym *words = tc_strtab_words(symbols, atom, &n);

    return n ? words[0] : TC_NO_SYM;
}

tc_sym tc_symbols_bool(bool value)
{
    return value ? TC_SYM_TRUE : TC_SYM_FALSE;
}

struct tc_str tc_symbols_text(const struct tc_strtab *symbols, tc_sym sym)
{
    return (struct tc_str){tc_strtab_text(symbols, sym), (uint32_t)tc_strtab_size(symbols, sym)};
}
