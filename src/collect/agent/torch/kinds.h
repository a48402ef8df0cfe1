/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds.h - the kinds of elements that tensors have
 *
 * Knows nothing of Python.
 */
#ifndef TC_COLLECT_KINDS_H
#define TC_COLLECT_KINDS_H

enum tc_number {
    TC_NUMBER_OTHER, /* integers, booleans, complex, quantised: no magnitude is asked */
    TC_NUMBER_F16,
    TC_NUMBER_BF16,
    TC_NUMBER_F32,
    TC_NUMBER_F64,
};

enum tc_integer {
    TC_INTEGER_NONE, /* of another kind */
    TC_INTEGER_BOOL,
    TC_INTEGER_U8,
    TC_INTEGER_I8,
    TC_INTEGER_I16,
    TC_INTEGER_I32,
    TC_INTEGER_I64,
};

#endif /* TC_COLLECT_KINDS_H */
