/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed_value.h - the Python tool's typed values as ours
 *
 * It writes a value as {"type name": payload}: {"int": 3}, {"torch.FloatTensor": {attributes}}.
 */
#ifndef TC_IMPORT_TYPED_VALUE_H
#define TC_IMPORT_TYPED_VALUE_H

#include "base/arena.h"
#include "import/torch_apis.h"

#define TC_NO_ID INT64_MIN

/* An object that is filled member by member; values and keys are borrowed. */
struct tc_object_maker {
    struct tc_arena *arena;
    struct tc_member *members;
    uint32_t n, cap;
};

void tc_make_object(struct tc_object_maker *maker, struct tc_arena *arena, uint32_t cap);
/* Beyond cap nothing is added. */
void tc_make_member(struct tc_object_maker *maker, struct tc_str key, struct tc_value value);
void tc_make_value(struct tc_object_maker *maker, const char *key, struct tc_value value);
void tc_make_int(struct tc_object_maker *maker, const char *key, int64_t value);
void tc_make_str(struct tc_object_maker *maker, const char *key, struct tc_str value);
struct tc_value tc_made(const struct tc_object_maker *maker);

struct tc_str tc_str_of(const char *text);
struct tc_value tc_value_of_str(struct tc_str text);
/* A copy in arena, so that its address can be kept. */
const struct tc_value *tc_value_place(struct tc_arena *arena, struct tc_value value);

/* The one member of a typed value: its type name and payload; NULL if it is none. */
const struct tc_member *tc_python_typed(const struct tc_value *value);
/* `attr` of a tensor's bookkeeping, whatever prefix the tool's version writes: _TRAINCHECK_ or
 * _ML_DAIKON_. */
bool tc_python_is_bookkeeping(struct tc_str key);

struct tc_value tc_python_value(const struct tc_torch_apis *apis, struct tc_arena *arena,
                                const struct tc_value *typed);
/* "float32" for "torch.float32". */
struct tc_value tc_python_dtype(const struct tc_value *dtype);
const char *tc_python_device(const struct tc_value *attributes);

#endif /* TC_IMPORT_TYPED_VALUE_H */
