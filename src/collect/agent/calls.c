#include "collect/agent/calls.h"

#include <string.h>

#include "base/banned.h"
#include "collect/agent/answers.h"
#include "collect/agent/encode.h"
#include "collect/agent/frames.h"
#include "collect/agent/identity.h"
#include "collect/agent/modules.h"
#include "collect/agent/settings.h"
#include "collect/agent/sink.h"
#include "collect/agent/steps.h"
#include "collect/agent/tensor.h"
#include "collect/agent/variables.h"

#define MAX_MESSAGE 200

static bool is_container(const struct tc_api *api)
{
    return api->role == TC_ROLE_LIBRARY || api->role == TC_ROLE_METHOD;
}

static const struct tc_open_call *top_call(const struct tc_thread *thread)
{
    return thread->stack.n ? &thread->stack.items[thread->stack.n - 1] : NULL;
}

/* Is the call only the inside of an event that is already open? */
static bool is_inner(const struct tc_thread *thread, const struct tc_span *span)
{
    const struct tc_api *api = span->api;
    const struct tc_open_call *top = top_call(thread);

    if (!top)
        return false;
    if (api->flags & TC_API_TOP)
        return true;
    if (api->flags & TC_API_OUTERMOST)
        return top->api == api || (api->group && top->api->group == api->group);
    if (!(api->flags & TC_API_RECEIVER))
        return false;
    for (size_t i = thread->stack.n; i > 0; i--)
        if (thread->stack.items[i - 1].api == api &&
            thread->stack.items[i - 1].receiver == span->receiver)
            return true;
    return false;
}

static bool is_outside(const struct tc_thread *thread)
{
    for (size_t i = 0; i < thread->stack.n; i++)
        if (!is_container(thread->stack.items[i].api))
            return false;
    return true;
}

/* ---- what a call means to windows and variables, before it is recorded ---- */

static void before_forward(struct tc_thread *thread, struct tc_span *span)
{
    span->is_counted = thread->n_modules > 0 || tc_module_owns_parameter(span->receiver);
    span->is_root = span->is_counted && thread->n_modules == 0;
    if (span->is_counted && !span->is_root && !tc_agent.worker)
        tc_variables_meet_called(thread, span->receiver);
    if (!span->is_root || tc_agent.worker)
        return;
    tc_steps_candidate(thread, "forward");
    if (thread->number == 0)
        tc_variables_meet_root(span->receiver);
    tc_steps_set_stage(thread, tc_module_root_is_training(span->receiver) && tc_grad_enabled()
                                   ? TC_STAGE_TRAINING
                                   : TC_STAGE_EVALUATION);
    tc_variables_look(thread, 0, TC_LOOK_QUICK);
}

static void before_optimizer(struct tc_thread *thread, struct tc_span *span)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(span->receiver));

    span->is_module = class && class->kind == TC_CLASS_MODULE;
    span->serial = tc_identity(span->receiver);
    if (span->api->role == TC_ROLE_STEP) {
        tc_steps_before_step(thread, span->serial);
    } else {
        if (span->is_module)
            tc_steps_candidate(thread, "zero_grad");
        else
            tc_steps_candidate_of(thread, "zero_grad", span->serial);
        tc_steps_set_stage(thread, TC_STAGE_TRAINING);
    }
    if (thread->number == 0) {
        tc_variables_meet_optimizer(span->receiver);
        tc_settings_meet_optimizer(span->receiver, true);
    }
    tc_variables_look(thread, 0, TC_LOOK_QUICK);
    tc_settings_look(thread, 0, false);
}

static PyObject *argument(const struct tc_span *span, const char *name, size_t position)
{
    const struct tc_arguments *a = &span->args;

    if (position < a->n)
        return a->items[position];
    for (Py_ssize_t i = 0; a->names && i < PyTuple_GET_SIZE(a->names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(a->names, i), name) == 0)
            return a->items[a->n + (size_t)i];
    return NULL;
}

