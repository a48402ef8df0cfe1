/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt.h - of a healthy run what it calls, in a line of an invariant file
 *
 * Its sources, the windows of its first process in their order, and of each kind of window, equal
 * in shape and stage, the calls of the first two with their arguments. The content of tensors is
 * left out. So another run can be laid beside it where its trace is not at hand. The form is in
 * docs/invariant-format.md; excerpt_write.c writes it, healthy_run.h reads its loss.
 */
#ifndef TC_COMPARE_EXCERPT_H
#define TC_COMPARE_EXCERPT_H

#include "base/strbuf.h"
#include "compare/course_window.h"

/* So many windows of a process are reported, and so many calls and variables, those of a repeated
 * window each time: each takes time and memory to read. What a run has beyond is left out. */
#define TC_EXCERPT_MAX_WINDOWS (UINT64_C(1) << 21)
#define TC_EXCERPT_MAX_CALLS   (UINT64_C(1) << 28)

/* One process, in the text of its excerpt. */
struct tc_excerpt_process {
    const char *text;
    size_t size;
};

struct tc_excerpt {
    char *name; /* of the trace */
    struct tc_strbuf text;
    TC_VEC(struct tc_excerpt_process) processes;
};

/* Those of an invariant file, in its order. */
struct tc_excerpts {
    uint64_t size; /* of their texts */
    TC_VEC(struct tc_excerpt) items;
};

/* Is it an invariant file? */
bool tc_excerpts_may_be_in(const char *path);
/* And has it any? They stand behind its first line. */
bool tc_excerpts_are_in(const char *path);
/* Read the excerpts of an invariant file; a file without any gives none. Release them whatever the
 * status. */
enum tc_status tc_excerpts_read(const char *path, struct tc_excerpts *out, struct tc_error *err);
void tc_excerpts_release(struct tc_excerpts *excerpts);

/* ---- the windows of a process, one after the other ------------------------------------------- */

struct tc_excerpt_reader;

/* scripts may be NULL. TC_E_FORMAT where the excerpt is damaged. */
enum tc_status tc_excerpt_reader_open(const struct tc_excerpt_process *process,
                                      const struct tc_course_context *context,
                                      struct tc_scripts *scripts, struct tc_excerpt_reader **out,
                                      struct tc_error *err);
void tc_excerpt_reader_close(struct tc_excerpt_reader *reader);
/* A window that the caller frees, or NULL after the last. Its shape is not set. */
struct tc_course_window *tc_excerpt_reader_next(struct tc_excerpt_reader *reader);
/* Its process record, and what was known of it at its end. */
const struct tc_record *tc_excerpt_reader_process(const struct tc_excerpt_reader *reader);
bool tc_excerpt_reader_is_worker(const struct tc_excerpt_reader *reader);
int64_t tc_excerpt_reader_rank(const struct tc_excerpt_reader *reader);
int64_t tc_excerpt_reader_world(const struct tc_excerpt_reader *reader);

#endif /* TC_COMPARE_EXCERPT_H */
