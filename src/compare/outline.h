/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outline.h - a run read once: its processes, their windows, and which call may follow which
 *
 * A transition is a call after the two before it in its window (by tokens), for a stage. What data
 * decide makes two healthy runs take other branches; they make no transition that is new.
 */
#ifndef TC_COMPARE_OUTLINE_H
#define TC_COMPARE_OUTLINE_H

#include "compare/course.h"
#include "compare/loss_course.h"

/* Of one window, as much as is needed to find its like in another run. */
struct tc_window_outline {
    uint32_t shape; /* of struct tc_course_window, its lower half */
    tc_sym kind;    /* stage, and whether an optimizer stepped */
    bool has_step;
};

struct tc_process_outline {
    char *path; /* of the trace file; NULL: an excerpt */
    const struct tc_excerpt_process *excerpt;
    bool is_worker, makes_steps;
    int64_t rank;  /* 0 where there is one process */
    int64_t began; /* wall clock */
    TC_VEC(struct tc_window_outline) windows;
    uint64_t n_calls;
};

/* How the run began, as its first process tells. */
struct tc_outline_setting {
    const char *name, *value;
    bool is_option;    /* of the command line */
    bool is_recording; /* it decides which calls a trace has */
};

struct tc_outline {
    bool is_selective; /* then that is what it has */
    struct tc_recorded recorded;
    const char *name; /* as it was named */
    bool is_excerpt;
    struct tc_arena arena;
    TC_VEC(struct tc_outline_setting) settings;
    struct tc_course_context context;
    struct tc_scripts scripts;
    struct tc_process_outline *processes; /* main ones by rank and start, then workers */
    size_t n_processes;
    int64_t world;
    struct tc_map transitions; /* a set */
    struct tc_map tokens;      /* of all calls: a set */
    uint64_t n_calls, n_windows, json_bytes;
    struct tc_loss_course loss; /* of the first main process that tells numbers */
    TC_VEC(tc_sym) places;      /* of each site: its line, as the run compared with has it */
};

/* All zero: read all of it, tell nobody. */
struct tc_outline_reading {
    bool (*progress)(void *context, uint64_t json_bytes); /* false ends it */
    void *context;
    uint64_t n_steps; /* no more windows than so many steps have; 0: all */
};

/* Read the trace in the folder, or file, of that name. Release it whatever the status. */
enum tc_status tc_outline_read(struct tc_outline *run, const char *name,
                               const struct tc_course_context *context,
                               const struct tc_outline_reading *how, struct tc_error *err);
/* The same of the excerpt of a run, which is borrowed. */
enum tc_status tc_outline_read_excerpt(struct tc_outline *run, const struct tc_excerpt *excerpt,
                                       const struct tc_course_context *context,
                                       struct tc_error *err);
/* Its course, from its begin. */
enum tc_status tc_process_course_open(const struct tc_process_outline *process,
                                      const struct tc_course_context *context,
                                      struct tc_course **out, struct tc_error *err);
void tc_outline_release(struct tc_outline *run);
/* outline_settings.c: of its first process. */
void tc_outline_add_settings(struct tc_outline *run, const struct tc_record *process);

/* The key of a transition in run->transitions; a token of 0: the begin or the end of the window. */
uint64_t tc_transition(tc_sym stage, uint32_t before, uint32_t last, uint32_t token);
bool tc_outline_has_transition(const struct tc_outline *run, uint64_t transition);
/* Is a call of that token made anywhere, by any process? */
bool tc_outline_calls(const struct tc_outline *run, uint32_t token);

struct tc_matched_windows {
    const struct tc_process_outline *a, *b;
    size_t from_a, from_b; /* windows before these have no like */
};

/*
 * Which window of process a is which of b: match[i] for each of b, TC_UNMATCHED where there is
 * none. Windows of one kind are matched by what happens in them, the rest in their order.
 */
void tc_match_windows(struct tc_matched_windows windows, size_t *match);

#endif /* TC_COMPARE_OUTLINE_H */
