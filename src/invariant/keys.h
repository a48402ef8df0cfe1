/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - words of the invariant file that its reader and its writer share; private to them
 */
#ifndef TC_INVARIANT_KEYS_H
#define TC_INVARIANT_KEYS_H

#include "invariant/invariant.h"

#define TC_N_PARAM_KEYS (TC_PARAM_OPERAND + 1)

/* The key that names a descriptor of each kind. */
extern const char *const tc_param_keys[TC_N_PARAM_KEYS];

#endif /* TC_INVARIANT_KEYS_H */
