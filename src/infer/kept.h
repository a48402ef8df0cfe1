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
#include "relation/evidence.h"

/* Is this line of an invariant file evidence? */
bool tc_is_kept_line(const struct tc_json *document);

/* Append the line with its newline; *bytes is its size. */
enum tc_status tc_kept_add(const struct tc_evidence *evidence, struct tc_strbuf *out,
                           uint64_t *bytes, struct tc_error *err);
/* Merge what such a line holds into evidence. */
enum tc_status tc_kept_read(const struct tc_json *document, struct tc_evidence *evidence,
                            struct tc_error *err);

/*
 * The line after invariants were accepted, with its newline: of what the invariants of file with
 * these ids rest on, it has the rows of shown, as if all runs of kept had them, and of all else
 * those of kept. Appended to out.
 */
enum tc_status tc_kept_accept(const char *file, const struct tc_strtab *ids,
                              const struct tc_json *kept, const struct tc_json *shown,
                              struct tc_strbuf *out, struct tc_error *err);

#endif /* TC_INFER_KEPT_H */