/* eval() is train(False). */
static void before_mode(struct tc_thread *thread, const struct tc_span *span)
{
    PyObject *mode = argument(span, "mode", 0);
    bool is_eval = strstr(span->api->fn, ".eval\"") || mode == Py_False;

    if (!tc_variables_holds_root(span->receiver))
        return;
    tc_steps_candidate(thread, "mode");
    tc_steps_set_stage(thread, is_eval ? TC_STAGE_EVALUATION : TC_STAGE_TRAINING);
}

static void before(struct tc_thread *thread, struct tc_span *span)
{
    PyObject *closure;

    switch (span->api->role) {
    case TC_ROLE_STEP:
        closure = argument(span, "closure", 0);
        span->is_closure = closure && closure != Py_None;
        if (span->is_closure) /* what it calls comes before the step, and would say so */
            tc_steps_set_stage(thread, TC_STAGE_TRAINING);
        before_optimizer(thread, span);
        break;
    case TC_ROLE_ZERO_GRAD:
        before_optimizer(thread, span);
        break;
    case TC_ROLE_MODE:
        before_mode(thread, span);
        break;
    case TC_ROLE_DATA:
        span->is_held = tc_steps_data_begin(thread);
        break;
    case TC_ROLE_SCALER:
        if (thread->number == 0 && span->receiver)
            tc_settings_meet_scaler(span->receiver);
        tc_settings_look(thread, 0, false);
        break;
    case TC_ROLE_SCHEDULER:
        tc_settings_look(thread, 0, true);
        break;
    default:
        if (span->api->flags & TC_API_LOOK)
            tc_variables_look(thread, 0, TC_LOOK_QUICK);
    }
    span->stage_before = thread->stage;
    if (span->api->flags & TC_API_CHECKPOINT)
        thread->stage = TC_STAGE_CHECKPOINTING;
}

/* ---- the call record ---- */

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
                   tc_role_name(api->role));
    if (api->defaults)
        tc_strbuf_addf(out, ",\"defaults\":%s", api->defaults);
    tc_strbuf_adds(out, "}\n");
    tc_sink_put(out->text, out->size, 0);
}

/* The enclosing call in the trace, or NULL. */
static const struct tc_open_call *parent_of_next(const struct tc_thread *thread)
{
    for (size_t i = thread->stack.n; i > 0; i--)
        if (thread->stack.items[i - 1].is_recorded)
            return &thread->stack.items[i - 1];
    return NULL;
}

static void add_place(struct tc_thread *thread, struct tc_strbuf *out)
{
    const struct tc_open_call *parent = parent_of_next(thread);

    if (thread->number) {
        tc_strbuf_adds(out, ",\"th\":");
        tc_strbuf_add_int(out, thread->number);
    }
    tc_steps_add(thread, out);
    if (parent) {
        tc_strbuf_adds(out, ",\"parent\":");
        tc_strbuf_add_int(out, parent->id);
    }
    if (is_outside(thread))
        tc_frames_add(out);
}

/* An initialiser's operands are memory that is still to be written. */
static void add_operands(struct tc_strbuf *out, const struct tc_span *span)
{
    bool has_stats = tc_agent.stats;

    tc_agent.stats = has_stats && span->api->role != TC_ROLE_INIT;
    if (span->receiver) {
        tc_strbuf_adds(out, ",\"self\":");
        tc_encode_self(out, span->receiver, span->is_root);
    }
    tc_strbuf_addc(out, ',');
    tc_sig_add_args(out, span->sig, &span->args, span->api->flags & TC_API_CONTENT);
    tc_agent.stats = has_stats;
}

