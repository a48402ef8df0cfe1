/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_file.h - an invariant file in memory, while runs are accepted into it
 */
#ifndef TC_INFER_SET_FILE_H
#define TC_INFER_SET_FILE_H

#include "base/json.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "infer/renames.h"

struct tc_set_line {
    char *text;               /* without its newline */
    struct tc_json *document; /* the same */
};

struct tc_set_file {
    struct tc_json *header;           /* the first one; NULL: none */
    struct tc_strbuf excerpts;        /* their lines */
    struct tc_json *kept;             /* its evidence; NULL: none */
    TC_VEC(struct tc_set_line) lines; /* invariants, and what else it has */
};

/* Release what was read whatever the status. */
enum tc_status tc_set_file_read(const char *path, struct tc_set_file *file, struct tc_error *err);
void tc_set_file_release(struct tc_set_file *file);

/* Add a line. */
enum tc_status tc_set_file_add(struct tc_set_file *file, const char *text, size_t size,
                               struct tc_error *err);
/* Have the line another text, or with NULL none. */
enum tc_status tc_set_file_replace(struct tc_set_file *file, size_t i, const char *text,
                                   struct tc_error *err);
/* Give invariants and evidence the new names, with the ids and sentences that follow from them. */
enum tc_status tc_set_file_rename(struct tc_set_file *file, const struct tc_renames *renames,
                                  struct tc_error *err);
/* The whole file, invariants in their order; those that rest on no evidence, which people write,
 * stand behind them as they were. */
enum tc_status tc_set_file_print(const struct tc_set_file *file, struct tc_strbuf *out,
                                 struct tc_error *err);

#endif /* TC_INFER_SET_FILE_H */
