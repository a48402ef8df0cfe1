/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.h - what runs of one script have in common, and in what they differ
 */
#ifndef TC_INFER_RUNS_H
#define TC_INFER_RUNS_H

#include "infer/gather.h"
#include "relation/evidence.h"
#include <traincheck/trace.h>

/* How many facts held in each run by itself, but had another value in another: one note names the
 * seeds, or else the first of them. */
uint64_t tc_runs_compare(const struct tc_evidence *evidence, const struct tc_gathered *gathered,
                         struct tc_notes *notes);

#endif /* TC_INFER_RUNS_H */