static void write_call(struct tc_thread *thread, struct tc_span *span)
{
    struct tc_strbuf *out = &thread->line;

    announce(thread, span->api);
    tc_strbuf_reset(out);
    tc_strbuf_adds(out, "{\"type\":\"call\",\"id\":");
    tc_strbuf_add_int(out, span->id);
    tc_strbuf_adds(out, ",\"fn\":");
    tc_strbuf_adds(out, span->api->fn);
    tc_strbuf_adds(out, ",\"t\":");
    tc_strbuf_add_int(out, tc_agent_now());
    add_place(thread, out);
    add_operands(out, span);
    add_context(out);
    if (span->serial)
        tc_variables_add_params(out, span->receiver,
                                span->api->role == TC_ROLE_STEP && !span->is_closure);
    tc_strbuf_adds(out, "}\n");
    tc_sink_put(out->text, out->size, thread->step_at);
}

/* Which API a module's forward is; false if it is not traced. */
static bool resolve_module(struct tc_thread *thread, struct tc_span *span)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(span->receiver));

    if (!class || class->kind != TC_CLASS_MODULE)
        return false;
    before_forward(thread, span);
    span->sig = class->sig;
    if (!span->is_root)
        span->api = class->layer ? class->layer : class->forward;
    return span->api && !span->api->off;
}

static void push(struct tc_thread *thread, const struct tc_span *span)
{
    struct tc_open_call open = {span->id, span->is_recorded, span->api, span->receiver};

    tc_vec_push(&thread->stack, open);
    thread->n_core += !is_container(span->api);
}

static void open_span(struct tc_thread *thread, struct tc_span *span)
{
    bool traced = true;

    if (span->api->flags & TC_API_MODULE)
        traced = resolve_module(thread, span);
    thread->n_modules += span->is_counted;
    if (!traced || is_inner(thread, span) || !tc_agent_ready())
        return;
    before(thread, span);
    span->id = tc_agent.next_call++;
    span->is_open = true;
    span->is_recorded = !tc_agent.is_dark || is_container(span->api);
    if (span->is_recorded)
        write_call(thread, span);
    tc_steps_count_call(thread, span->api);
    push(thread, span);
}

void tc_call_begin(struct tc_thread *thread, struct tc_api *api, const struct tc_sig *sig,
                   const struct tc_arguments *args, struct tc_span *span)
{
    PyObject *shield = tc_tensor_shield();

    *span = (struct tc_span){.api = api, .args = *args};
    span->generation = tc_agent.generation;
    if (api->flags & TC_API_METHOD && args->n) {
        span->receiver = args->items[0];
        span->args.items++;
        span->args.n--;
    }
    span->sig = tc_sig_choose(sig, &span->args);
    open_span(thread, span);
    tc_tensor_unshield(shield);
    if (PyErr_Occurred())
        tc_agent_failed(api, "call");
}

/* ---- the end of a call ---- */

static void begin_end(struct tc_strbuf *out, const char *type, const struct tc_span *span)
{
    tc_strbuf_reset(out);
    tc_strbuf_adds(out, "{\"type\":\"");
    tc_strbuf_adds(out, type);
    tc_strbuf_adds(out, "\",\"id\":");
    tc_strbuf_add_int(out, span->id);
    tc_strbuf_adds(out, ",\"t\":");
    tc_strbuf_add_int(out, tc_agent_now());
}

static void write_return(struct tc_thread *thread, const struct tc_span *span, PyObject *result)
{
    struct tc_strbuf *out = &thread->line;

    begin_end(out, "return", span);
    tc_strbuf_adds(out, ",\"value\":");
    tc_encode(out, result);
    if (span->api->flags & TC_API_ASK)
        tc_answers_add(out, span, result);
    tc_strbuf_adds(out, "}\n");
    tc_sink_put(out->text, out->size, 0);
}

