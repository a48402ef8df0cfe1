/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the fields of each record: the one table that the parser and the documentation test
 * follow
 *
 * X(key, KIND, NEED, PLACE): KIND is INT, BOOL, STR, ARRAY, OBJECT or ANY; NEED is REQUIRED or
 * OPTIONAL; PLACE is the member of struct tc_record, or nowhere: readers then look into object. An
 * optional field that is null counts as absent, unless its kind is ANY. Rows stand in the order in
 * which the collector writes them, as the parser looks for a key first behind the one before it.
 */
#ifndef TC_TRACE_SCHEMA_H
#define TC_TRACE_SCHEMA_H

#include <stddef.h>

#include "trace/scan.h"
#include <traincheck/record.h>

#define TC_NOWHERE    UINT16_MAX
#define TC_IN(member) offsetof(struct tc_record, member)

/* clang-format off */
#define TC_PROCESS_FIELDS(X)                       \
    X(schema,       INT,    REQUIRED, TC_NOWHERE)  \
    X(pid,          INT,    REQUIRED, TC_NOWHERE)  \
    X(role,         STR,    REQUIRED, TC_IN(role)) \
    X(host,         STR,    OPTIONAL, TC_NOWHERE)  \
    X(ppid,         INT,    OPTIONAL, TC_NOWHERE)  \
    X(rank,         INT,    OPTIONAL, TC_NOWHERE)  \
    X(local_rank,   INT,    OPTIONAL, TC_NOWHERE)  \
    X(world_size,   INT,    OPTIONAL, TC_NOWHERE)  \
    X(restart,      INT,    OPTIONAL, TC_NOWHERE)  \
    X(job,          STR,    OPTIONAL, TC_NOWHERE)  \
    X(argv,         ARRAY,  OPTIONAL, TC_NOWHERE)  \
    X(cwd,          STR,    OPTIONAL, TC_NOWHERE)  \
    X(python,       STR,    OPTIONAL, TC_NOWHERE)  \
    X(packages,     OBJECT, OPTIONAL, TC_NOWHERE)  \
    X(monotonic_ns, INT,    OPTIONAL, TC_NOWHERE)  \
    X(unix_ns,      INT,    OPTIONAL, TC_NOWHERE)  \
    X(mode,         STR,    OPTIONAL, TC_NOWHERE)  \
    X(content,      STR,    OPTIONAL, TC_NOWHERE)  \
    X(operators,    BOOL,   OPTIONAL, TC_NOWHERE)  \
    X(digest,       STR,    OPTIONAL, TC_NOWHERE)  \
    X(invariants,   STR,    OPTIONAL, TC_NOWHERE)  \
    X(selection,    OBJECT, OPTIONAL, TC_NOWHERE)  \
    X(sampling,     ANY,    OPTIONAL, TC_NOWHERE)  \
    X(keep,         INT,    OPTIONAL, TC_NOWHERE)  \
    X(variables,    STR,    OPTIONAL, TC_NOWHERE)  \
    X(left_out,     ARRAY,  OPTIONAL, TC_NOWHERE)

#define TC_API_FIELDS(X)                           \
    X(fn,           STR,    REQUIRED, TC_IN(fn))   \
    X(role,         STR,    REQUIRED, TC_IN(role)) \
    X(defaults,     OBJECT, OPTIONAL, TC_NOWHERE)

#define TC_CALL_FIELDS(X)                               \
    X(id,           INT,    REQUIRED, TC_IN(id))        \
    X(fn,           STR,    REQUIRED, TC_IN(fn))        \
    X(t,            INT,    REQUIRED, TC_IN(t))         \
    X(th,           INT,    OPTIONAL, TC_IN(th))        \
    X(step,         INT,    OPTIONAL, TC_IN(step))      \
    X(stage,        STR,    OPTIONAL, TC_IN(stage))     \
    X(parent,       INT,    OPTIONAL, TC_IN(parent))    \
    X(by,           STR,    OPTIONAL, TC_IN(by))        \
    X(at,           STR,    OPTIONAL, TC_IN(at))        \
    X(stack,        ARRAY,  OPTIONAL, TC_NOWHERE)       \
    X(self,         ANY,    OPTIONAL, TC_IN(self))      \
    X(args,         OBJECT, OPTIONAL, TC_IN(args))      \
    X(equal,        ARRAY,  OPTIONAL, TC_IN(equal))     \
    X(alias,        ARRAY,  OPTIONAL, TC_IN(alias))     \
    X(ctx,          OBJECT, OPTIONAL, TC_IN(ctx))       \
    X(params,       ARRAY,  OPTIONAL, TC_IN(params))    \
    X(uncleared,    ARRAY,  OPTIONAL, TC_IN(uncleared))

