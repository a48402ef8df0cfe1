/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariant.h - Relation(Desc1, Desc2, ...) under a precondition
 *
 * docs/invariant-format.md is the contract of the file. Words are interned in
 * the symbol table of the set; the set owns its invariants and borrows the table.
 */
#ifndef TC_INVARIANT_INVARIANT_H
#define TC_INVARIANT_INVARIANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "invariant/fact.h"
#include <traincheck/error.h>
#include <traincheck/value.h>

enum tc_param_kind {
    TC_PARAM_CALL,     /* an API: name is fn, root.forward or root.forward[mode] */
    TC_PARAM_CHANGE,   /* a change of a variable: name is its kind, attr, from, to */
    TC_PARAM_VARIABLE, /* a state of a variable: name is its kind, attr, to */
    TC_PARAM_OPERAND,  /* of the call before it: name is a path, attr a verb, to what it is compared
                          with */
    TC_PARAM_FOREIGN,  /* of another tool: name is its whole definition, as text */
    TC_PARAM_FACT,     /* subject, attribute and value in one; the only param of its invariant */
};

/* A descriptor: one of the things a relation relates. */
struct tc_param {
    enum tc_param_kind kind;
    tc_sym name;
    tc_sym role;                /* of a call: what the API means in a training loop */
    tc_sym attr, from, to;      /* of the other kinds; TC_NO_SYM where there is none */
    bool given;                 /* of a sequence: speaks only of windows that have this call */
    const struct tc_fact *fact; /* of a fact; lives as long as the invariant */
};

/* What a trace must have been asked for, or an invariant cannot be judged by it; its text in files,
 * and how traincheck-collect is to be called. */
#define TC_NEED_MAP(X)                                                            \
    X(OPERATORS, "operators", "without --no-operators")                           \
    X(CONTENT, "content", "with --content batches (the default)")                 \
    X(CONTENT_BATCHES, "content batches", "with --content batches (the default)") \
    X(CONTENT_FULL, "content full", "with --content full")

enum tc_need {
#define X(name, text, option) TC_NEED_##name,
    TC_NEED_MAP(X)
#undef X
    TC_N_NEEDS
};

#define TC_NEED_BIT(need) (1u << (need))

const char *tc_need_text(enum tc_need need);
const char *tc_need_option(enum tc_need need);

struct tc_clause {
    tc_sym field, value;
    bool negated;
};

/* Values of a field that were met among the positives: elsewhere the invariant is not judged. */
struct tc_context {
    tc_sym field;
    tc_sym *values; /* in the arena of the set */
    size_t n_values;
};

/* Where invariants were read from, and for which runs they are, as the header says under "for". */
struct tc_invariant_file {
    const char *name;      /* a path, or "@pytorch" */
    const char **packages; /* for runs that import one of these; none: for all */
    size_t n_packages;
    bool is_for_many;  /* for runs of several processes */
    bool is_if_met;    /* for runs that do what it speaks of */
    const char *torch; /* version of torch that the invariants were learned with, or NULL */
    bool is_optional;  /* @all stood for it: it counts where it is for the run */
    struct tc_strtab *left_out; /* APIs of which the runs learned from had no calls; NULL: none */
};

#define TC_MAX_PARAMS  16
#define TC_MAX_CLAUSES 3

struct tc_invariant {
    char id[16];     /* "EC-3f9a1c20": relation and params, the handle for people */
    tc_sym relation; /* "EventContain/some" */
    struct tc_param params[TC_MAX_PARAMS];
    size_t n_params;
    struct tc_clause when[TC_MAX_CLAUSES]; /* all must hold */
    size_t n_when;
    struct tc_context *contexts; /* by field */
    size_t n_contexts;
    unsigned needs; /* TC_NEED_BIT of each */
    uint64_t held, broken,
        excluded; /* examples: positive, negative outside the precondition, not covered */
    uint64_t pipelines;
    struct tc_fact_windows windows; /* of a fact */
    bool is_validated; /* against held-out traces: on so many examples of so many it held */
    uint64_t held_out, held_out_pipelines;
    const char *text;                     /* one sentence */
    const char *unchecked;                /* why it cannot be judged, else NULL */
    const struct tc_value *foreign;       /* as another tool wrote it, else NULL */
    const struct tc_invariant_file *file; /* it was read from; NULL if made here */
    struct tc_json *document;             /* as read, with keys we do not know; NULL if made here */
};