static void write_raise(struct tc_thread *thread, const struct tc_span *span, PyObject *type,
                        PyObject *value)
{
    struct tc_strbuf *out = &thread->line;
    const char *name = type ? ((PyTypeObject *)type)->tp_name : "?";
    PyObject *text = value && PyExceptionInstance_Check(value) ? NULL : value;
    Py_ssize_t size = 0;
    const char *msg;

    begin_end(out, "raise", span);
    tc_strbuf_adds(out, ",\"exc\":");
    tc_strbuf_add_json(out, name, strlen(name));
    /* Exceptions that were made already are not asked for their text: __str__ is the user's code.
     */
    if (!text && value && PyTuple_Check(((PyBaseExceptionObject *)value)->args) &&
        PyTuple_GET_SIZE(((PyBaseExceptionObject *)value)->args))
        text = PyTuple_GET_ITEM(((PyBaseExceptionObject *)value)->args, 0);
    msg = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &size) : NULL;
    if (msg) {
        tc_strbuf_adds(out, ",\"msg\":");
        tc_strbuf_add_json(out, msg, (size_t)(size < MAX_MESSAGE ? size : MAX_MESSAGE));
    }
    tc_strbuf_adds(out, "}\n");
    tc_sink_put(out->text, out->size, 0);
}

static bool has_looks(const struct tc_span *span)
{
    return span->is_root || span->api->role == TC_ROLE_STEP ||
           span->api->role == TC_ROLE_ZERO_GRAD || span->api->flags & TC_API_LOOK;
}

/* The calls that are there to change settings, and those that use them. */
static bool has_settings(const struct tc_span *span)
{
    switch (span->api->role) {
    case TC_ROLE_STEP:
    case TC_ROLE_SCHEDULER:
    case TC_ROLE_SCALER:
    case TC_ROLE_LOAD:
        return true;
    default:
        return false;
    }
}

static enum tc_look look_after(const struct tc_span *span)
{
    if (span->is_root)
        return TC_LOOK_FORWARD;
    return span->api->role == TC_ROLE_STEP ? TC_LOOK_STEP : TC_LOOK_QUICK;
}

static void pop(struct tc_thread *thread, const struct tc_span *span)
{
    while (thread->stack.n) {
        const struct tc_open_call *top = top_call(thread);
        bool is_mine = top->id == span->id;

        thread->n_core -= !is_container(top->api);
        thread->stack.n--;
        if (is_mine)
            break;
    }
}

static void write_end(struct tc_thread *thread, const struct tc_span *span, PyObject *result,
                      PyObject *type, PyObject *value)
{
    if (has_looks(span))
        tc_variables_look(thread, span->id, look_after(span));
    if (has_settings(span))
        tc_settings_look(thread, span->id, span->api->role == TC_ROLE_SCHEDULER);
    if (result)
        write_return(thread, span, result);
    else
        write_raise(thread, span, type, value);
}

static void close_span(struct tc_thread *thread, struct tc_span *span, PyObject *result,
                       PyObject *type, PyObject *value)
{
    thread->n_modules -= span->is_counted;
    if (!span->is_open)
        return;
    if (span->api->flags & TC_API_CHECKPOINT)
        thread->stage = span->stage_before;
    if (span->is_recorded)
        write_end(thread, span, result, type, value);
    pop(thread, span);
    if (span->is_held)
        tc_steps_data_end(result != NULL);
    if (span->api->role == TC_ROLE_STEP && result) {
        if (span->is_recorded)
            tc_variables_stepped(span->receiver);
        tc_steps_after_step(thread, span->serial);
    }
}

void tc_call_end(struct tc_thread *thread, struct tc_span *span, PyObject *result)
{
    PyObject *type, *value, *traceback, *shield;

    if (span->generation != tc_agent.generation)
        return; /* a forked child returns from a call of its parent */
    PyErr_Fetch(&type, &value, &traceback);
    shield = tc_tensor_shield();
    close_span(thread, span, result, type, value);
    tc_tensor_unshield(shield);
    if (PyErr_Occurred())
        tc_agent_failed(span->api, "return");
    PyErr_Restore(type, value, traceback);
}
