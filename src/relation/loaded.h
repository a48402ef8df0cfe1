/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loaded.h - did a load give state of the model, or data?
 */
#ifndef TC_RELATION_LOADED_H
#define TC_RELATION_LOADED_H

#include "replay/event.h"

#define TC_LOADED_KEYS 8

/* What a load returned, as far as it tells the two apart. */
struct tc_loaded {
    bool is_plain;      /* tensors, alone, in a list or by these keys, and nothing else */
    bool is_of_numbers; /* a dict of numbers and texts, as the step that was saved beside state */
    tc_sym keys[TC_LOADED_KEYS];
    size_t n_keys;
};

/* value: of the return record, NULL if none was recorded. */
void tc_loaded_read(struct tc_loaded *loaded, struct tc_strtab *symbols,
                    const struct tc_value *value);

/* Tensors by names that no variable of the process bears: a data set. Numbers alone are no state
 * either. False where that is open. */
bool tc_loaded_is_data(const struct tc_loaded *loaded, const struct tc_strtab *symbols,
                       const struct tc_process *process);

#endif /* TC_RELATION_LOADED_H */
