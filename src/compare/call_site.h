/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_site.h - what is called, and from where
 *
 * A site is an API, the class of its receiver, and the line of the script. Its token leaves out the
 * line: calls of equal tokens may be the same call in two versions of a script.
 */
#ifndef TC_COMPARE_CALL_SITE_H
#define TC_COMPARE_CALL_SITE_H

#include "base/map.h"
#include "base/vec.h"
#include "compare/script_text.h"
#include "replay/event.h"

struct tc_call_site {
    tc_sym fn, class; /* class: of a module, optimizer or other receiver; TC_SYM_EMPTY: none */
    tc_sym at;        /* line of the script, or TC_SYM_EMPTY */
    enum tc_role role;
    bool is_user; /* a line of the script calls it, and no library does */
    bool is_own; /* a function that the script defines: how its code is cut, not what it computes */
    bool is_own_class; /* the class is the script's: it may be called anything */
    uint32_t token;
};

/* Of all runs that are compared; all zero but for symbols. */
struct tc_call_sites {
    struct tc_strtab *symbols; /* borrowed */
    struct tc_map by_name;     /* symbol of the joined words -> index + 1 */
    TC_VEC(struct tc_call_site) items;
};

/* The index of that site; is_own and the token are made of the rest. */
uint32_t tc_call_sites_add(struct tc_call_sites *sites, const struct tc_call_site *site);
/* The index of the site of a call that begins. */
uint32_t tc_call_sites_at(struct tc_call_sites *sites, const struct tc_call *call);
void tc_call_sites_release(struct tc_call_sites *sites);

/* Is it a class that the program itself defines? */
bool tc_is_own_class(struct tc_str class);

/* "Optimizer.step", "cross_entropy": the name of an API without its package. */
const char *tc_short_name(const char *fn);

#endif /* TC_COMPARE_CALL_SITE_H */
