/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn.h - from one trace folder to evidence
 */
#ifndef TC_INFER_LEARN_H
#define TC_INFER_LEARN_H

#include "infer/draws.h"
#include "infer/selections.h"
#include "relation/evidence.h"
#include "replay/replay.h"
#include <traincheck/infer.h>

struct tc_learned {
    struct tc_replay_counts counts;
    uint64_t n_files, file_bytes, json_bytes;
    char torch[32];     /* its version; "" when unknown */
    bool has_operators; /* what lines of the script compute was asked for */
    char script[256];   /* that ran, as the command named it; "" when unknown */
    int exit_status;    /* the first other than 0, of its processes; workers apart */
    struct tc_draws draws;
    bool is_lean;                    /* it lacks calls that were not left out */
    struct tc_selections selections; /* its own, if it was not asked for everything */
};

struct tc_learn_options {
    const bool *enabled;              /* by number of the source */
    const struct tc_strtab *left_out; /* APIs whose calls are left out; NULL: none */
    bool ahead;                       /* a second thread reads */
    bool (*progress)(void *context, uint64_t json_bytes);
    void *context;
};

/* Fold the folder, as one pipeline of that name, into evidence. What is learned of its selection is
 * the caller's. */
enum tc_status tc_learn_folder(const char *path, const struct tc_learn_options *options,
                               struct tc_evidence *evidence, struct tc_learned *learned,
                               struct tc_notes *notes, struct tc_error *err);

#endif /* TC_INFER_LEARN_H */
