/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_lines.h - an invariant file as lines, and what a line speaks of, whatever it claims
 */
#ifndef TC_INFER_SET_LINES_H
#define TC_INFER_SET_LINES_H

#include "base/json.h"
#include "base/strbuf.h"
#include "base/strtab.h"

/* Called for each line with its document; what it returns ends the reading unless it is TC_OK. */
typedef enum tc_status tc_line_fn(void *context, const char *line, size_t size,
                                  const struct tc_json *document, struct tc_error *err);

/* Errors name the path and the line. */
enum tc_status tc_each_line(const char *path, const struct tc_strbuf *text, tc_line_fn *take,
                            void *context, struct tc_error *err);
enum tc_status tc_each_line_of_file(const char *path, tc_line_fn *take, void *context,
                                    struct tc_error *err);

/* The same of an invariant file: lines below a heading come as the whole invariants that they are,
 * and headings do not come. */
enum tc_status tc_each_invariant(const char *path, const struct tc_strbuf *text, tc_line_fn *take,
                                 void *context, struct tc_error *err);
enum tc_status tc_each_invariant_of_file(const char *path, tc_line_fn *take, void *context,
                                         struct tc_error *err);

/* Is it an invariant, and no header or excerpt? */
bool tc_is_invariant_line(const struct tc_json *document);
/* Its relation, its params but for the value that it claims, and when; interned. */
tc_sym tc_subject_of_line(struct tc_strtab *subjects, const struct tc_json *document);

#endif /* TC_INFER_SET_LINES_H */
