/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_calls.c - open calls of each thread as a stack, found by the tool's own id
 *
 * A call whose end comes takes with it what was called inside of it and never ended. An API inside
 * of itself is part of the outer call. What is private to torch, or no API of the table and not
 * the user's, becomes no call but still stands on the stack.
 */
#include "import/open_calls.h"

#include <string.h>

#include "base/hash.h"
#include "import/typed_value.h"

static bool ends_with(struct tc_str text, const char *suffix)
{
    size_t size = strlen(suffix);

    return text.size >= size && !memcmp(text.text + text.size - size, suffix, size);
}

static bool starts_with(struct tc_str text, const char *prefix)
{
    size_t size = strlen(prefix);

    return text.size >= size && !memcmp(text.text, prefix, size);
}

/* A component that begins with an underscore, other than the script's own module. */
static bool is_private(struct tc_str name)
{
    if (starts_with(name, "__main__.") || starts_with(name, "__mp_main__."))
        name = (struct tc_str){name.text + 9, name.size - 9};
    for (uint32_t i = 0; i < name.size; i++)
        if (name.text[i] == '_' && (i == 0 || name.text[i - 1] == '.'))
            return true;
    return memchr(name.text, '<', name.size) != NULL;
}

bool tc_import_api_of(const struct tc_torch_apis *apis, const struct tc_value *line,
                      struct tc_import_api *out)
{
    struct tc_str name = tc_value_str(tc_value_get(line, "function"));
    const struct tc_torch_api *known = tc_torch_apis_find(apis, name);

    *out = (struct tc_import_api){.fn = name, .role = tc_str_of("function"), .known = known};
    if (known) {
        out->fn = known->fn;
        out->role = known->role;
        out->is_method = tc_str_is(tc_torch_api_param(known, 0), "self");
        return known->fn.size > 0;
    }
    if (starts_with(name, "torch.") || is_private(name))
        return false;
    if (ends_with(name, ".forward")) {
        out->fn = tc_str_of("torch.nn.Module.__call__");
        out->role = tc_str_of("forward");
        out->is_method = true;
    }
    return true;
}

void tc_import_calls_release(struct tc_import_calls *calls)
{
    for (size_t i = 0; i < calls->threads.n; i++)
        tc_vec_release(&calls->threads.items[i].open);
    tc_vec_release(&calls->threads);
    tc_map_release(&calls->open);
}

static size_t thread_number(struct tc_import_calls *calls, int64_t thread)
{
    size_t i = 0;

    while (i < calls->threads.n && calls->threads.items[i].thread != thread)
        i++;
    if (i == calls->threads.n)
        tc_vec_push(&calls->threads, (struct tc_import_thread){.thread = thread});
    return i;
}

bool tc_import_calls_is_main(struct tc_import_calls *calls, const struct tc_python_line *line)
{
    return thread_number(calls, line->thread) == 0;
}

static uint64_t key_of_thread_call(const struct tc_python_line *line)
{
    struct tc_str id = tc_value_str(tc_value_get(line->object, "func_call_id"));

    return tc_hash64(id.text, id.size, 0);
}

static const struct tc_import_call *innermost(const struct tc_import_thread *thread)
{
    for (size_t i = thread->open.n; i-- > 0;)
        if (thread->open.items[i].id != TC_NONE)
            return &thread->open.items[i];
    return NULL;
}

/* An API that recurses into itself is one call, as the collector has it. */
static bool is_recursion(const struct tc_import_thread *thread, uint64_t fn, bool is_forward)
{
    for (size_t i = 0; i < thread->open.n && !is_forward; i++)
        if (thread->open.items[i].fn == fn)
            return true;
    return false;
}

static bool is_inside_forward(const struct tc_import_thread *thread)
{
    for (size_t i = 0; i < thread->open.n; i++)
        if (thread->open.items[i].is_forward)
            return true;
    return false;
}

struct tc_import_call *tc_import_calls_enter(struct tc_import_calls *calls,
                                             const struct tc_python_line *line,
                                             const struct tc_import_api *api)
{
    size_t number = thread_number(calls, line->thread);
    struct tc_import_thread *thread = &calls->threads.items[number];
    struct tc_import_call call = {
        .key = key_of_thread_call(line), .id = TC_NONE, .parent = TC_NONE};
    bool is_new;
    uint64_t *slot = tc_map_at(&calls->open, call.key, &is_new);

    if (!is_new)
        return NULL;
    *slot = number;
    call.thread = (int64_t)number;
    if (api) {
        uint64_t fn = tc_hash64(api->fn.text, api->fn.size, 0);
        const struct tc_import_call *around = innermost(thread);
        bool is_forward = tc_str_is(api->role, "forward");
        if (!is_recursion(thread, fn, is_forward)) {
            call.id = calls->n_calls++;
            call.parent = around ? around->id : TC_NONE;
            call.fn = fn;
            call.is_forward = is_forward;
            call.is_root = is_forward && !is_inside_forward(thread);
            call.is_step = tc_str_is(api->role, "step");
            calls->n_steps_open += call.is_step && number == 0;
        }
    }
    tc_vec_push(&thread->open, call);
    return &thread->open.items[thread->open.n - 1];
}

static void forget(struct tc_import_calls *calls, const struct tc_import_call *call)
{
    tc_map_remove(&calls->open, call->key);
    calls->n_steps_open -= call->is_step && call->thread == 0;
}

bool tc_import_calls_leave(struct tc_import_calls *calls, const struct tc_python_line *line,
                           struct tc_import_call *out)
{
    uint64_t key = key_of_thread_call(line), number;

    *out = (struct tc_import_call){.id = TC_NONE, .parent = TC_NONE};
    if (!tc_map_get(&calls->open, key, &number))
        return false;
    struct tc_import_thread *thread = &calls->threads.items[number];
    /* What was called inside and never ended was lost. */
    do {
        *out = thread->open.items[--thread->open.n];
        forget(calls, out);
    } while (out->key != key);
    return true;
}

int64_t tc_import_calls_innermost(struct tc_import_calls *calls, int64_t thread)
{
    const struct tc_import_call *call =
        innermost(&calls->threads.items[thread_number(calls, thread)]);

    return call ? call->id : TC_NONE;
}
