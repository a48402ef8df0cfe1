/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frozen.c - looks through all variables of a model for modules that nothing trains
 *
 * Each question passes over all variables of the process once. A module is a name up to its last
 * dot; names are split once. A module is fresh where a buffer's first content is that of a
 * parameter which still has it.
 */
#include "relation/frozen.h"

#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

void tc_module_names_release(struct tc_module_names *names)
{
    tc_map_release(&names->of);
}

/* "model.bn1" of "model.bn1.weight". */
static tc_sym module_of(struct tc_module_names *names, struct tc_strtab *symbols,
                        const struct tc_variable *variable)
{
    bool is_new;
    uint64_t *module = tc_map_at(&names->of, variable->name, &is_new);

    if (is_new) {
        const char *name = tc_strtab_text(symbols, variable->name);
        const char *dot = strrchr(name, '.');
        *module = tc_strtab_intern(symbols, name, dot ? (size_t)(dot - name) : 0);
    }
    return (tc_sym)*module;
}

/* What trains by turns, as a critic while its generator does not, rests for fewer steps. */
#define STEPS_AT_REST 10

/* Frozen is what nothing writes to, or has not since an optimizer did: an average that a script
 * keeps of a model requires no gradient, either, but moves. */
static bool is_at_rest(const struct tc_variable *v, int64_t step)
{
    const bool was_left = v->stepped >= 0 && v->left_step != TC_NONE && v->data == v->left_data &&
                          step > v->left_step &&
                          (uint64_t)step - (uint64_t)v->left_step >= STEPS_AT_REST;

    return !v->requires_grad && v->has_data && (v->data == v->first_data || was_left);
}

static uint64_t content_of(tc_sym module, const struct tc_variable *v)
{
    return tc_hash64(&v->first_data, sizeof(v->first_data), module);
}

static void find_fresh(struct tc_module_names *names, struct tc_strtab *symbols,
                       const struct tc_process *process, int64_t root, const struct tc_map *made,
                       struct tc_map *fresh)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (v->kind != TC_SYM_BUFFER || v->root != root || !v->has_first)
            continue;
        const tc_sym module = module_of(names, symbols, v);
        if (tc_map_get(made, content_of(module, v), &(uint64_t){0}))
            tc_map_put(fresh, module, 1);
    }
}

void tc_modules_find(struct tc_module_names *names, struct tc_strtab *symbols,
                     const struct tc_process *process, int64_t root, int64_t step,
                     struct tc_modules *out)
{
    struct tc_map made = TC_MAP_INIT; /* (module, content) of parameters that still have it */
    const struct tc_variable *v;

    *out = (struct tc_modules){.trained = TC_MAP_INIT, .fresh = TC_MAP_INIT};
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        bool is_new;
        if (v->kind != TC_SYM_PARAMETER || v->root != root)
            continue;
        const tc_sym module = module_of(names, symbols, v);
        *tc_map_at(&out->trained, module, &is_new) |= !is_at_rest(v, step);
        if (v->has_first && v->has_data && v->data == v->first_data)
            tc_map_put(&made, content_of(module, v), 1);
    }
    find_fresh(names, symbols, process, root, &made, &out->fresh);
    tc_map_release(&made);
}

bool tc_modules_are_fresh(const struct tc_modules *modules, struct tc_module_names *names,
                          struct tc_strtab *symbols, const struct tc_variable *variable)
{
    return tc_map_get(&modules->fresh, module_of(names, symbols, variable), &(uint64_t){0});
}

void tc_modules_release(struct tc_modules *modules)
{
    tc_map_release(&modules->fresh);
    tc_map_release(&modules->trained);
}

bool tc_modules_rest(const struct tc_modules *modules, struct tc_module_names *names,
                     struct tc_strtab *symbols, const struct tc_variable *variable)
{
    uint64_t is_trained;

    return tc_map_get(&modules->trained, module_of(names, symbols, variable), &is_trained) &&
           !is_trained;
}
