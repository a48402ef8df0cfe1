/* SPDX-License-Identifier: Apache-2.0 */
/*
 * course_window.h - what is called between two cuts of one process
 *
 * A window is what stands between two cuts of the trace (docs/trace-format.md). All before the
 * first optimizer step is one: where it is cut depends on what a script does there. A window that
 * has very many calls, as that of a DataLoader worker, which is never cut, comes in pieces. A
 * window and all that it points to lives until it is freed, so windows of two runs can wait for
 * each other; memory is that of the windows that wait.
 */
#ifndef TC_COMPARE_COURSE_WINDOW_H
#define TC_COMPARE_COURSE_WINDOW_H

#include "base/arena.h"
#include "compare/call_site.h"
#include <traincheck/trace.h>

#define TC_NO_CALL UINT32_MAX

/* A window has at most so many calls. */
#define TC_WINDOW_MAX_CALLS 16384

struct tc_course_call {
    uint32_t site;
    uint32_t parent;   /* index in the window of the call that it is made in, or TC_NO_CALL */
    uint32_t own;      /* of the function of the script that it is made in, or TC_NO_CALL */
    bool is_in_loader; /* made while a batch is handed out */
    const struct tc_record *begin;
    const struct tc_record *end; /* NULL: it returns in a later window, or never */
};

struct tc_course_variable {
    tc_sym name, kind;
    uint32_t cause; /* index of the call at whose end it was seen, or TC_NO_CALL */
    bool is_new;
    const struct tc_record *record;
};

/* Windows that were cut from one piece share it. */
struct tc_window_memory {
    struct tc_arena arena;
    unsigned n_windows; /* that hold on to it */
};

struct tc_course_window {
    uint64_t number; /* counts the windows of the process, from 0 */
    int64_t step;
    tc_sym stage;
    bool has_step;
    uint64_t copy_of; /* of an excerpt: its place there, from 1; windows of one are equal */
    uint64_t shape;   /* equal where the same is called in the same order, whatever its lines */
    TC_VEC(struct tc_course_call) calls;
    TC_VEC(struct tc_course_variable) variables;
    struct tc_window_memory *memory; /* of the records */
    struct tc_course_window *next;   /* for whoever keeps several */
};

/* Which calls a selective trace has: those of these APIs and roles, but none of those left out. */
struct tc_recorded {
    struct tc_map apis;     /* symbols: a set */
    uint64_t roles;         /* 1 << enum tc_role */
    struct tc_map left_out; /* symbols: a set */
    bool variables;
};

/* What all courses of a comparison share; borrowed. */
struct tc_course_context {
    struct tc_strtab *symbols;
    struct tc_call_sites *sites;
    struct tc_notes *notes;             /* may be NULL */
    const struct tc_recorded *recorded; /* of an excerpt no more is read; NULL: all of it */
};

/* Add a call, behind its parent; is_in_loader is filled in. */
void tc_course_window_add(struct tc_course_window *window, const struct tc_call_sites *sites,
                          const struct tc_course_call *seen);
/* Is it one that torch makes while it hands out a batch? With workers it depends on which batch
 * arrives when. What the script's own lines call there is reported. */
bool tc_course_call_is_of_loader(const struct tc_course_call *call,
                                 const struct tc_call_sites *sites);

/* A window in memory, or in memory of its own where that is NULL. */
struct tc_course_window *tc_course_window_new(struct tc_window_memory *memory);
void tc_course_window_free(struct tc_course_window *window);
/* One less holds on to it. */
void tc_window_memory_release(struct tc_window_memory *memory);

#endif /* TC_COMPARE_COURSE_WINDOW_H */
