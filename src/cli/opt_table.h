/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opt_table.h - the rows of a tool's options, and what is known while its command line is read
 */
#ifndef TC_CLI_OPT_TABLE_H
#define TC_CLI_OPT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum tc_opt_kind {
    TC_OPT_FLAG,    /* bool, set to true */
    TC_OPT_COUNT,   /* unsigned, one more each time */
    TC_OPT_STRING,  /* const char *, borrowed from argv */
    TC_OPT_LIST,    /* struct tc_opt_list, one more each time */
    TC_OPT_NAMES,   /* struct tc_opt_list, each value may hold several with commas between */
    TC_OPT_UINT,    /* unsigned */
    TC_OPT_SIZE,    /* uint64_t, bytes: 4096, 64K, 16M, 2G, also with iB after the letter */
    TC_OPT_PERCENT, /* unsigned, millionths: 2%, 0.5, up to 100 */
    TC_OPT_CHOICE,  /* unsigned, the position in the argument name: "auto|always|never" */
};

struct tc_opt_list {
    const char **items; /* in the parser's arena */
    size_t n, cap;
};

struct tc_opt {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* 0: none */
    enum tc_opt_kind kind;
    const char *argument; /* its name in the help; NULL for flags and counts */
    size_t offset;        /* of the member of the tool's struct */
    const char *help;     /* one sentence; NULL hides a second spelling */
    /* If set: arguments that follow the value belong to it too while this says so. */
    bool (*more)(const char *argument);
    bool last;         /* all that follows the value is no option of ours */
    const char *words; /* values, with spaces between: beside files, or of a list */
};

/* clang-format off */
/* Rows. A spelling is a second name, not in the help, of the member of another row. */
#define TC_OPT_VALUE(kind, name, letter, argument, offset, help) \
    {name, letter, TC_OPT_##kind, argument, offset, help, NULL, false, NULL}
#define TC_OPT_SWITCH(kind, name, letter, offset, help) \
    {name, letter, TC_OPT_##kind, NULL, offset, help, NULL, false, NULL}
#define TC_OPT_SPELLING(kind, name, letter, argument, offset) \
    {name, letter, TC_OPT_##kind, argument, offset, NULL, NULL, false, NULL}
#define TC_OPT_WORDS(kind, name, letter, argument, offset, help, more, words) \
    {name, letter, TC_OPT_##kind, argument, offset, help, more, false, words}
#define TC_OPT_LAST(kind, name, letter, argument, offset, help) \
    {name, letter, TC_OPT_##kind, argument, offset, help, NULL, true, NULL}
#define TC_OPT_END {NULL, 0, TC_OPT_FLAG, NULL, 0, NULL, NULL, false, NULL}
/* clang-format on */

struct tc_opt_tool {
    const char *name;
    const char *summary;     /* one line */
    const char *description; /* for the man page: a paragraph */
    const char *usage;       /* what follows the name; lines after the first are further forms */
    const char *examples;    /* lines */
    const char *exit_codes;  /* lines "0  text" */
    const struct tc_opt *options;
    const struct tc_opt *shared; /* a table that another tool has too; may be NULL */
    size_t rest;                 /* offset of the struct tc_opt_list of other arguments */
    size_t dashes;       /* offset of a bool, set if -- stood before them; 0: not of interest */
    bool first_argument; /* options end at the first other argument */
    void (*version)(struct tc_strbuf *out); /* adds lines to --version; may be NULL */
};

struct tc_opt_parser {
    const struct tc_opt_tool *tool;
    void *config;           /* the tool's struct, filled with defaults */
    struct tc_arena *arena; /* holds the lists */
    uint64_t given;         /* bit i: row i was on the command line */
    uint64_t from_file;     /* bit i: row i has its value from a file */
};

/* What all tools have. The parser answers these rows at once, and stores nothing. */
enum {
    TC_OPT_COMMON_HELP,
    TC_OPT_COMMON_VERSION,
    TC_OPT_COMMON_COMPLETION,
    TC_OPT_COMMON_MAN,
    TC_OPT_N_COMMON
};
extern const struct tc_opt tc_opt_common[TC_OPT_N_COMMON + 1]; /* TC_OPT_END is the last */

/* Row i of what the tool shares with another one, which it needs first; then of its own table, then
 * of tc_opt_common. NULL at the end. */
const struct tc_opt *tc_opt_row(const struct tc_opt_tool *tool, size_t i);

#endif /* TC_CLI_OPT_TABLE_H */
