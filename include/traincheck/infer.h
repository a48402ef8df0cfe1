/* SPDX-License-Identifier: Apache-2.0 */
/*
 * infer.h - from reference traces to invariants
 */
#ifndef TRAINCHECK_INFER_H
#define TRAINCHECK_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <traincheck/error.h>
#include <traincheck/trace.h>

struct tc_infer_config {
    const char *const *traces; /* trace folders, one pipeline each, or evidence files (*.tce) */
    size_t n_traces;
    const char *const *validate; /* further healthy traces: what breaks on them is dropped */
    size_t n_validate;
    const char *output;        /* invariant file; "-": handed to write */
    const char *evidence;      /* if set: write evidence there and infer nothing */
    const char *failed;        /* if set: hypotheses that broke, with what broke them */
    const char *profile;       /* if set: facts of the script as signatures; "-": handed to write */
    const char *const *enable; /* relation families or family/form; none means all */
    size_t n_enable;
    const char *const *disable;
    size_t n_disable;
    unsigned min_support;   /* occurrences; 0 means 3 */
    unsigned min_pipelines; /* 0 means as each relation asks */
    unsigned jobs;          /* threads; 0 means all cores; the output does not depend on it */
    bool specific;          /* the traces are runs of one script: learn its settings, too */
    bool keep_implied;      /* also write invariants that others imply */
    bool selective;         /* with specific: learn from traces of collect -i as far as they go */
    bool no_evidence; /* with specific: what a later run is added to is not put into the file */
    bool adds;        /* to the evidence that output keeps; what is accepted there stays */
    bool lean;        /* with specific: leave out what tells little, also when traced with it */
    const char *date; /* with adds: "2026-11-28" */
    bool no_excerpts; /* with specific: what the healthy runs did is not put beside them */
    /* What is written to "-". */
    void (*write)(void *context, const char *text, size_t size);
    /* Called now and then from the calling thread: traces done of n, JSON bytes read so far. May be
     * NULL. Returning false interrupts: nothing is written, TC_E_INTERRUPTED. */
    bool (*progress)(void *context, size_t i, size_t n, uint64_t bytes);
    void *context;
};

struct tc_infer_count {
    char name[48]; /* relation form, or reason */
    uint64_t n;
};

struct tc_infer_result {
    /* n_windows: those that held an optimizer step. */
    uint64_t n_pipelines, n_files, n_records, n_calls, n_windows, json_bytes, file_bytes, wall_ns;
    uint64_t n_invariants, n_rows;
    uint64_t n_facts, n_differed; /* of one script: held in all runs, had other values in another */
    uint64_t n_selective;         /* learned from that were not asked for everything */
    uint64_t evidence_bytes;      /* of what is kept in the file to add runs to */
    uint64_t n_excerpts, excerpt_bytes; /* of healthy runs in the file, and their size there */
    uint64_t n_held_out, n_confirmed;   /* traces to validate on; invariants that held on any */
    uint64_t n_untold;                  /* invariants of which no trace to validate on was asked */
    struct tc_infer_count per_form[64]; /* invariants, in order of the registry; n == 0 left out */
    size_t n_forms;
    struct tc_infer_count dropped[16]; /* hypotheses by reason */
    size_t n_dropped;
};

/* Run inference. notes collects what was odd in the traces and what could not be learned. */
TC_API enum tc_status tc_infer_run(const struct tc_infer_config *config,
                                   struct tc_infer_result *result, struct tc_notes *notes,
                                   struct tc_error *err);

/* One line for each relation form: "EventContain/some  <what it says>". i counts from 0; NULL at
 * the end. */
TC_API const char *tc_infer_relation_name(size_t i);
TC_API const char *tc_infer_relation_summary(size_t i);

#endif /* TRAINCHECK_INFER_H */
