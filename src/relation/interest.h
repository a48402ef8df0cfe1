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

#include "base/strtab.h"
#include <traincheck/error.h>

struct tc_interest {
    struct tc_strtab *apis;  /* public dotted names as in `fn` */
    struct tc_strtab *roles; /* roles of which every API is needed, as "init" */
    bool variables;          /* some invariant speaks of parameters or buffers */
    uint64_t digest;         /* XXH3 over the invariants' ids, in order */
};

void tc_interest_init(struct tc_interest *interest);
void tc_interest_release(struct tc_interest *interest);
void tc_interest_add_api(struct tc_interest *interest, const char *fn);

/* The interest of the invariants in these files. Errors name file and line. */
enum tc_status tc_interest_read(const char *const *paths, size_t n_paths,
                                struct tc_interest *interest, struct tc_error *err);

#endif /* TC_RELATION_INTEREST_H */
