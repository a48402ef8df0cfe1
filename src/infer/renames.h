/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renames.h - which names of one set of invariants are others in another set
 *
 * A function that got another name, or a class that moved to another file, does what it did before:
 * what is known of the old name is known of the new one.
 */
#ifndef TC_INFER_RENAMES_H
#define TC_INFER_RENAMES_H

#include "base/json.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"

/* Relation, params and precondition of an invariant. */
struct tc_set_claim {
    char *text;
    size_t of; /* so many bytes of it say what it is about, and all of it what is claimed */
};

/* What a set says. */
struct tc_set_claims {
    TC_VEC(struct tc_set_claim) items;
    struct tc_strtab *names; /* of calls and classes that are spoken of */
};

void tc_set_claims_init(struct tc_set_claims *claims);
void tc_set_claims_release(struct tc_set_claims *claims);
/* Add what the line of an invariant says. */
void tc_set_claims_add(struct tc_set_claims *claims, const struct tc_json *invariant);

struct tc_rename {
    char *from, *to; /* "__main__.Block", "model.Block" */
};

struct tc_renames {
    TC_VEC(struct tc_rename) items; /* by from; each name is in one of them at most */
};

/* Names that only one of both has: of which both say the same, or that stand where the other one
 * stood, as a class in place of another. */
void tc_renames_find(const struct tc_set_claims *before, const struct tc_set_claims *after,
                     struct tc_renames *renames);
void tc_renames_release(struct tc_renames *renames);
/* Append the text with the new names, of calls inside of what was renamed as well. False: it has
 * none of the old ones, and was appended as it is. */
bool tc_renames_apply(const struct tc_renames *renames, const char *text, size_t size,
                      struct tc_strbuf *out);

#endif /* TC_INFER_RENAMES_H */
