/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_record.c - the `call`, `return` and `raise` records of docs/trace-format.md
 *
 * An API is announced by its own record before its first call. The line is built in thread->line,
 * members in the order that the format fixes, and ended by tc_line_end(), which may leave holes.
 * An exception that exists already is not asked for its text: __str__ is the user's code.
 */
#include "collect/agent/say/call_record.h"

#include <string.h>

#include "collect/agent/say/answers.h"
#include "collect/agent/say/arguments.h"
#include "collect/agent/say/found_inf.h"
#include "collect/agent/say/frames.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/params_record.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/say/shorthand.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/modes.h"

#define MAX_MESSAGE 200

static void add_autocast(struct tc_strbuf *out, size_t *n)
{
    PyObject *text;
    const char *json;

    if (!tc_autocast_any())
        return;
    text = tc_policy_call("autocast_json", NULL);
    json = text && text != Py_None ? PyUnicode_AsUTF8(text) : NULL;
    if (json) {
        tc_strbuf_adds(out, (*n)++ ? ",\"autocast\":" : "\"autocast\":");
        tc_strbuf_adds(out, json);
    }
    Py_XDECREF(text);
    PyErr_Clear();
}

static void add_context(struct tc_strbuf *out)
{
    size_t start = out->size, n = 0;

    tc_strbuf_adds(out, ",\"ctx\":{");
    if (!tc_grad_enabled()) {
        n++;
        tc_strbuf_adds(out, "\"grad\":false");
    }
    if (tc_inference_enabled())
        tc_strbuf_adds(out, n++ ? ",\"inference\":true" : "\"inference\":true");
    add_autocast(out, &n);
    if (tc_agent.annotation) {
        tc_strbuf_adds(out, n++ ? ",\"annotation\":" : "\"annotation\":");
        tc_strbuf_adds(out, PyUnicode_AsUTF8(tc_agent.annotation));
    }
    if (n)
        tc_strbuf_addc(out, '}');
    else
        out->size = start;
}

static void announce(struct tc_thread *thread, struct tc_api *api)
{
    struct tc_strbuf *out = &thread->line;

    if (api->announced == tc_agent.generation)
        return;
    api->announced = tc_agent.generation;
    tc_strbuf_reset(out);
    tc_strbuf_addf(out, "{\"type\":\"api\",\"fn\":%s,\"role\":\"%s\"", api->fn,
                   tc_role_text(api->role));
    if (api->defaults)
        tc_strbuf_addf(out, ",\"defaults\":%s", api->defaults);
    tc_strbuf_adds(out, "}\n");
    tc_queue_put(out->text, out->size, 0);
}

/* The enclosing call in the trace, or NULL. */
static const struct tc_open_call *parent_of_next(const struct tc_thread *thread)
{
    for (size_t i = thread->stack.n; i > 0; i--)
        if (thread->stack.items[i - 1].is_recorded)
            return &thread->stack.items[i - 1];
    return NULL;
}

static bool is_outside(const struct tc_thread *thread)
{
    for (size_t i = 0; i < thread->stack.n; i++)
        if (!tc_api_is_container(thread->stack.items[i].api))
            return false;
    return true;
}

static void add_place(struct tc_thread *thread, struct tc_strbuf *out)
{
    const struct tc_open_call *parent = parent_of_next(thread);

    if (thread->number) {
        tc_strbuf_adds(out, ",\"th\":");
        tc_shorthand_add_int(out, thread->number);
    }
    tc_line_add_step(thread, out);
    if (parent) {
        tc_strbuf_adds(out, ",\"parent\":");
        tc_shorthand_add_int(out, parent->id);
    }
    if (is_outside(thread))
        tc_frames_add(out);
    else
        tc_frames_add_caller(out);
}

/* An initialiser's operands are memory that is still to be written. */
static void add_operands(struct tc_strbuf *out, const struct tc_span *span)
{
    bool is_init = span->api->role == TC_ROLE_INIT, has_stats = tc_agent.stats;
    struct tc_operands operands;
    struct tc_asked asked = {.is_batch = span->is_root};

    operands.n = operands.n_names = 0;
    asked.is_brief =
        tc_role_has(span->api->role, TC_TRAIT_APART) || span->api->role == TC_ROLE_DRAW;
    asked.is_outside = tc_role_has(span->api->role, TC_TRAIT_OUTSIDE);
    asked.digests = span->api->flags & TC_API_CONTENT;
    asked.content = tc_agent.content && !is_init && span->api->role != TC_ROLE_FILL;
    asked.operands = asked.content && !asked.is_brief ? &operands : NULL;
    tc_agent.stats = has_stats && !is_init;
    asked.is_lasting = tc_content_lasts(&asked);
    if (span->receiver) {
        tc_strbuf_adds(out, ",\"self\":");
        asked.is_unmade = span->api->role == TC_ROLE_MAKE;
        tc_encode_self(out, span->receiver, span->is_root, &asked);
        asked.is_unmade = false;
    }
    asked.is_named = tc_role_has(span->api->role, TC_TRAIT_APART);
    tc_arguments_add(out, span->sig, &span->args, &asked, span->api->flags & TC_API_SECRET);
    tc_operands_add(out, &operands);
    tc_agent.stats = has_stats;
}

