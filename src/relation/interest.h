/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interest.h - what must be traced for a set of invariants to be checkable
 *
 * Each relation adds what its invariants need; collect turns the result into a
 * selection. The phase calls of a training loop are always traced and are not
 * listed here.
 */
#ifndef TC_RELATION_INTEREST_H
#define TC_RELATION_INTEREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strtab.h"
#include <traincheck/error.h>
#include <traincheck/value.h>

struct tc_invariant;

struct tc_interest {
    struct tc_strtab *apis;     /* public dotted names as in `fn` */
    struct tc_strtab *roles;    /* roles of which every API is needed, as "init" */
    bool variables;             /* some invariant speaks of parameters or buffers */
    bool settings;              /* some invariant speaks of parameter groups or scalers */
    bool owners;                /* some invariant asks which parameters optimizers have */
    bool content;               /* some invariant speaks of the content of operands */
    bool full_content;          /* ... as --content full tells it */
    struct tc_strtab *left_out; /* not NULL: instead of all that, everything but these APIs */
    uint64_t digest;            /* XXH3 over the invariants' ids, in order */
};

void tc_interest_init(struct tc_interest *interest);
void tc_interest_release(struct tc_interest *interest);
void tc_interest_add_api(struct tc_interest *interest, const char *fn);

/* Add what one invariant needs. */
void tc_interest_add(struct tc_interest *interest, const struct tc_strtab *symbols,
                     const struct tc_invariant *invariant);
/* Add what was traced, as `selection` of a process record tells. */
void tc_interest_add_selection(struct tc_interest *interest, const struct tc_value *selection);
/* Is something needed that was not traced? Then it is appended to what: "torch.cat". */
bool tc_interest_is_lacking(const struct tc_interest *traced, const struct tc_interest *needed,
                            struct tc_strbuf *what);

/* Is one of the names needed? Then it is appended to what. */
bool tc_interest_is_in(const struct tc_interest *needed, const struct tc_strtab *names,
                       struct tc_strbuf *what);

/* The interest of the invariants in these files. Errors name file and line. */
enum tc_status tc_interest_read(const char *const *paths, size_t n_paths,
                                struct tc_interest *interest, struct tc_error *err);

#endif /* TC_RELATION_INTEREST_H */
