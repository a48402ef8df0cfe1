/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - many traces learned at the same time, and merged into one evidence
 */
#ifndef TC_INFER_GATHER_H
#define TC_INFER_GATHER_H

#include "infer/selections.h"
#include "relation/evidence.h"
#include <traincheck/infer.h>

/* Evidence, by its name, and no trace? */
bool tc_is_evidence_file(const char *path);

/* What the traces say of each other. */
struct tc_gathered {
    int64_t seeds[2]; /* of two of the runs, where they differ */
    bool has_seeds;
};

struct tc_gather_how {
    const bool *observed;             /* by number of the source */
    const struct tc_strtab *left_out; /* APIs whose calls are left out; NULL: none */
};

/*
 * Learn from the trace folders and evidence files at paths, each once however it is spelled, on
 * config->jobs threads. Adds to the counts in
 * result; gathered may be NULL. held, NULL where the traces are learned from, gets what those were
 * asked for that were not asked for everything; learned from these are refused where what they lack
 * would be taken for absent. The evidence does not depend on the order of the paths nor on the
 * number of threads.
 */
enum tc_status tc_gather(const struct tc_infer_config *config, const char *const *paths,
                         size_t n_paths, const struct tc_gather_how *how,
                         struct tc_evidence *evidence, struct tc_infer_result *result,
                         struct tc_gathered *gathered, struct tc_selections *held,
                         struct tc_notes *notes, struct tc_error *err);

#endif /* TC_INFER_GATHER_H */
