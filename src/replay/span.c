/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c - open calls by id, their parents, and the heap that finds the innermost one
 *
 * Calls are used again when they are over, with their arenas. Values are borrowed from the batch
 * of records at first and copied by tc_spans_settle() only for calls that outlive it. A heap of
 * ids, emptied lazily, answers for the main thread, as its calls need not end in order when
 * records are lost.
 */
#include "replay/span.h"

#include <string.h>

#include "replay/symbols.h"

/* Calls around a call, at most: many look through them all. Of what is deeper the innermost ones
 * are left out. */
#define MAX_DEPTH 512

void tc_spans_init(struct tc_spans *spans, struct tc_strtab *symbols)
{
    *spans = (struct tc_spans){.symbols = symbols};
}

static void call_free(struct tc_call *call)
{
    tc_arena_release(&call->arena);
    tc_vec_release(&call->contents);
    tc_free(call);
}

void tc_spans_release(struct tc_spans *spans)
{
    struct tc_call *call;

    for (size_t pos = 0; (call = tc_map_next(&spans->open, &pos));)
        call_free(call);
    for (size_t i = 0; i < spans->spare.n; i++)
        call_free(spans->spare.items[i]);
    tc_vec_release(&spans->spare);
    tc_vec_release(&spans->borrowing);
    tc_vec_release(&spans->own);
    tc_vec_release(&spans->main);
    tc_map_release(&spans->open);
    tc_map_release(&spans->apis);
    tc_map_release(&spans->unread);
    tc_arena_release(&spans->arena);
}

static void copy_value(struct tc_arena *arena, struct tc_value *out, const struct tc_value *in)
{
    *out = *in;
    if (in->kind == TC_VALUE_STR) {
        out->text = tc_arena_text(arena, in->text, in->n);
    } else if (in->kind == TC_VALUE_ARRAY) {
        struct tc_value *items = tc_arena_alloc(arena, in->n * sizeof(*items));
        for (uint32_t i = 0; i < in->n; i++)
            copy_value(arena, &items[i], &in->items[i]);
        out->items = items;
    } else if (in->kind == TC_VALUE_OBJECT) {
        struct tc_member *members = tc_arena_alloc(arena, in->n * sizeof(*members));
        for (uint32_t i = 0; i < in->n; i++) {
            struct tc_str key = in->members[i].key;
            members[i].key = (struct tc_str){tc_arena_text(arena, key.text, key.size), key.size};
            copy_value(arena, &members[i].value, &in->members[i].value);
        }
        out->members = members;
    }
}

static const struct tc_value *keep_value(struct tc_arena *arena, const struct tc_value *value)
{
    if (!value)
        return NULL;
    struct tc_value *copy = tc_arena_alloc(arena, sizeof(*copy));
    copy_value(arena, copy, value);
    return copy;
}

static const int64_t *keep_serials(struct tc_arena *arena, const struct tc_value *array, size_t *n)
{
    *n = 0;
    if (!array || array->kind != TC_VALUE_ARRAY)
        return NULL;
    int64_t *serials = tc_arena_alloc(arena, array->n * sizeof(*serials) + 1);
    for (uint32_t i = 0; i < array->n; i++)
        if (array->items[i].kind == TC_VALUE_INT)
            serials[(*n)++] = array->items[i].integer;
    return serials;
}

static struct tc_call *call_new(struct tc_spans *spans)
{
    if (!spans->spare.n)
        return tc_calloc(1, sizeof(struct tc_call));
    struct tc_call *call = spans->spare.items[--spans->spare.n];
    struct tc_call blank = {.arena = call->arena};
    blank.contents.items = call->contents.items;
    blank.contents.cap = call->contents.cap;
    *call = blank;
    tc_arena_reset(&call->arena);
    return call;
}

void tc_spans_declare(struct tc_spans *spans, const struct tc_record *record)
{
    struct tc_declared_api *api = tc_arena_zalloc(&spans->arena, sizeof(*api));

    api->role = tc_role_parse(record->role);
    api->defaults = keep_value(&spans->arena, tc_value_get(record->object, "defaults"));
    tc_map_put(&spans->apis, tc_symbols_str(spans->symbols, record->fn), (uintptr_t)api);
}

void tc_spans_tell(struct tc_spans *spans, const struct tc_record *record)
{
    const struct tc_value *unread =
        keep_value(&spans->arena, tc_value_get(record->object, "unread"));

    spans->has_sources |= unread != NULL;
    for (uint32_t i = 0; unread && i < unread->n; i++)
        tc_map_put(&spans->unread, tc_symbols_str(spans->symbols, unread->members[i].key),
                   (uintptr_t)&unread->members[i].value);
}

