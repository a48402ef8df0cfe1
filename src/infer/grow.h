/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grow.h - what an invariant file had before runs are added to it
 */
#ifndef TC_INFER_GROW_H
#define TC_INFER_GROW_H

#include "base/json.h"
#include "base/map.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "relation/evidence.h"
#include <traincheck/infer.h>

struct tc_grow_excerpt {
    char *path, *line; /* of the trace, as the evidence names it */
};

struct tc_grow {
    struct tc_json *header; /* NULL: nothing was read */
    TC_VEC(struct tc_grow_excerpt) excerpts;
    struct tc_strtab *ids; /* of accepted invariants */
    struct tc_map numbers; /* id -> which entry of the header accepted it */
    struct tc_strbuf own;  /* lines of invariants that rest on no evidence: written by hand */
    bool has_evidence;
};

/* Read the file and merge its evidence. Release what was read whatever the status. */
enum tc_status tc_grow_read(const char *file, struct tc_grow *grow, struct tc_evidence *evidence,
                            struct tc_error *err);
void tc_grow_release(struct tc_grow *grow);

/* None of these traces may be in the evidence: it would count twice. */
enum tc_status tc_grow_check(const struct tc_infer_config *config,
                             const struct tc_evidence *evidence, struct tc_error *err);
/* Put into the header what the file was told before, and that these runs were added. */
void tc_grow_history(const struct tc_grow *grow, const struct tc_infer_config *config,
                     struct tc_json *header);
/* Have excerpts been replaced by those of an accepted run? */
bool tc_grow_was_accepted(const struct tc_grow *grow);
/* The line of the excerpt of that trace, or NULL. */
const char *tc_grow_excerpt_of(const struct tc_grow *grow, const char *trace);
/* Append the lines of invariants, those that were accepted with their mark, and those of people. */
enum tc_status tc_grow_print(struct tc_grow *grow, const struct tc_strbuf *lines,
                             struct tc_strbuf *out, struct tc_error *err);

#endif /* TC_INFER_GROW_H */
