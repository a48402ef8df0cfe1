/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_text.h - strings and numbers of JSON text; private to scan.c
 */
#ifndef TC_TRACE_SCAN_TEXT_H
#define TC_TRACE_SCAN_TEXT_H

#include "base/arena.h"
#include <traincheck/error.h>
#include <traincheck/value.h>

#define TC_TEXT_OF(x)  TC_TEXT_OF_(x)
#define TC_TEXT_OF_(x) #x

struct tc_text {
    const char *begin, *p, *end;
    struct tc_error *err;
};

/* Say where and what was expected there; false. */
bool tc_text_fail(struct tc_text *t, const char *expected);
/* From behind the opening quote to behind the closing one. */
bool tc_text_string(struct tc_text *t, struct tc_arena *arena, struct tc_str *out);
/* A number as RFC 8259 has it. */
bool tc_text_number(struct tc_text *t, struct tc_value *out);

#endif /* TC_TRACE_SCAN_TEXT_H */
