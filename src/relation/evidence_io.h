/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence_io.h - evidence as a file, so that traces can be learned where they lie
 *
 * docs/evidence-format.md: zstd frames of JSON Lines, sorted, equal bytes for equal evidence.
 */
#ifndef TC_RELATION_EVIDENCE_IO_H
#define TC_RELATION_EVIDENCE_IO_H

#include "base/json.h"
#include "relation/evidence.h"

enum tc_status tc_evidence_write(const struct tc_evidence *evidence, const char *path,
                                 struct tc_error *err);

/* Merge a file into evidence. Rows of sources that this version does not know are left out and
 * counted in *n_unknown. Errors name file and line. */
enum tc_status tc_evidence_read(struct tc_evidence *evidence, const char *path, uint64_t *n_unknown,
                                struct tc_error *err);

/* The same without a file: the bytes that it has are added to *packed, or are given, with a name
 * for errors. */
enum tc_status tc_evidence_print(const struct tc_evidence *evidence, struct tc_strbuf *packed,
                                 struct tc_error *err);
enum tc_status tc_evidence_parse(struct tc_evidence *evidence, const struct tc_strbuf *packed,
                                 const char *name, uint64_t *n_unknown, struct tc_error *err);

/* Lines to these bytes and back; what comes out is added. Too much text is an error. */
enum tc_status tc_evidence_pack(const struct tc_strbuf *lines, struct tc_strbuf *packed,
                                struct tc_error *err);
enum tc_status tc_evidence_unpack(const struct tc_strbuf *packed, struct tc_strbuf *lines,
                                  struct tc_error *err);

/* The situation of a row as an object, field by field in order; values are JSON text. The caller
 * owns it. */
struct tc_json *tc_evidence_situation(const struct tc_evidence *evidence, const struct tc_row *row);

#endif /* TC_RELATION_EVIDENCE_IO_H */
