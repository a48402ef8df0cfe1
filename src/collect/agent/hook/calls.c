/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the beginning and the end of a traced call
 *
 * Before a call its meaning goes to windows and variables, then it is recorded and pushed onto the
 * thread's stack; afterwards variables are looked at, its end is recorded, and it is popped. Calls
 * inside of one that is a single event (a step, an optimizer's own calls) are no events. With the
 * interpreter's lock; an exception of the user's is kept aside and put back. A child of fork that
 * returns from a parent's call has another generation and does nothing.
 */
#include "collect/agent/hook/calls.h"

#include <string.h>

#include "collect/agent/hook/own_names.h"
#include "collect/agent/hook/steps.h"
#include "collect/agent/hook/variables.h"
#include "collect/agent/look/owned.h"
#include "collect/agent/look/roots.h"
#include "collect/agent/say/call_record.h"
#include "collect/agent/say/params_record.h"
#include "collect/agent/say/settings.h"
#include "collect/agent/torch/classes.h"
#include "collect/agent/torch/identity.h"
#include "collect/agent/torch/modes.h"
#include "collect/agent/torch/modules.h"
#include "collect/agent/torch/ours.h"
#include "collect/agent/torch/tensor.h"

static const struct tc_open_call *top_call(const struct tc_thread *thread)
{
    return thread->stack.n ? &thread->stack.items[thread->stack.n - 1] : NULL;
}

/* Is the call only the inside of an event that is already open? */
static bool is_inner(const struct tc_thread *thread, const struct tc_span *span)
{
    const struct tc_api *api = span->api;
    const struct tc_open_call *top = top_call(thread);

    if (tc_role_has(api->role, TC_TRAIT_APART))
        return api->is_running;
    if (!top)
        return false;
    if (api->role == TC_ROLE_REPLAY) /* graphed layers and compiled ones are calls themselves */
        return thread->n_core > 0;
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

/* ---- what a call means to windows and variables, before it is recorded ---- */

/* What is computed once more inside of a backward, to save memory, is no iteration. */
static bool is_in_backward(const struct tc_thread *thread)
{
    for (size_t i = 0; i < thread->stack.n; i++)
        if (thread->stack.items[i].api->role == TC_ROLE_BACKWARD)
            return true;
    return false;
}

static void before_forward(struct tc_thread *thread, struct tc_span *span,
                           const struct tc_class *class)
{
    span->is_counted = thread->n_modules > 0 || tc_module_owns_parameter(span->receiver);
    span->is_root =
        span->is_counted && thread->n_modules == 0 && !class->part && !is_in_backward(thread);
    if (span->is_counted && !span->is_root && !tc_agent.worker)
        tc_roots_meet_called(thread, span->receiver);
    if (!span->is_root || tc_agent.worker)
        return;
    tc_steps_candidate(thread, "forward");
    if (thread->number == 0)
        tc_roots_meet(span->receiver);
    tc_steps_set_stage(thread, tc_module_root_is_training(span->receiver) && tc_grad_enabled()
                                   ? TC_STAGE_TRAINING
                                   : TC_STAGE_EVALUATION);
    if (tc_steps_forward_begin(thread) && tc_variables_look_at_all(thread))
        tc_agent_note("looked", NULL, 0);
    else
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
        tc_owned_meet(span->receiver);
        tc_settings_meet_optimizer(span->receiver, true);
    }
    if (thread->n_core > 0) {
        tc_variables_look_at_owned(thread, 0, span->receiver, false);
        tc_settings_look_at(thread, 0, span->receiver);
    } else {
        tc_variables_look(thread, 0, TC_LOOK_QUICK);
        tc_settings_look(thread, 0, false);
    }
}

/* eval() is train(False). */
static void before_mode(struct tc_thread *thread, const struct tc_span *span)
{
    PyObject *mode = tc_arguments_at(&span->args, "mode", 0);
    bool is_eval = strstr(span->api->fn, ".eval\"") || mode == Py_False;

    if (!tc_roots_are_in(span->receiver))
        return;
    tc_steps_candidate(thread, "mode");
    tc_steps_set_stage(thread, is_eval ? TC_STAGE_EVALUATION : TC_STAGE_TRAINING);
}

static void before(struct tc_thread *thread, struct tc_span *span)
{
    PyObject *closure;

    switch (span->api->role) {
    case TC_ROLE_STEP:
        tc_own_names_train(thread);
        closure = tc_arguments_at(&span->args, "closure", 0);
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

/* Which API a module's forward is; false if it is not traced. */
static bool resolve_module(struct tc_thread *thread, struct tc_span *span)
{
    const struct tc_class *class = tc_class_of(Py_TYPE(span->receiver));

    if (!class || class->kind != TC_CLASS_MODULE)
        return false;
    before_forward(thread, span, class);
    span->sig = class->sig;
    if (!span->is_root)
        span->api = class->layer ? class->layer : class->forward;
    return span->api && !span->api->off;
}

static void push(struct tc_thread *thread, const struct tc_span *span)
{
    struct tc_open_call open = {span->id, span->is_recorded, span->api, span->receiver};

    tc_vec_push(&thread->stack, open);
    thread->n_core += !tc_api_is_container(span->api);
}

/* A function of the script's own is around no call: what it calls is what the script calls. */
static void enter_call(struct tc_thread *thread, const struct tc_span *span)
{
    if (tc_role_has(span->api->role, TC_TRAIT_APART))
        span->api->is_running = true;
    else
        push(thread, span);
}

/* A package's function that is handed nothing but what is ours, such as add_callback(): the script
 * calls it for us. */
static bool is_for_us(const struct tc_span *span)
{
    size_t n = span->args.n + (span->args.names ? (size_t)PyTuple_GET_SIZE(span->args.names) : 0);

    if (span->api->role != TC_ROLE_PACKAGE || !n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!tc_ours_is_all(span->args.items[i]))
            return false;
    return true;
}

static void open_span(struct tc_thread *thread, struct tc_span *span)
{
    bool traced = true;

    if (span->api->flags & TC_API_MODULE)
        traced = resolve_module(thread, span);
    thread->n_modules += span->is_counted;
    if (!traced || is_inner(thread, span) || is_for_us(span) || !tc_agent_ready())
        return;
    if (!tc_role_has(span->api->role, TC_TRAIT_APART))
        before(thread, span);
    span->id = tc_agent.next_call++;
    span->is_open = true;
    span->is_recorded = !tc_agent.is_skipped || tc_api_is_container(span->api);
    if (span->is_recorded)
        tc_record_call(thread, span);
    tc_steps_count_call(thread, span->api);
    enter_call(thread, span);
}

/* Inside of a root, is it a module of no interest? That is all there is to know of it. */
static bool is_passed_over(const struct tc_thread *thread, struct tc_span *span)
{
    const struct tc_class *class;

    if (!(span->api->flags & TC_API_MODULE) || thread->n_modules == 0)
        return false;
    class = tc_class_of(Py_TYPE(span->receiver));
    PyErr_Clear();
    return class && class->kind == TC_CLASS_MODULE && !class->layer && !class->forward;
}

/* It may still be one that holds variables and is no child of the root. */
static void pass_over(struct tc_thread *thread, const struct tc_span *span)
{
    PyObject *shield;

    if (!tc_agent.track || tc_agent.worker)
        return;
    shield = tc_tensor_shield();
    tc_roots_meet_called(thread, span->receiver);
    tc_tensor_unshield(shield);
    if (PyErr_Occurred())
        tc_agent_failed(NULL, "call");
}

void tc_call_begin(struct tc_thread *thread, struct tc_api *api, const struct tc_sig *sig,
                   const struct tc_arguments *args, struct tc_span *span)
{
    PyObject *shield;

    tc_agent.moment++;
    *span = (struct tc_span){.api = api, .args = *args};
    span->generation = tc_agent.generation;
    if (api->flags & TC_API_METHOD && args->n) {
        span->receiver = args->items[0];
        span->args.items++;
        span->args.n--;
    }
    if (is_passed_over(thread, span)) {
        pass_over(thread, span);
        return;
    }
    shield = tc_tensor_shield();
    span->sig = tc_sig_choose(sig, &span->args);
    open_span(thread, span);
    tc_tensor_unshield(shield);
    if (PyErr_Occurred())
        tc_agent_failed(api, "call");
}

/* ---- the end of a call ---- */

static bool has_looks(const struct tc_span *span)
{
    return span->is_root || span->api->role == TC_ROLE_ZERO_GRAD || span->api->flags & TC_API_LOOK;
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

static bool is_optimizers(const struct tc_span *span)
{
    return span->api->role == TC_ROLE_STEP || span->api->role == TC_ROLE_ZERO_GRAD;
}

static enum tc_look look_of(const struct tc_span *span)
{
    if (span->api->role == TC_ROLE_REPLAY)
        return TC_LOOK_REPLAY;
    return span->is_root ? TC_LOOK_FORWARD : TC_LOOK_QUICK;
}

static void look_after(struct tc_thread *thread, const struct tc_span *span)
{
    bool has_stepped = span->api->role == TC_ROLE_STEP;
    bool is_inside = is_optimizers(span) && thread->n_core > 1; /* of another than itself */

    if (is_inside)
        tc_variables_look_at_owned(thread, span->id, span->receiver, has_stepped);
    else if (has_stepped)
        tc_variables_look_after_step(thread, span->id, span->receiver);
    else if (has_looks(span))
        tc_variables_look(thread, span->id, look_of(span));
    if (has_stepped && is_inside)
        tc_settings_look_at(thread, span->id, span->receiver);
    else if (has_settings(span))
        tc_settings_look(thread, span->id, span->api->role == TC_ROLE_SCHEDULER);
}

static void pop(struct tc_thread *thread, const struct tc_span *span)
{
    while (thread->stack.n) {
        const struct tc_open_call *top = top_call(thread);
        bool is_mine = top->id == span->id;

        thread->n_core -= !tc_api_is_container(top->api);
        thread->stack.n--;
        if (is_mine)
            break;
    }
}

static void write_end(struct tc_thread *thread, const struct tc_span *span, PyObject *result,
                      PyObject *type, PyObject *value)
{
    look_after(thread, span);
    if (result)
        tc_record_return(thread, span, result);
    else
        tc_record_raise(thread, span, type, value);
}

/* It stands on no stack, and nothing is looked at. */
static void close_own(struct tc_thread *thread, const struct tc_span *span, PyObject *result,
                      PyObject *type, PyObject *value)
{
    span->api->is_running = false;
    if (span->is_recorded && result)
        tc_record_return(thread, span, result);
    else if (span->is_recorded)
        tc_record_raise(thread, span, type, value);
}

static void close_span(struct tc_thread *thread, struct tc_span *span, PyObject *result,
                       PyObject *type, PyObject *value)
{
    thread->n_modules -= span->is_counted;
    if (!span->is_open)
        return;
    if (tc_role_has(span->api->role, TC_TRAIT_APART)) {
        close_own(thread, span, result, type, value);
        return;
    }
    if (span->api->flags & TC_API_CHECKPOINT)
        thread->stage = span->stage_before;
    if (span->is_recorded)
        write_end(thread, span, result, type, value);
    pop(thread, span);
    if (span->is_held)
        tc_steps_data_end(result != NULL);
    if (span->api->role == TC_ROLE_STEP && result) {
        if (span->is_recorded)
            tc_params_stepped(span->receiver);
        tc_steps_after_step(thread, span->serial);
    }
}

void tc_call_end(struct tc_thread *thread, struct tc_span *span, PyObject *result)
{
    const bool has_raised = PyErr_Occurred() != NULL;
    PyObject *type = NULL, *value = NULL, *traceback = NULL, *shield;

    if (span->generation != tc_agent.generation)
        return; /* a forked child returns from a call of its parent */
    if (!span->is_open && !span->is_counted)
        return;
    tc_agent.moment++;
    if (has_raised)
        PyErr_Fetch(&type, &value, &traceback);
    shield = tc_tensor_shield();
    close_span(thread, span, result, type, value);
    tc_tensor_unshield(shield);
    if (PyErr_Occurred())
        tc_agent_failed(span->api, "return");
    if (has_raised)
        PyErr_Restore(type, value, traceback);
}
