/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded.c - the keys of what a load returned, held against names of variables
 *
 * A dict with a key that ends a variable's name is state, even if it was read before the model was
 * made; so the question is asked later than the reading. At most TC_LOADED_KEYS are kept.
 */
#include "relation/loaded.h"

#include <string.h>

#include "replay/symbols.h"
#include "trace/member.h"

static bool is_tensor(const struct tc_value *value)
{
    return tc_is_tensor(value) || tc_value_get(value, "array");
}

static bool is_number(const struct tc_value *value)
{
    return value->kind != TC_VALUE_ARRAY && value->kind != TC_VALUE_OBJECT;
}

/* Of a checkpoint parts are dicts themselves; those of an optimizer, and of a whole run, always. */
static void read_dict(struct tc_loaded *loaded, struct tc_strtab *symbols,
                      const struct tc_value *dict)
{
    for (uint32_t i = 0; dict->kind == TC_VALUE_OBJECT && i < dict->n; i++) {
        loaded->is_plain &= is_tensor(&dict->members[i].value);
        loaded->is_of_numbers &= is_number(&dict->members[i].value);
        if (loaded->n_keys < TC_LOADED_KEYS)
            loaded->keys[loaded->n_keys++] = tc_symbols_str(symbols, dict->members[i].key);
    }
}

void tc_loaded_read(struct tc_loaded *loaded, struct tc_strtab *symbols,
                    const struct tc_value *value)
{
    const struct tc_value *dict = tc_value_get(value, "dict");

    *loaded = (struct tc_loaded){
        .is_plain = value && (dict || is_tensor(value) || value->kind == TC_VALUE_ARRAY),
        .is_of_numbers = dict && dict->n};
    if (dict)
        read_dict(loaded, symbols, dict);
    for (uint32_t i = 0; value && value->kind == TC_VALUE_ARRAY && i < value->n; i++)
        loaded->is_plain &= is_tensor(&value->items[i]);
}

/* "fc.weight" is how "model.fc.weight" is called in the model's state. */
static bool ends_in(const char *name, const char *key)
{
    size_t n = strlen(name), m = strlen(key);

    return n > m && name[n - m - 1] == '.' && !strcmp(name + n - m, key);
}

static bool names_variable(const struct tc_strtab *symbols, const struct tc_process *process,
                           tc_sym key)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));) {
        if (ends_in(tc_strtab_text(symbols, v->name), tc_strtab_text(symbols, key)))
            return true;
    }
    return false;
}

bool tc_loaded_is_data(const struct tc_loaded *loaded, const struct tc_strtab *symbols,
                       const struct tc_process *process)
{
    for (size_t i = 0; i < loaded->n_keys; i++)
        if (names_variable(symbols, process, loaded->keys[i]))
            return false;
    return loaded->is_of_numbers || (loaded->is_plain && process->variables.n);
}