#define TC_RETURN_FIELDS(X)                          \
    X(id,           INT,    REQUIRED, TC_IN(id))     \
    X(t,            INT,    REQUIRED, TC_IN(t))      \
    X(value,        ANY,    OPTIONAL, TC_IN(value))  \
    X(same,         ARRAY,  OPTIONAL, TC_IN(same))   \
    X(finite,       BOOL,   OPTIONAL, TC_IN(finite)) \
    X(found_inf,    BOOL,   OPTIONAL, TC_NOWHERE)

#define TC_RAISE_FIELDS(X)                        \
    X(id,           INT,    REQUIRED, TC_IN(id))  \
    X(t,            INT,    REQUIRED, TC_IN(t))   \
    X(exc,          STR,    OPTIONAL, TC_IN(exc)) \
    X(msg,          STR,    OPTIONAL, TC_IN(msg))

#define TC_VAR_FIELDS(X)                            \
    X(var,          INT,    REQUIRED, TC_IN(var))   \
    X(t,            INT,    REQUIRED, TC_IN(t))     \
    X(attrs,        OBJECT, REQUIRED, TC_IN(attrs)) \
    X(name,         STR,    OPTIONAL, TC_IN(name))  \
    X(kind,         STR,    OPTIONAL, TC_IN(kind))  \
    X(root,         INT,    OPTIONAL, TC_IN(root))  \
    X(step,         INT,    OPTIONAL, TC_IN(step))  \
    X(stage,        STR,    OPTIONAL, TC_IN(stage)) \
    X(cause,        INT,    OPTIONAL, TC_IN(cause))

#define TC_STEP_FIELDS(X)                           \
    X(step,         INT,    REQUIRED, TC_IN(step))  \
    X(t,            INT,    REQUIRED, TC_IN(t))     \
    X(stage,        STR,    OPTIONAL, TC_IN(stage)) \
    X(why,          STR,    OPTIONAL, TC_IN(why))

#define TC_NOTE_FIELDS(X)                           \
    X(code,         STR,    REQUIRED, TC_IN(code))  \
    X(text,         STR,    OPTIONAL, TC_IN(text))  \
    X(count,        INT,    OPTIONAL, TC_IN(count)) \
    X(t,            INT,    OPTIONAL, TC_IN(t))

#define TC_SOURCE_FIELDS(X)                          \
    X(at,           STR,    REQUIRED, TC_IN(at))     \
    X(path,         STR,    OPTIONAL, TC_IN(path))   \
    X(digest,       STR,    REQUIRED, TC_IN(digest)) \
    X(size,         INT,    OPTIONAL, TC_IN(size))   \
    X(lines,        INT,    OPTIONAL, TC_IN(lines))  \
    X(text,         STR,    OPTIONAL, TC_IN(text))   \
    X(unread,       OBJECT, OPTIONAL, TC_NOWHERE)

#define TC_END_FIELDS(X)                          \
    X(t,            INT,    REQUIRED, TC_IN(t))   \
    X(events,       INT,    OPTIONAL, TC_NOWHERE) \
    X(dropped,      INT,    OPTIONAL, TC_NOWHERE) \
    X(exit,         INT,    OPTIONAL, TC_NOWHERE)

/* clang-format on */

enum tc_field_kind {
    TC_FIELD_INT,
    TC_FIELD_BOOL,
    TC_FIELD_STR,
    TC_FIELD_ARRAY,
    TC_FIELD_OBJECT,
    TC_FIELD_ANY,
};

struct tc_field {
    const char *key;
    uint8_t size; /* bytes of key */
    uint8_t kind; /* enum tc_field_kind */
    bool is_required;
    uint16_t offset; /* into struct tc_record; TC_NOWHERE for none */
};

/* The rows of a type; none for TC_RECORD_UNKNOWN. */
const struct tc_field *tc_schema_fields(enum tc_record_type type, size_t *n);
/* The name of a type, "process"; "unknown" for TC_RECORD_UNKNOWN. */
const char *tc_record_type_text(enum tc_record_type type);

/* A record of no type without any field: what is absent is TC_NONE, NULL or -1. */
extern const struct tc_record tc_record_blank;

/*
 * A record from the object that was scanned; object and what it points to must outlive *out.
 * TC_E_FORMAT names the field.
 */
enum tc_status tc_record_fill(const struct tc_value *object, struct tc_record *out,
                              struct tc_error *err);

#endif /* TC_TRACE_SCHEMA_H */
