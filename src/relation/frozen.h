/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frozen.h - modules whose parameters rest: nothing trains them, nothing writes to them, or has not
 * since they were trained, some steps ago
 */
#ifndef TC_RELATION_FROZEN_H
#define TC_RELATION_FROZEN_H

#include "replay/event.h"

/* The modules of one root, by what their own parameters do. */
struct tc_modules {
    struct tc_map trained; /* name of a module that has parameters → whether one of them moves */
    struct tc_map fresh;   /* names of modules that are as they were made */
};

/* Names of modules by those of their variables, kept as long as the run lasts; owned by the caller.
 */
struct tc_module_names {
    struct tc_map of; /* name of a variable → that of the module it stands in */
};

void tc_module_names_release(struct tc_module_names *names);

/* Look at all parameters of a root, in that step; release what is found with tc_modules_release. */
void tc_modules_find(struct tc_module_names *names, struct tc_strtab *symbols,
                     const struct tc_process *process, int64_t root, int64_t step,
                     struct tc_modules *out);
void tc_modules_release(struct tc_modules *modules);

/* Does the variable stand in a module that has parameters, all of which rest? */
bool tc_modules_rest(const struct tc_modules *modules, struct tc_module_names *names,
                     struct tc_strtab *symbols, const struct tc_variable *variable);

/* Does it stand in one that is as it was made? A buffer of it began with what one of its parameters
 * still has, as the ones and zeros of a fresh norm: statistics that nobody wants kept. */
bool tc_modules_are_fresh(const struct tc_modules *modules, struct tc_module_names *names,
                          struct tc_strtab *symbols, const struct tc_variable *variable);

#endif /* TC_RELATION_FROZEN_H */
