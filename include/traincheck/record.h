/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - one line of a trace
 *
 * docs/trace-format.md is the contract; src/trace/schema.h holds the table of
 * fields that both the parser and the documentation test follow.
 */
#ifndef TRAINCHECK_RECORD_H
#define TRAINCHECK_RECORD_H

#include <traincheck/value.h>

#define TC_RECORD_TYPE_MAP(X) \
    X(PROCESS, "process")     \
    X(API, "api")             \
    X(CALL, "call")           \
    X(RETURN, "return")       \
    X(RAISE, "raise")         \
    X(VAR, "var")             \
    X(STEP, "step")           \
    X(NOTE, "note")           \
    X(SOURCE, "source")       \
    X(END, "end")

enum tc_record_type {
#define X(name, text) TC_RECORD_##name,
    TC_RECORD_TYPE_MAP(X)
#undef X
    TC_RECORD_UNKNOWN, /* to be skipped and counted */
};

/* Absent integers are TC_NONE, absent strings have text NULL, absent values are NULL. */
#define TC_NONE INT64_MIN

struct tc_record {
    enum tc_record_type type;
    uint64_t line;                 /* 1-based line of the file, 0 when parsed alone */
    int64_t t;                     /* ns since the clock anchor of the process record */
    int64_t id;                    /* call, return, raise: counter per process */
    int64_t parent;                /* call: id of the enclosing traced call */
    int64_t cause;                 /* var: id of the call inside of which the change was seen */
    int64_t var;                   /* var: serial of the variable */
    int64_t step;                  /* number of finished windows that held an optimizer step */
    int64_t th;                    /* thread, 0 is the main thread */
    int64_t count;                 /* note */
    int64_t root;                  /* var: serial of the root module that owns the variable */
    int64_t size;                  /* source: bytes of the file */
    int64_t lines;                 /* source */
    int8_t finite;                 /* return: 1 yes, 0 no, -1 not recorded */
    struct tc_str fn;              /* api, call */
    struct tc_str role;            /* api; process: main or worker */
    struct tc_str stage;           /* call, var, step */
    struct tc_str by;              /* call without parent: user, torch or a package */
    struct tc_str at;              /* call without parent: "train.py:57"; source: "train.py" */
    struct tc_str name;            /* var */
    struct tc_str kind;            /* var: Parameter, buffer, scalar */
    struct tc_str why;             /* step */
    struct tc_str code;            /* note */
    struct tc_str text;            /* note; source: without secrets */
    struct tc_str path;            /* source: absolute */
    struct tc_str digest;          /* source: 16 hex digits, or empty where it was not read */
    struct tc_str exc;             /* raise */
    struct tc_str msg;             /* raise */
    const struct tc_value *self;   /* call: receiver */
    const struct tc_value *args;   /* call: object by parameter name */
    const struct tc_value *equal;  /* call: array of pairs of operand names of equal content */
    const struct tc_value *alias;  /* call: those that share memory */
    const struct tc_value *ctx;    /* call: object of what differs from the default */
    const struct tc_value *params; /* call of step, zero_grad: array of variable serials */
    const struct tc_value
        *uncleared; /* call of step: the serials among params not cleared since the last step */
    const struct tc_value *value;   /* return */
    const struct tc_value *same;    /* return: array of operand names with equal content */
    const struct tc_value *attrs;   /* var */
    const struct tc_value *object;  /* the whole line, for fields not named here */
    const struct tc_value *foreign; /* the line of another tool that it was made of, else NULL */
    struct tc_str unknown_key;      /* the first key that the schema does not name; skipped */
};

/* The record's line, or that of the other tool that it was made of; as tc_value_json. */
TC_API size_t tc_record_json(const struct tc_record *record, char *text, size_t size);

#endif /* TRAINCHECK_RECORD_H */
