/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets.h - invariant files over a year: what a run shows is accepted, two files are compared
 */
#ifndef TRAINCHECK_SETS_H
#define TRAINCHECK_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>
#include <traincheck/trace.h>

struct tc_accept_config {
    const char *file;          /* of invariants, written anew in place */
    const char *const *traces; /* of the runs that are accepted */
    size_t n_traces;
    const char *violations; /* the violations.jsonl of their check by that file */
    const char *note;       /* a comment that stays in the file; may be NULL */
    const char *date;       /* "2026-11-28" */
    unsigned jobs;          /* as in infer.h */
    /* Check the runs by that file into that folder; with NULL no renamed functions are looked for.
     */
    enum tc_status (*judge)(void *context, const char *file, const char *output_dir,
                            struct tc_error *err);
    /* Called for each function or class that has another name; may be NULL. */
    void (*renamed)(void *context, const char *from, const char *to);
    bool (*progress)(void *context, size_t i, size_t n, uint64_t bytes);
    void *context;
};

struct tc_accept_result {
    uint64_t n_replaced; /* invariants that say now what the runs show */
    uint64_t n_removed;  /* that do not hold any more, whatever they would say */
    uint64_t n_renamed;  /* functions and classes that have another name */
    uint64_t n_new;      /* invariants of calls that no run made before */
};

/*
 * First the file takes on new names of functions and classes: those of which the runs show what was
 * known of an old name that they do not have, and those that stand where it stood. It is judged by
 * again. Of each invariant that broke: it is learned from the runs anew, and takes the value that
 * it has there; where it is not learned from them, it goes. What the file's evidence tells nothing
 * of comes in, with "seen":"once", unless it may be chance. The others stay as they are, line by
 * line. Excerpts become those of the runs, unless one of these was not asked for everything. The
 * header tells the date, the note, the names and the counts, and each invariant that is replaced or
 * new has the number of that entry as `accepted`. Where all counts are 0 the file stays as it was.
 */
TC_API enum tc_status tc_accept_run(const struct tc_accept_config *config,
                                    struct tc_accept_result *result, struct tc_notes *notes,
                                    struct tc_error *err);

struct tc_sets_diff_config {
    const char *before, *after; /* invariant files */
    bool json;                  /* a document a line: what, id, text and, of both files, is */
    void (*write)(void *context, const char *text, size_t size);
    void *context;
};

struct tc_sets_diff_result {
    uint64_t n_equal, n_changed, n_new, n_gone;
    uint64_t n_renamed; /* functions and classes */
};

/* What the second file says and the first does not, and the other way round: of one subject another
 * value; subjects that are new, or gone, by what they speak of. What is known of a function under
 * another name is as it was. Evidence, order and excerpts are
 * not compared. */
TC_API enum tc_status tc_sets_diff(const struct tc_sets_diff_config *config,
                                   struct tc_sets_diff_result *result, struct tc_error *err);

#endif /* TRAINCHECK_SETS_H */
