/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_calls.h - which calls of the Python tool's trace become ours, and which are open
 */
#ifndef TC_IMPORT_OPEN_CALLS_H
#define TC_IMPORT_OPEN_CALLS_H

#include "base/map.h"
#include "base/vec.h"
#include "import/lines_by_time.h"
#include "import/torch_apis.h"

/* What a traced call is to us. */
struct tc_import_api {
    struct tc_str fn, role;
    const struct tc_torch_api *known; /* NULL for an API that is not torch's */
    bool is_method;                   /* its first argument is the receiver */
};

/* False for what torch does inside, which we do not trace. */
bool tc_import_api_of(const struct tc_torch_apis *apis, const struct tc_value *line,
                      struct tc_import_api *out);

struct tc_import_call {
    uint64_t key;       /* hash of its func_call_id */
    int64_t id, parent; /* our numbers; TC_NONE for a call that does not become ours */
    int64_t thread;     /* 0 is the one seen first */
    uint64_t fn;        /* hash of our name; 0 without id */
    bool is_root, is_forward, is_step;
};

struct tc_import_thread {
    int64_t thread; /* as the tool names it */
    TC_VEC(struct tc_import_call) open;
};

struct tc_import_calls {
    TC_VEC(struct tc_import_thread) threads;
    struct tc_map open; /* key → number of the thread */
    int64_t n_calls;
    size_t n_steps_open; /* calls of an optimizer's step */
};

void tc_import_calls_release(struct tc_import_calls *calls);
/* Is it a record of the thread that was seen first? */
bool tc_import_calls_is_main(struct tc_import_calls *calls, const struct tc_python_line *line);
/* api is NULL for a call that does not become ours. NULL if the call is open already; else valid
 * until the next call of these functions. */
struct tc_import_call *tc_import_calls_enter(struct tc_import_calls *calls,
                                             const struct tc_python_line *line,
                                             const struct tc_import_api *api);
/* False, and an id of TC_NONE, if it is not open. */
bool tc_import_calls_leave(struct tc_import_calls *calls, const struct tc_python_line *line,
                           struct tc_import_call *out);
/* The id of the innermost call of ours on that thread, TC_NONE outside of calls. */
int64_t tc_import_calls_innermost(struct tc_import_calls *calls, int64_t thread);

#endif /* TC_IMPORT_OPEN_CALLS_H */
