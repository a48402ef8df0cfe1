/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_managers.c - when the context managers of one name were active, from their calls
 *
 * One is active from the return of its __enter__ to the call of its __exit__, if both were made on
 * the thread of its __init__.
 */
#include "python_tool/python_rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define PREFIX "meta_vars.context_managers."

static const char *const methods[] = {".__init__", ".__enter__", ".__exit__"};

enum method {
    METHOD_INIT,
    METHOD_ENTER,
    METHOD_EXIT,
};

bool tc_python_is_manager(struct tc_str field)
{
    size_t size = strlen(PREFIX);

    return field.size > size && !memcmp(field.text, PREFIX, size);
}

static struct tc_str method_of(struct tc_arena *arena, struct tc_str field, enum method method)
{
    size_t skipped = strlen(PREFIX), size = field.size - skipped, more = strlen(methods[method]);
    char *name = tc_arena_alloc(arena, size + more + 1);

    memcpy(name, field.text + skipped, size);
    memcpy(name + size, methods[method], more + 1);
    return (struct tc_str){name, (uint32_t)(size + more)};
}

void tc_python_managers_want(struct tc_python_trace *trace, struct tc_str field)
{
    for (unsigned i = METHOD_INIT; i <= METHOD_EXIT; i++)
        tc_python_trace_want_function(trace, method_of(&trace->arena, field, (enum method)i));
}

/* A call of one of the methods, at the moment that counts. */
struct mark {
    int64_t time;
    enum method method;
    const struct tc_python_call *call;
};

struct marks {
    TC_VEC(struct mark) items;
};

static void add_marks(struct tc_python_trace *trace, struct tc_str field, enum method method,
                      struct marks *out)
{
    const struct tc_python_function *function =
        tc_python_trace_function(trace, method_of(&trace->arena, field, method));

    for (size_t i = 0; function && i < function->calls.n; i++) {
        const struct tc_python_call *call = function->calls.items[i];
        bool is_enter = method == METHOD_ENTER;
        if (!is_enter || (call->has_post && !call->raised))
            tc_vec_push(&out->items,
                        ((struct mark){is_enter ? call->post.time : call->pre.time, method, call}));
    }
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

/* What is known of one object on one thread. */
struct object {
    const struct tc_python_call *init;
    bool is_entered;
    int64_t begin;
};

static struct object *object_of(struct tc_python_trace *trace, struct tc_map *objects,
                                const struct tc_python_record *record)
{
    const int64_t key[] = {tc_value_int(tc_value_get(record->line, "obj_id"), -1), record->process,
                           record->thread};
    bool is_new;
    uint64_t *slot = tc_map_at(objects, tc_hash64(key, sizeof(key), 0), &is_new);

    if (is_new)
        *slot = (uintptr_t)tc_arena_zalloc(&trace->arena, sizeof(struct object));
    return (struct object *)(uintptr_t)*slot;
}

static void follow_object(struct object *object, const struct mark *mark,
                          struct tc_python_managers *out)
{
    switch (mark->method) {
    case METHOD_INIT:
        *object = (struct object){.init = mark->call};
        break;
    case METHOD_ENTER:
        if (!object->init || object->is_entered)
            break;
        object->is_entered = true;
        object->begin = mark->time;
        break;
    case METHOD_EXIT:
        if (!object->is_entered)
            break;
        tc_vec_push(&out->items,
                    ((struct tc_python_manager){
                        .init = object->init, .begin = object->begin, .end = mark->time}));
        *object = (struct object){.init = NULL};
        break;
    }
}

static int compare_threads(const struct tc_python_record *a, const struct tc_python_record *b)
{
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static int compare_managers(const void *a, const void *b)
{
    const struct tc_python_manager *x = a, *y = b;
    int order = compare_threads(&x->init->pre, &y->init->pre);

    return order ? order : (x->begin > y->begin) - (x->begin < y->begin);
}

void tc_python_managers_find(struct tc_python_trace *trace, struct tc_str field,
                             struct tc_python_managers *out)
{
    struct tc_map objects = TC_MAP_INIT;
    struct marks marks = {0};

    for (unsigned i = METHOD_INIT; i <= METHOD_EXIT; i++)
        add_marks(trace, field, (enum method)i, &marks);
    if (marks.items.n)
        qsort(marks.items.items, marks.items.n, sizeof(*marks.items.items), compare_marks);
    for (size_t i = 0; i < marks.items.n; i++)
        follow_object(object_of(trace, &objects, &marks.items.items[i].call->pre),
                      &marks.items.items[i], out);
    if (out->items.n)
        qsort(out->items.items, out->items.n, sizeof(*out->items.items), compare_managers);
    for (size_t i = 0; i < out->items.n; i++) {
        struct tc_python_manager *m = &out->items.items[i];
        m->last_end = m->end;
        if (i && !compare_threads(&m[-1].init->pre, &m->init->pre) && m[-1].last_end > m->end)
            m->last_end = m[-1].last_end;
    }
    tc_vec_release(&marks.items);
    tc_map_release(&objects);
}

const struct tc_python_call *tc_python_managers_active(const struct tc_python_managers *managers,
                                                       const struct tc_python_record *at)
{
    size_t low = 0, high = managers->items.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct tc_python_manager *m = &managers->items.items[mid];
        int order = compare_threads(&m->init->pre, at);
        if (order < 0 || (!order && m->begin <= at->time))
            low = mid + 1;
        else
            high = mid;
    }
    while (low-- > 0) {
        const struct tc_python_manager *m = &managers->items.items[low];
        if (compare_threads(&m->init->pre, at) || m->last_end < at->time)
            break;
        if (m->end >= at->time)
            return m->init;
    }
    return NULL;
}
