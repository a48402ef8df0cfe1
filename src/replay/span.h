/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - the calls that are open in one process, and what they contain
 */
#ifndef TC_REPLAY_SPAN_H
#define TC_REPLAY_SPAN_H

#include "replay/event.h"

/* What an api record says. */
struct tc_declared_api {
    enum tc_role role;
    const struct tc_value *defaults;
};

struct tc_spans {
    struct tc_strtab *symbols;
    struct tc_map open;                 /* id → struct tc_call * */
    TC_VEC(struct tc_call *) spare;     /* recycled calls */
    struct tc_map apis;                 /* fn → struct tc_declared_api *, from api records */
    struct tc_map unread;               /* fn, or class → const struct tc_value *, of sources */
    bool has_sources;                   /* some have told what they do not read */
    struct tc_arena arena;              /* of what was declared */
    TC_VEC(struct tc_call *) borrowing; /* open calls whose values are those of their records */
    TC_VEC(struct tc_call *) own; /* open calls of functions of the script, the last one last */
    TC_VEC(int64_t) main; /* a heap of the main thread's open calls, and of some that have ended */
};

void tc_spans_init(struct tc_spans *spans, struct tc_strtab *symbols);
void tc_spans_release(struct tc_spans *spans);

void tc_spans_declare(struct tc_spans *spans, const struct tc_record *api);
/* What functions of a source never read. */
void tc_spans_tell(struct tc_spans *spans, const struct tc_record *source);

/* Open a call, with the values of the record until they are settled. NULL if its id is already
 * open. */
struct tc_call *tc_spans_enter(struct tc_spans *spans, const struct tc_record *record);
/* The records go: keep what calls that are still open have of them. */
void tc_spans_settle(struct tc_spans *spans);
/* The open call of that id, or NULL. */
struct tc_call *tc_spans_find(const struct tc_spans *spans, int64_t id);
/* The call of the main thread that was opened last and is open, or NULL. */
struct tc_call *tc_spans_innermost(struct tc_spans *spans);
/* The open call of a function of the script that was opened last, or NULL. */
const struct tc_call *tc_spans_own(const struct tc_spans *spans);
/* Hand what happened inside on to the enclosing call, and recycle. */
void tc_spans_leave(struct tc_spans *spans, struct tc_call *call);

void tc_call_add_atom(struct tc_call *call, tc_atom atom);

#endif /* TC_REPLAY_SPAN_H */