struct tc_invariant_set {
    struct tc_strtab *symbols;
    struct tc_arena arena;
    TC_VEC(struct tc_invariant *) items;
    struct tc_json *header;                   /* of the first file read; NULL if there is none */
    TC_VEC(struct tc_invariant_file *) files; /* that were read; in the arena */
    struct tc_json *heading;                  /* of the lines that are being read; NULL: none */
    struct tc_map known; /* digests of what was read, and which items these are */
};

void tc_invariant_set_init(struct tc_invariant_set *set, struct tc_strtab *symbols);
void tc_invariant_set_release(struct tc_invariant_set *set);

/* A param that is this fact; name is for identity alone. */
struct tc_param tc_param_fact(const struct tc_fact *fact);
/* The fact that an invariant is, or NULL. */
const struct tc_fact *tc_invariant_fact(const struct tc_invariant *invariant);

/* A blank invariant in the set. */
struct tc_invariant *tc_invariant_add(struct tc_invariant_set *set);

/* Fill in id from relation and params. */
void tc_invariant_name(struct tc_invariant *invariant, const struct tc_strtab *symbols);

bool tc_invariant_same_when(const struct tc_invariant *a, const struct tc_invariant *b);

/* Remove the marked ones; they stay in the arena. */
void tc_invariant_set_drop(struct tc_invariant_set *set, const bool *drop);

/* What two invariants with equal relation, params and precondition share. */
uint64_t tc_invariant_digest(const struct tc_invariant *invariant, const struct tc_strtab *symbols);

/* Into the order of the file: by relation, params, precondition, as text. */
void tc_invariant_set_sort(struct tc_invariant_set *set);

/* Read a file into the set, of ours or of the Python tool (docs/python-tool.md), or shipped sets by
 * "@NAME" (shipped.h). Invariants already there by id and precondition are not added again.
 * TC_E_FORMAT and TC_E_VERSION name file, line and field. */
enum tc_status tc_invariant_set_read(struct tc_invariant_set *set, const char *path,
                                     struct tc_error *err);
/* Only a file; name is what it goes by. */
enum tc_status tc_invariant_set_read_file(struct tc_invariant_set *set, const char *path,
                                          const char *name, bool is_optional, struct tc_error *err);

/* The names that "lean":{"left_out":["torch.add"]} has in the header of a file, if it has any.
 * header may be NULL. */
void tc_invariant_add_left_out(const struct tc_json *header, struct tc_strtab *names);
/* What is left out of all that is learned from or judged: that of the one file of the set which
 * leaves something out; NULL: nothing is. TC_E_USAGE if two files differ. */
enum tc_status tc_invariant_set_left_out(const struct tc_invariant_set *set,
                                         const struct tc_strtab **out, struct tc_error *err);

/* Lines of a file that is in memory. */
enum tc_status tc_invariant_set_read_text(struct tc_invariant_set *set,
                                          const struct tc_strbuf *text, const char *name,
                                          struct tc_error *err);

/* The whole file: header (taken; may be NULL) and one line each, facts below their headings. */
void tc_invariant_set_print(const struct tc_invariant_set *set, struct tc_json *take_header,
                            struct tc_strbuf *out);

/* One invariant as an object, whole; the caller owns it. */
struct tc_json *tc_invariant_to_json(const struct tc_invariant *invariant,
                                     const struct tc_strtab *symbols);

#endif /* TC_INVARIANT_INVARIANT_H */
