/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_site.c - sites, interned by API, class, caller and line
 *
 * The token of a site says what may be the same call in another version of a script. It has neither
 * the line nor a name that the script is free to choose: classes of its own, modules of its
 * functions, the class of a model.
 */
#include "compare/call_site.h"

#include <string.h>

#include "replay/symbols.h"

const char *tc_short_name(const char *fn)
{
    const char *last = strrchr(fn, '.'), *before = last;

    if (!last)
        return fn;
    while (before > fn && before[-1] != '.')
        before--;
    return *before >= 'A' && *before <= 'Z' ? before : last + 1;
}

/* "Net" of {"object":"__main__.Net", ...}. Tensors and arrays are no receivers that tell calls
 * apart. */
static tc_sym class_of(struct tc_strtab *symbols, struct tc_str class)
{
    uint32_t begin = class.size;

    if (!class.text)
        return TC_SYM_EMPTY;
    while (begin && class.text[begin - 1] != '.')
        begin--;
    return tc_strtab_intern(symbols, class.text + begin, class.size - begin);
}

bool tc_is_own_class(struct tc_str class)
{
    return class.size > 9 && !memcmp(class.text, "__main__.", 9);
}

static bool is_called_by_user(struct tc_strtab *symbols, const struct tc_call *call)
{
    return call->by == tc_strtab_intern_text(symbols, "user") ||
           (call->by == TC_SYM_EMPTY && call->at != TC_SYM_EMPTY);
}

/* What a function of the script is called is a matter of where it stands. */
static tc_sym name_of(struct tc_strtab *symbols, const struct tc_call_site *site)
{
    return site->is_own
               ? tc_strtab_intern_text(symbols, tc_short_name(tc_strtab_text(symbols, site->fn)))
               : site->fn;
}

uint32_t tc_call_sites_add(struct tc_call_sites *sites, const struct tc_call_site *given)
{
    struct tc_call_site site = *given;
    const tc_sym user = site.is_user ? TC_SYM_USER : TC_SYM_EMPTY;
    tc_sym name = TC_ATOM(sites->symbols, site.fn, site.class, user, site.at);
    bool is_new;
    uint64_t *index = tc_map_at(&sites->by_name, name, &is_new);

    if (is_new) {
        *index = sites->items.n;
        site.is_own = site.role == TC_ROLE_OWN || site.role == TC_ROLE_METHOD;
        site.token = TC_ATOM(
            sites->symbols, name_of(sites->symbols, &site),
            site.is_own_class || site.role == TC_ROLE_FORWARD ? TC_SYM_EMPTY : site.class, user);
        tc_vec_push(&sites->items, site);
    }
    return (uint32_t)*index;
}

uint32_t tc_call_sites_at(struct tc_call_sites *sites, const struct tc_call *call)
{
    const struct tc_str class = tc_value_str(tc_value_get(call->self, "object"));
    const struct tc_call_site site = {
        .fn = call->fn,
        .class = class_of(sites->symbols, class),
        .is_own_class = class.text && tc_is_own_class(class),
        .at = tc_call_at(call),
        .role = call->role,
        .is_user = is_called_by_user(sites->symbols, call),
    };

    return tc_call_sites_add(sites, &site);
}

void tc_call_sites_release(struct tc_call_sites *sites)
{
    tc_map_release(&sites->by_name);
    tc_vec_release(&sites->items);
}
