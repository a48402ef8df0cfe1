/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch.h - the job that a parallel job would be if one line of it did something else
 */
#ifndef TC_PLAN_PATCH_H
#define TC_PLAN_PATCH_H

#include "plan/program.h"

enum tc_patch_kind {
    TC_PATCH_SUM,      /* what it makes is summed over the axis */
    TC_PATCH_MAX,      /* the largest over the axis is taken of it */
    TC_PATCH_SCALE,    /* and multiplied by num / den */
    TC_PATCH_LEFT_OUT, /* it gives its operand as it is */
    TC_PATCH_GROUP,    /* the collective is one of the axis */
    TC_PATCH_REVERSED, /* the list it reads, or writes, is in reverse order */
};

/* Operators of one line of a script: of one name, in the forward or of one node of autograd. A node
 * may run an operator twice, for two gradients: the turn says which. */
struct tc_site {
    const char *name, *src, *via, *node; /* those of the set's texts; via is NULL: of any call */
    uint32_t turn;
};

struct tc_patch {
    enum tc_patch_kind kind;
    tc_sym axis;
    int64_t num, den;
    uint32_t operand; /* LEFT_OUT: which of the tensors that it reads */
    uint32_t out;     /* SUM, MAX, SCALE: which of those that it makes */
};

/* That of an operator of the program. */
struct tc_site tc_site_of(const struct tc_plan_program *p, size_t op);
bool tc_site_has(const struct tc_site *site, const struct tc_plan_program *p, size_t op);

/* A set beside `set`, from which it borrows all that is not patched. suspects: for each rank a byte
 * for each of its operators; others stay as they are. NULL if the change makes no sense for some
 * operator of the site. */
struct tc_plan_set *tc_patched_new(const struct tc_plan_set *set, const struct tc_site *site,
                                   const uint8_t *const *suspects, const struct tc_patch *patch);
void tc_patched_free(struct tc_plan_set *patched);

#endif /* TC_PLAN_PATCH_H */