/* Is it of others, so that nothing of the source is its own but the line that calls it? */
static bool is_of_others(enum tc_role role)
{
    return role == TC_ROLE_OPERATOR || role == TC_ROLE_FUNCTION || role == TC_ROLE_PACKAGE;
}

/* By the function, or by the class of what is called; of others by the line. */
static const struct tc_value *unread_by(const struct tc_spans *spans, const struct tc_call *call)
{
    static const struct tc_value nothing = {.kind = TC_VALUE_OBJECT};
    const struct tc_value *name = tc_value_get(call->self, "object"), *unread = NULL;

    if (!spans->has_sources)
        return NULL;
    if (is_of_others(call->role))
        unread = tc_map_find(&spans->unread, call->at);
    else if (call->role != TC_ROLE_FORWARD)
        unread = tc_map_find(&spans->unread, call->fn);
    else if (name && name->kind == TC_VALUE_STR)
        unread = tc_map_find(&spans->unread,
                             tc_symbols_str(spans->symbols, (struct tc_str){name->text, name->n}));
    return unread ? unread : &nothing;
}

static const struct tc_declared_api *api_of(const struct tc_spans *spans, tc_sym fn)
{
    static const struct tc_declared_api undeclared = {.role = TC_ROLE_FUNCTION};
    const struct tc_declared_api *api = tc_map_find(&spans->apis, fn);

    return api ? api : &undeclared;
}

struct tc_call *tc_spans_find(const struct tc_spans *spans, int64_t id)
{
    return id == TC_NONE ? NULL : tc_map_find(&spans->open, (uint64_t)id);
}

/* ---- the main thread's calls, the one with the highest id first ----------------------------- */

static void heap_push(struct tc_spans *spans, int64_t id)
{
    size_t i = spans->main.n;

    tc_vec_push(&spans->main, id);
    for (; i && spans->main.items[(i - 1) / 2] < id; i = (i - 1) / 2)
        spans->main.items[i] = spans->main.items[(i - 1) / 2];
    spans->main.items[i] = id;
}

static void heap_pop(struct tc_spans *spans)
{
    size_t n = --spans->main.n, i = 0;
    int64_t *ids = spans->main.items, last = ids[n];

    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        k += k + 1 < n && ids[k + 1] > ids[k];
        if (ids[k] <= last)
            break;
        ids[i] = ids[k];
    }
    ids[i] = last;
}

/* Those that have ended leave the heap when they come first, or when they are most of it. */
static void heap_enter(struct tc_spans *spans, const struct tc_call *call)
{
    const struct tc_call *open;

    if (call->th != 0 || tc_role_has(call->role, TC_TRAIT_APART))
        return; /* it is around no call */
    heap_push(spans, call->id);
    if (spans->main.n / 2 <= spans->open.n + MAX_DEPTH)
        return;
    spans->main.n = 0;
    for (size_t pos = 0; (open = tc_map_next(&spans->open, &pos));)
        if (open->th == 0)
            heap_push(spans, open->id);
}

struct tc_call *tc_spans_innermost(struct tc_spans *spans)
{
    while (spans->main.n) {
        struct tc_call *call = tc_spans_find(spans, spans->main.items[0]);
        if (call && call->th == 0)
            return call;
        heap_pop(spans);
    }
    return NULL;
}

/* The call itself is among the open ones by now, and no call is inside itself. */
static void enter_parent(const struct tc_spans *spans, struct tc_call *call, int64_t id)
{
    struct tc_call *parent = id == call->id ? NULL : tc_spans_find(spans, id);

    while (parent && parent->depth >= MAX_DEPTH)
        parent = parent->parent;
    call->parent = parent;
    call->depth = parent ? parent->depth + 1 : 0;
    if (parent)
        parent->n_open++;
}

struct tc_call *tc_spans_enter(struct tc_spans *spans, const struct tc_record *record)
{
    bool is_new;
    uint64_t *slot = tc_map_at(&spans->open, (uint64_t)record->id, &is_new);

