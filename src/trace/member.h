/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - looking up members where they mostly stand
 *
 * The agent writes what it says of a tensor or an object in one order. Most members of a record are
 * found at their place by one comparison, and wherever else they are by tc_value_get().
 */
#ifndef TC_TRACE_MEMBER_H
#define TC_TRACE_MEMBER_H

#include <string.h>

#include <traincheck/value.h>

/* Their places in a tensor; those of `id` and of the first in an object and an array, too. */
enum {
    TC_PLACE_TENSOR,
    TC_PLACE_ID,
    TC_PLACE_SHAPE,
    TC_PLACE_DTYPE,
    TC_PLACE_DEVICE,
    TC_PLACE_REQUIRES_GRAD,
};

/* As tc_value_get(). key: a literal, so that the comparison needs no call. */
static inline const struct tc_value *tc_member_at(const struct tc_value *object, uint32_t place,
                                                  const char *key)
{
    const size_t size = strlen(key);

    if (object && object->kind == TC_VALUE_OBJECT && place < object->n) {
        const struct tc_member *member = &object->members[place];
        if (member->key.size == size && memcmp(member->key.text, key, size) == 0)
            return &member->value;
    }
    return tc_value_get(object, key);
}

static inline bool tc_is_tensor(const struct tc_value *value)
{
    return tc_member_at(value, TC_PLACE_TENSOR, "tensor") != NULL;
}

#endif /* TC_TRACE_MEMBER_H */
