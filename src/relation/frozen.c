/* SPDX-License-Identifier: Apache-2.0 */
#include "relation/frozen.h"

#include <string.h>

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

/* Frozen is what nothing writes to: an average that a script keeps of a model requires no gradient,
 * either, but moves. */
static bool is_at_rest(const struct tc_variable *v)
{
    return !v->requires_grad && v->has_data && v->data == v->first_data;
}

void tc_modules_find(struct tc_module_names *names, struct tc_strtab *symbols,
                     const struct tc_process *process, int64_t root, struct tc_modules *out)
{
    const struct tc_variable *v;

    *out = (struct tc_modules){.trained = TC_MAP_INIT};
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        bool is_new;
        if (v->kind == TC_SYM_PARAMETER && v->root == root)
            *tc_map_at(&out->trained, module_of(names, symbols, v), &is_new) |= !is_at_rest(v);
    }
}

void tc_modules_release(struct tc_modules *modules)
{
    tc_map_release(&modules->trained);
}

bool tc_modules_rest(const struct tc_modules *modules, struct tc_module_names *names,
                     struct tc_strtab *symbols, const struct tc_variable *variable)
{
    uint64_t is_trained;

    return tc_map_get(&modules->trained, module_of(names, symbols, variable), &is_trained) &&
           !is_trained;
}