    if (!is_new)
        return NULL;
    struct tc_call *call = call_new(spans);
    *slot = (uintptr_t)call;
    call->id = record->id;
    call->t = record->t;
    call->step = record->step;
    call->th = record->th == TC_NONE ? 0 : record->th;
    call->fn = tc_symbols_str(spans->symbols, record->fn);
    call->role = api_of(spans, call->fn)->role;
    call->defaults = api_of(spans, call->fn)->defaults;
    call->stage = tc_symbols_str(spans->symbols, record->stage);
    call->at = tc_symbols_str(spans->symbols, record->at);
    call->by = tc_symbols_str(spans->symbols, record->by);
    enter_parent(spans, call, record->parent);
    heap_enter(spans, call);
    if (call->role == TC_ROLE_OWN && !call->th)
        tc_vec_push(&spans->own, call);
    call->is_root = tc_value_is(tc_value_get(record->self, "role"), "root");
    call->descriptor = call->is_root ? TC_SYM_ROOT_FORWARD : call->fn;
    call->self = record->self;
    call->args = record->args;
    call->equal = record->equal;
    call->alias = record->alias;
    call->ctx = record->ctx;
    call->unread = unread_by(spans, call);
    call->params = keep_serials(&call->arena, record->params, &call->n_params);
    call->uncleared = keep_serials(&call->arena, record->uncleared, &call->n_uncleared);
    call->grads = call->frozen = TC_SYM_NONE;
    call->member = SIZE_MAX;
    tc_vec_push(&spans->borrowing, call);
    return call;
}

void tc_spans_settle(struct tc_spans *spans)
{
    for (size_t i = 0; i < spans->borrowing.n; i++) {
        struct tc_call *call = spans->borrowing.items[i];

        call->self = keep_value(&call->arena, call->self);
        call->args = keep_value(&call->arena, call->args);
        call->equal = keep_value(&call->arena, call->equal);
        call->alias = keep_value(&call->arena, call->alias);
        call->ctx = keep_value(&call->arena, call->ctx);
    }
    spans->borrowing.n = 0;
}

const struct tc_call *tc_spans_own(const struct tc_spans *spans)
{
    return spans->own.n ? spans->own.items[spans->own.n - 1] : NULL;
}

/* Nearly always the last one. */
static void leave_own(struct tc_spans *spans, const struct tc_call *call)
{
    for (size_t i = spans->own.n; i-- > 0;) {
        if (spans->own.items[i] != call)
            continue;
        memmove(&spans->own.items[i], &spans->own.items[i + 1],
                (--spans->own.n - i) * sizeof(*spans->own.items));
        return;
    }
}

static void stop_borrowing(struct tc_spans *spans, const struct tc_call *call)
{
    for (size_t i = spans->borrowing.n; i-- > 0;) {
        if (spans->borrowing.items[i] != call)
            continue;
        memmove(&spans->borrowing.items[i], &spans->borrowing.items[i + 1],
                (--spans->borrowing.n - i) * sizeof(*spans->borrowing.items));
        return;
    }
}

static size_t atom_place(const struct tc_call *call, tc_atom atom)
{
    size_t low = 0, high = call->contents.n;

    while (low < high) {
        size_t mid = (low + high) / 2;
        if (call->contents.items[mid] < atom)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void tc_call_add_atom(struct tc_call *call, tc_atom atom)
{
    size_t i = atom_place(call, atom);

    if (i < call->contents.n && call->contents.items[i] == atom)
        return;
    tc_vec_push(&call->contents, atom);
    memmove(&call->contents.items[i + 1], &call->contents.items[i],
            (call->contents.n - 1 - i) * sizeof(atom));
    call->contents.items[i] = atom;
}

/* A call as an atom of what encloses it: only what means something in a training loop. */
static tc_atom call_atom(struct tc_spans *spans, const struct tc_call *call)
{
    if (!call->is_root && !tc_role_has(call->role, TC_TRAIT_SUBJECT))
        return TC_NO_SYM;
    return TC_ATOM(spans->symbols, TC_SYM_CALL, tc_symbols_role(spans->symbols, call->role),
                   call->descriptor);
}

/* A call may end before what is inside it when records were lost: forget dangling parents. */
static void orphan_children(struct tc_spans *spans, const struct tc_call *parent)
{
    struct tc_call *call;

    for (size_t pos = 0; (call = tc_map_next(&spans->open, &pos));)
        if (call->parent == parent)
            call->parent = NULL;
}

void tc_spans_leave(struct tc_spans *spans, struct tc_call *call)
{
    if (call->parent) {
        call->parent->n_open--;
        call->parent->has_step |= call->has_step || call->role == TC_ROLE_STEP;
        tc_atom atom = call->raised ? TC_NO_SYM : call_atom(spans, call);
        if (atom != TC_NO_SYM)
            tc_call_add_atom(call->parent, atom);
        for (size_t i = 0; i < call->contents.n; i++)
            tc_call_add_atom(call->parent, call->contents.items[i]);
    }
    tc_map_remove(&spans->open, (uint64_t)call->id);
    if (spans->main.n && spans->main.items[0] == call->id)
        heap_pop(spans);
    stop_borrowing(spans, call);
    if (call->role == TC_ROLE_OWN)
        leave_own(spans, call);
    if (call->n_open)
        orphan_children(spans, call);
    tc_vec_push(&spans->spare, call);
}
