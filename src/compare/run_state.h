/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_state.h - the variables of a process as they are before one of its windows
 */
#ifndef TC_COMPARE_RUN_STATE_H
#define TC_COMPARE_RUN_STATE_H

#include "compare/call_values.h"
#include "compare/course.h"

/* One attribute of one variable. */
struct tc_state_leaf {
    int64_t serial;
    tc_sym path;
    enum tc_leaf_kind kind;
    uint64_t hash;
    const char *text; /* as JSON, cut; NULL of content */
};

/* All zero to begin with. */
struct tc_run_state {
    struct tc_arena arena;
    struct tc_map by_key;                  /* (serial, path) -> struct tc_state_leaf * */
    struct tc_map names;                   /* serial -> the newest name */
    struct tc_map contents;                /* (path, content) -> how many variables have it */
    TC_VEC(struct tc_state_leaf *) leaves; /* in the order in which they were first told */
    struct tc_map saved, loaded;           /* (class, serial) of what the script saved, loaded */
    TC_VEC(uint32_t) saves;                /* sites of the first save of each class */
};

/* only_new: of the window that begins with the state, what is looked at for the first time in it.
 */
void tc_run_state_apply(struct tc_run_state *state, struct tc_leaf_reader *reader,
                        const struct tc_call_sites *sites, const struct tc_course_window *window,
                        bool only_new);
tc_sym tc_run_state_name(const struct tc_run_state *state, int64_t serial);
/* Has a variable, whatever its name, this content? Names come later than contents. */
bool tc_run_state_has(const struct tc_run_state *state, const struct tc_state_leaf *content);
void tc_run_state_release(struct tc_run_state *state);

#endif /* TC_COMPARE_RUN_STATE_H */
