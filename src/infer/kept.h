/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - the evidence of a set in a line of its invariant file
 *
 * With it a run is added to a set whose traces are gone. The form is in docs/invariant-format.md.
 */
#ifndef TC_INFER_KEPT_H
#define TC_INFER_KEPT_H

#include "base/json.h"
#include "base/strtab.h"
#include "infer/renames.h"
#include "invariant/invariant.h"
#include "relation/evidence.h"

/* Is this line of an invariant file evidence? */
bool tc_is_kept_line(const struct tc_json *document);

/* Append the line with its newline; *bytes is its size. */
enum tc_status tc_kept_add(const struct tc_evidence *evidence, struct tc_strbuf *out,
                           uint64_t *bytes, struct tc_error *err);
/* Merge what such a line holds into evidence. */
enum tc_status tc_kept_read(const struct tc_json *document, struct tc_evidence *evidence,
                            struct tc_error *err);

/* Where the invariant's rows are found: its source and key, with a newline between them. Appends
 * nothing where the invariant is not understood. */
void tc_kept_key_of(const struct tc_invariant *invariant, struct tc_strtab *symbols,
                    struct tc_strbuf *out);

/* Give what the line holds the new names. */
enum tc_status tc_kept_rename(struct tc_json **kept, const struct tc_renames *renames,
                              struct tc_error *err);
/*
 * The line after invariants were accepted: of what those in the lines broken rest on, it has the
 * rows of shown, as if all runs of *kept had them; and so of what *kept has no row of, whose keys
 * are added to new_keys. With NULL that is left out. All other rows stay.
 */
enum tc_status tc_kept_accept(struct tc_json **kept, const struct tc_strbuf *broken,
                              const struct tc_json *shown, struct tc_strtab *new_keys,
                              struct tc_error *err);

#endif /* TC_INFER_KEPT_H */
