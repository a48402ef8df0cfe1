/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.c - managers as they are built, entered and left, by the address that the tool records
 *
 * A manager is known from __init__, where its arguments are, and is on between __enter__ and
 * __exit__ on its thread. The list is short and searched from its end. Arguments are found by name
 * or by the place that the signature gives.
 */
#include "import/context.h"

#include <string.h>

#include "import/typed_value.h"

/* Managers that were built and never entered are forgotten, oldest first. */
#define MAX_MANAGERS 64

/* Classes by their last name: torch has moved them about. */
static const struct {
    const char *name;
    enum tc_import_mode mode;
} classes[] = {
    {"no_grad",        TC_MODE_NO_GRAD  },
    {"inference_mode", TC_MODE_INFERENCE},
    {"autocast",       TC_MODE_AUTOCAST },
};

void tc_import_contexts_release(struct tc_import_contexts *contexts)
{
    tc_vec_release(&contexts->managers);
}

/* "torch.amp.autocast_mode.autocast.__enter__" has the class autocast and the method __enter__. */
static bool split(struct tc_str function, struct tc_str *cls, struct tc_str *method)
{
    uint32_t dots[2] = {0, 0};
    unsigned n = 0;

    for (uint32_t i = function.size; i-- > 0 && n < 2;)
        if (function.text[i] == '.')
            dots[n++] = i;
    if (n < 2)
        return false;
    *method = (struct tc_str){function.text + dots[0] + 1, function.size - dots[0] - 1};
    *cls = (struct tc_str){function.text + dots[1] + 1, dots[0] - dots[1] - 1};
    return true;
}

static bool mode_of(struct tc_str cls, enum tc_import_mode *out)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        if (tc_str_is(cls, classes[i].name)) {
            *out = classes[i].mode;
            return true;
        }
    }
    return false;
}

/* The payload of an argument of the line, by name or by its place in the signature. */
static const struct tc_value *argument(const struct tc_torch_apis *apis,
                                       const struct tc_value *line, const char *name)
{
    const struct tc_torch_api *api =
        tc_torch_apis_find(apis, tc_value_str(tc_value_get(line, "function")));
    const struct tc_value *typed = tc_value_get(tc_value_get(line, "kwargs"), name);
    char position[2] = "0";

    for (size_t i = 1; !typed && api && i < 9; i++) {
        position[0] = (char)('0' + i);
        if (tc_str_is(tc_torch_api_param(api, i), name))
            typed = tc_value_get(tc_value_get(line, "args"), position);
    }
    const struct tc_member *member = tc_python_typed(typed);
    return member ? &member->value : NULL;
}

static void keep_text(char out[16], struct tc_str text, const char *fallback)
{
    const char *from = text.text ? text.text : fallback;
    size_t size = text.text ? text.size : strlen(fallback);

    if (size > 15)
        size = 15;
    memcpy(out, from, size);
    out[size] = '\0';
}

static void drop(struct tc_import_contexts *contexts, size_t i)
{
    struct tc_import_manager *items = contexts->managers.items;

    memmove(&items[i], &items[i + 1], (--contexts->managers.n - i) * sizeof(*items));
}

static struct tc_import_manager *find_manager(struct tc_import_contexts *contexts, int64_t object)
{
    for (size_t i = contexts->managers.n; i-- > 0;)
        if (contexts->managers.items[i].object == object)
            return &contexts->managers.items[i];
    return NULL;
}

static struct tc_import_manager *build(struct tc_import_contexts *contexts,
                                       const struct tc_torch_apis *apis,
                                       const struct tc_python_line *line, int64_t object,
                                       enum tc_import_mode mode)
{
    struct tc_import_manager manager = {
        .object = object, .thread = line->thread, .mode = mode, .is_enabled = true};
    const struct tc_value *enabled = argument(apis, line->object, "enabled");
    struct tc_value dtype;

    if (!enabled)
        enabled = argument(apis, line->object, "mode");
    if (enabled && enabled->kind == TC_VALUE_BOOL)
        manager.is_enabled = enabled->boolean;
    dtype = tc_python_dtype(argument(apis, line->object, "dtype"));
    keep_text(manager.dtype, tc_value_str(&dtype), "default");
    keep_text(manager.device, tc_value_str(argument(apis, line->object, "device_type")), "cuda");
    if (contexts->managers.n == MAX_MANAGERS)
        drop(contexts, 0);
    tc_vec_push(&contexts->managers, manager);
    return &contexts->managers.items[contexts->managers.n - 1];
}

void tc_import_contexts_follow(struct tc_import_contexts *contexts,
                               const struct tc_torch_apis *apis, const struct tc_python_line *line)
{
    struct tc_str cls, method;
    int64_t object = tc_value_int(tc_value_get(line->object, "obj_id"), TC_NONE);
    bool is_pre = tc_str_is(line->type, "function_call (pre)");
    enum tc_import_mode mode;

    if (object == TC_NONE ||
        !split(tc_value_str(tc_value_get(line->object, "function")), &cls, &method) ||
        !mode_of(cls, &mode))
        return;
    struct tc_import_manager *manager = find_manager(contexts, object);
    if (is_pre && tc_str_is(method, "__init__")) {
        build(contexts, apis, line, object, mode);
    } else if (tc_str_is(line->type, "function_call (post)") && tc_str_is(method, "__enter__")) {
        manager = manager ? manager : build(contexts, apis, line, object, mode);
        manager->thread = line->thread;
        manager->is_on = true;
    } else if (is_pre && tc_str_is(method, "__exit__") && manager) {
        drop(contexts, (size_t)(manager - contexts->managers.items));
    }
}

const struct tc_value *tc_import_contexts_of(const struct tc_import_contexts *contexts,
                                             int64_t thread, struct tc_arena *arena)
{
    bool is_on[3] = {false, false, false};
    struct tc_object_maker ctx, autocast;

    if (!contexts->managers.n)
        return NULL;
    tc_make_object(&ctx, arena, 3);
    tc_make_object(&autocast, arena, (uint32_t)contexts->managers.n);
    for (size_t i = 0; i < contexts->managers.n; i++) {
        const struct tc_import_manager *m = &contexts->managers.items[i];
        if (!m->is_on || !m->is_enabled || m->thread != thread)
            continue;
        is_on[m->mode] = true;
        if (m->mode == TC_MODE_AUTOCAST)
            tc_make_member(
                &autocast, tc_str_of(tc_arena_text(arena, m->device, strlen(m->device))),
                tc_value_of_str(tc_str_of(tc_arena_text(arena, m->dtype, strlen(m->dtype)))));
    }
    if (is_on[TC_MODE_NO_GRAD])
        tc_make_value(&ctx, "grad", (struct tc_value){.kind = TC_VALUE_BOOL, .boolean = false});
    if (is_on[TC_MODE_INFERENCE])
        tc_make_value(&ctx, "inference", (struct tc_value){.kind = TC_VALUE_BOOL, .boolean = true});
    if (is_on[TC_MODE_AUTOCAST])
        tc_make_value(&ctx, "autocast", tc_made(&autocast));
    return ctx.n ? tc_value_place(arena, tc_made(&ctx)) : NULL;
}
