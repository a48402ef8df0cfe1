/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_value.h - tensors, arguments and places of a line of a plan
 */
#ifndef TC_PLAN_READ_VALUE_H
#define TC_PLAN_READ_VALUE_H

#include "plan/program.h"

/* What a line is read into. */
struct tc_plan_reader {
    struct tc_plan_set *set;
    struct tc_plan_rank *rank;
    struct tc_error *err;
};

/* Errors name the field. */
enum tc_status tc_read_tensor(struct tc_plan_reader *r, const struct tc_value *v, const char *field,
                              struct tc_plan_tensor *out);
enum tc_status tc_read_argument(struct tc_plan_reader *r, const struct tc_value *v,
                                const char *field, struct tc_plan_value *out);
enum tc_status tc_read_place(struct tc_plan_reader *r, const struct tc_value *line,
                             const struct tc_plan_tensor *t, struct tc_plan_place *out);
/* n elements, or one if may_fill. */
enum tc_status tc_read_data(struct tc_plan_reader *r, const struct tc_value *v, int64_t n,
                            bool may_fill, enum tc_plan_type type, const tc_el **out);
enum tc_status tc_read_type(struct tc_plan_reader *r, struct tc_str name, const char *field,
                            enum tc_plan_type *out);
/* A list of ranks below world, each once. */
enum tc_status tc_read_ranks(struct tc_plan_reader *r, const struct tc_value *v, uint32_t world,
                             const char *field, uint32_t *group);
/* A text that lives as long as the set. */
const char *tc_read_text(struct tc_plan_reader *r, struct tc_str s);
/* Is it a T? */
bool tc_read_is_tensor(const struct tc_value *v);

#endif /* TC_PLAN_READ_VALUE_H */
