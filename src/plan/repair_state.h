/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair_state.h - a wrong job while changes of it are tried; shared by the files that try
 */
#ifndef TC_PLAN_REPAIR_STATE_H
#define TC_PLAN_REPAIR_STATE_H

#include "plan/judge.h"
#include "plan/patch.h"

#define TC_REPAIR_OUTS 3 /* of an operator that are looked at */

/* One change of one site, and what it gives. */
struct tc_attempt {
    uint32_t site;
    struct tc_patch patch;
    uint32_t n_mended, n_left,
        n_broken; /* wrong results made right, or not; right ones made wrong */
};

struct tc_repair {
    struct judge *judge;
    enum tc_laws_mode laws;
    unsigned n_seeds;
    struct tc_arena arena;
    const uint8_t **suspects; /* for each rank a byte for each operator: wrong results depend on it,
                                 and no right one */
    uint64_t **hashes;        /* for each rank that is no copy: of TC_REPAIR_OUTS outputs of each
                                 operator; 0: none */
    TC_VEC(struct tc_site) sites; /* in the order in which they are tried */
    uint32_t n_named;             /* so many of them a finding names */
    bool is_open; /* the first finding says where values relate to nothing, and no more */
    TC_VEC(struct tc_attempt) attempts;
    TC_VEC(tc_sym) axes;
};

/* ---- suspects.c ---------------------------------------------------------------------------- */

void tc_repair_find_suspects(struct tc_repair *r);
/* Sites of suspects: those that a finding names, then lines that one device does not run, then all
 * others. */
void tc_repair_find_sites(struct tc_repair *r);
/* The first suspect of a site; NULL: there is none. */
const struct tc_plan_op *tc_repair_first(const struct tc_repair *r, const struct tc_site *site);
/* The program that has it. */
const struct tc_plan_program *tc_repair_program(const struct tc_repair *r,
                                                const struct tc_site *site);
/* The first rank that has one, and its number there; NULL: there is none. */
const struct tc_plan_rank *tc_repair_rank(const struct tc_repair *r, const struct tc_site *site,
                                          size_t *op);
/* Does one device run the line of the operator? */
bool tc_repair_is_run_by_single(const struct tc_repair *r, const struct tc_plan_op *op);
/* Do ranks along the axis have different values of this output? */
bool tc_repair_varies(const struct tc_repair *r, const struct tc_site *site, uint32_t out,
                      tc_sym axis);

/* Is the finding about this operator, or does it name its line? */
bool tc_repair_is_about(const struct tc_plan_finding *f, const struct tc_plan_op *op);

/* ---- attempts.c ---------------------------------------------------------------------------- */

/* All changes of the sites that findings name; then of all others what ranks exchange, and what
 * they multiply by. */
void tc_repair_list_attempts(struct tc_repair *r);
/* Evaluates the job with the change. */
void tc_repair_try(struct tc_repair *r, struct tc_attempt *a);

#endif /* TC_PLAN_REPAIR_STATE_H */
