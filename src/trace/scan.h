/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - JSON text of one line to a tree of values, in one pass
 */
#ifndef TC_TRACE_SCAN_H
#define TC_TRACE_SCAN_H

#include <stddef.h>

#include "base/arena.h"
#include <traincheck/error.h>
#include <traincheck/value.h>

#define TC_SCAN_MAX_DEPTH 64

/*
 * Scan exactly one JSON value (white space around it allowed). Every escape of RFC 8259, surrogate
 * pairs included; strings must be UTF-8; NaN, Infinity and -Infinity are numbers; integers that fit
 * int64 are exact, others become doubles. Strings without escapes point into line; the rest is in
 * arena. TC_E_FORMAT with the byte offset and what was expected there.
 */
enum tc_status tc_scan(const char *line, size_t size, struct tc_arena *arena, struct tc_value *out,
                       struct tc_error *err);

struct tc_strbuf;

/* The value as compact JSON, numbers so that scanning them again gives the same value. */
void tc_value_print(const struct tc_value *value, struct tc_strbuf *out);
/* A value into a running hash. */
uint64_t tc_value_hash(uint64_t hash, const struct tc_value *value);

/* Parse one line into a record; strings and values live as long as line and arena. Unknown types
 * give TC_RECORD_UNKNOWN. A missing required field or a field of the wrong kind is TC_E_FORMAT and
 * is named. */
struct tc_record;
enum tc_status tc_record_parse(const char *line, size_t size, struct tc_arena *arena,
                               struct tc_record *out, struct tc_error *err);

#endif /* TC_TRACE_SCAN_H */
