/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduced_in_step.c - gradients that only the optimizer's step reduces
 *
 * Optimizers that shard their state sum the gradients when step() is called, and some keep their
 * own shard of the sum only. What the ranks have before is no gradient of one device; where a
 * script has put it into buffers of its own it is none at all. The job is right all the same if the
 * parameter after the step is: the step starts from random values, so a parameter that it changes
 * tells what gradient it used. Where that parameter is wrong, too, and the step has written it, a
 * gradient that no rank has explains nothing.
 */
#include <string.h>

#include "plan/fill.h"
#include "plan/judge.h"

/* Is it another value than before the step? With a learning rate of 0 it tells nothing. */
static bool has_moved(const struct judge *j, const struct tc_plan_judged *parameter)
{
    const struct tc_plan_init *init = tc_plan_init_of(&j->single->ranks[0], parameter->name);
    bool moved = false;

    if (!init || init->tensor.numel != parameter->n || !parameter->values[0])
        return false;
    tc_el *before = tc_malloc(((size_t)parameter->n + 1) * sizeof(*before));
    tc_plan_draw_init(init, j->single->names, tc_plan_seed(0), before);
    for (int64_t i = 0; i < parameter->n && !moved; i++)
        moved = !tc_el_same(before[i], parameter->values[0][i]);
    tc_free(before);
    return moved;
}

/* Does an operator write it on some rank? */
static bool is_written(const struct tc_plan_set *set, tc_sym parameter)
{
    for (uint32_t i = 0; i < set->world; i++) {
        const struct tc_plan_init *init = tc_plan_init_of(&set->ranks[i], parameter);
        if (init && tc_plan_first_writer(set->ranks[i].program, init->tensor.storage))
            return true;
    }
    return false;
}

/* The result that is the parameter after the step; NULL: none. */
static const struct tc_plan_judged *parameter_of(const struct judge *j,
                                                 const struct tc_plan_judged *gradient, tc_sym *sym)
{
    const char *name = tc_strtab_text(j->single->names, gradient->name);
    size_t n = strlen(name);

    if ((!gradient->is_wrong && !gradient->is_missing) || n < 6 ||
        strcmp(name + n - 5, ".grad") != 0)
        return NULL;
    *sym = tc_strtab_find(j->single->names, name, n - 5);
    return *sym == TC_NO_SYM ? NULL : tc_judged_of(j->verdict, *sym);
}

bool tc_judge_is_reduced_in_step(const struct judge *j, const struct tc_plan_judged *gradient)
{
    tc_sym sym;
    const struct tc_plan_judged *parameter = parameter_of(j, gradient, &sym);

    return parameter && !parameter->is_wrong && !parameter->is_missing && has_moved(j, parameter);
}

bool tc_judge_is_told_after_step(const struct judge *j, const struct tc_plan_judged *gradient)
{
    tc_sym sym;
    const struct tc_plan_judged *parameter = parameter_of(j, gradient, &sym);

    return parameter && gradient->is_missing && parameter->is_wrong && !parameter->is_missing &&
           is_written(j->parallel, sym);
}