/* The line of a call up to its time, with noughts for both numbers. */
#define BEFORE_ID "{\"type\":\"call\",\"id\":"

static void make_head(struct tc_api *api)
{
    struct tc_strbuf head = TC_STRBUF_INIT;

    tc_strbuf_adds(&head, BEFORE_ID);
    tc_shorthand_add_int(&head, 0);
    tc_strbuf_adds(&head, ",\"fn\":");
    tc_strbuf_add(&head, api->fn, api->n_fn);
    tc_strbuf_adds(&head, ",\"t\":");
    tc_shorthand_add_int(&head, 0);
    api->n_head = head.size;
    api->head = tc_strbuf_take(&head);
}

void tc_record_call(struct tc_thread *thread, const struct tc_span *span)
{
    struct tc_strbuf *out = &thread->line;

    announce(thread, span->api);
    tc_line_begin(thread);
    if (!span->api->head)
        make_head(span->api);
    tc_strbuf_add(out, span->api->head, span->api->n_head);
    tc_shorthand_set_int(out, sizeof(BEFORE_ID) - 1, span->id);
    tc_shorthand_set_int(out, span->api->n_head - TC_SHORTHAND_SIZE, tc_agent_now());
    add_place(thread, out);
    add_operands(out, span);
    add_context(out);
    if (span->serial)
        tc_params_add(out, span->receiver, span->api->role == TC_ROLE_STEP && !span->is_closure);
    tc_strbuf_adds(out, "}\n");
    tc_line_end(thread, thread->step_at);
}

/* The line of an end, with room for both numbers, up to what came of the call. */
#define RETURNED "{\"type\":\"return\",\"id\":"
#define RAISED   "{\"type\":\"raise\",\"id\":"
#define AT       TC_SHORTHAND_NOUGHT ",\"t\":" TC_SHORTHAND_NOUGHT

/* at_id: where the number of the call stands in head. */
static inline struct tc_strbuf *begin_end(struct tc_thread *thread, const char *head, size_t size,
                                          size_t at_id, int64_t id)
{
    struct tc_strbuf *out = tc_line_begin(thread);

    tc_strbuf_add(out, head, size);
    tc_shorthand_set_int(out, at_id, id);
    tc_shorthand_set_int(out, at_id + sizeof(AT) - 1 - TC_SHORTHAND_SIZE, tc_agent_now());
    return out;
}

void tc_record_return(struct tc_thread *thread, const struct tc_span *span, PyObject *result)
{
    static const char head[] = RETURNED AT ",\"value\":";
    struct tc_strbuf *out =
        begin_end(thread, head, sizeof(head) - 1, sizeof(RETURNED) - 1, span->id);
    struct tc_asked asked = {.is_batch = span->api->role == TC_ROLE_DATA,
                             .is_drawn = span->api->role == TC_ROLE_DRAW,
                             .is_noise = span->api->flags & TC_API_NOISE,
                             .is_brief = tc_role_has(span->api->role, TC_TRAIT_APART),
                             .is_outside = tc_role_has(span->api->role, TC_TRAIT_OUTSIDE),
                             .is_secret = span->api->flags & TC_API_SECRET};

    asked.content = tc_agent.content && !(span->api->flags & TC_API_UNWRITTEN);
    asked.is_lasting = tc_content_lasts(&asked);
    tc_encode_asked(out, result, NULL, &asked);
    if (span->api->flags & TC_API_ASK)
        tc_answers_add(out, span, result);
    if (span->api->role == TC_ROLE_UNSCALE || span->api->role == TC_ROLE_SCALER)
        tc_found_inf_add(out, span);
    tc_strbuf_adds(out, "}\n");
    tc_line_end(thread, 0);
}

/* Borrowed, or NULL. An exception that was made already is not asked for its text: __str__ is the
 * user's code. */
static PyObject *message_of(PyObject *value)
{
    PyObject *text = value;

    if (value && PyExceptionInstance_Check(value)) {
        PyObject *args = ((PyBaseExceptionObject *)value)->args;
        text = PyTuple_Check(args) && PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
    }
    return text && PyUnicode_Check(text) ? text : NULL;
}

static void add_message(struct tc_strbuf *out, const struct tc_api *api, PyObject *text)
{
    Py_ssize_t size = 0;
    const char *utf8;

    if (!text || tc_role_has(api->role, TC_TRAIT_OUTSIDE) ||
        (tc_role_has(api->role, TC_TRAIT_APART) &&
         (api->flags & TC_API_SECRET || tc_text_is_withheld(text, false))))
        return;
    utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (utf8) {
        tc_strbuf_adds(out, ",\"msg\":");
        tc_strbuf_add_json(out, utf8, (size_t)(size < MAX_MESSAGE ? size : MAX_MESSAGE));
    }
}

void tc_record_raise(struct tc_thread *thread, const struct tc_span *span, PyObject *type,
                     PyObject *value)
{
    static const char head[] = RAISED AT ",\"exc\":";
    struct tc_strbuf *out = begin_end(thread, head, sizeof(head) - 1, sizeof(RAISED) - 1, span->id);
    const char *name = type ? ((PyTypeObject *)type)->tp_name : "?";

    tc_strbuf_add_json(out, name, strlen(name));
    add_message(out, span->api, message_of(value));
    tc_strbuf_adds(out, "}\n");
    tc_line_end(thread, 0);
}
