/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand.c - the source of statements: each kind of call read once, looked up by a fingerprint
 *
 * A fingerprint leaves out identities and contents, on which no statement depends; equal ones
 * share a reading, which has the outcome and what the situation needs. Beside that the source
 * knows which layers have a mode of their own and which models are only asked. Readings are
 * dropped together when there are MAX_KEPT.
 */
#include "relation/operand.h"

#include <string.h>

#include "base/hash.h"
#include "relation/asked_again.h"
#include "relation/form.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* ---- statements ---------------------------------------------------------------------------- */

const char *tc_path_part_text(enum tc_path_part part)
{
    static const char *const texts[TC_PART_OF_MATRIX + 1] = {
        [TC_PART_CONTENT] = ".content",      [TC_PART_SHAPE] = ".shape",
        [TC_PART_SHAPE_FIRST] = ".shape[0]", [TC_PART_SHAPE_LAST] = ".shape[-1]",
        [TC_PART_DTYPE] = ".dtype",
    };

    return texts[part];
}

static const struct {
    const char *prefix;
    enum tc_path_root root;
} roots[] = {
    {"args.",     TC_PATH_ARGUMENT},
    {"self.",     TC_PATH_SETTING },
    {"value",     TC_PATH_RESULT  },
    {"len(value", TC_PATH_LENGTH  },
};

static const struct tc_operand_whole wholes[] = {
#define X(name, path, claimed, held, broken) {TC_PATH_##name, path, claimed, held, broken},
    TC_OPERAND_WHOLE_MAP(X)
#undef X
};

const struct tc_operand_whole *tc_operand_whole(enum tc_path_root root)
{
    for (size_t i = 0; i < sizeof(wholes) / sizeof(*wholes); i++)
        if (wholes[i].root == root)
            return &wholes[i];
    return NULL;
}

static void read_root(struct tc_path *path)
{
    path->name = path->owner;
    for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
        const uint32_t n = (uint32_t)strlen(roots[i].prefix);
        if (path->owner.size < n || memcmp(path->owner.text, roots[i].prefix, n) != 0)
            continue;
        path->root = roots[i].root;
        path->name = (struct tc_str){path->owner.text + n, path->owner.size - n};
    }
    for (size_t i = 0; i < sizeof(wholes) / sizeof(*wholes); i++)
        if (tc_str_is(path->owner, wholes[i].path))
            path->root = wholes[i].root;
}

/* Of "args.dtype" dtype is no part, but the operand. */
static void read_part(struct tc_path *path)
{
    for (enum tc_path_part part = TC_PART_CONTENT; part <= TC_PART_OF_MATRIX; part++) {
        const char *text = part == TC_PART_OF_MATRIX ? TC_PART_MATRIX : tc_path_part_text(part);
        const uint32_t n = (uint32_t)strlen(text);
        if (path->owner.size <= n || (path->root != TC_PATH_OTHER && path->name.size < n) ||
            memcmp(path->owner.text + path->owner.size - n, text, n) != 0)
            continue;
        path->part = part;
        path->owner.size -= n;
        path->name.size -= n;
        return;
    }
}

struct tc_path tc_path_read(const struct tc_strtab *symbols, tc_sym sym)
{
    struct tc_path path = {.sym = sym, .owner = tc_symbols_text(symbols, sym)};

    read_root(&path);
    read_part(&path);
    return path;
}

bool tc_statement_read(struct tc_strtab *symbols, tc_sym sym, struct tc_statement *out)
{
    tc_sym words[3];

    if (!tc_strtab_split(symbols, sym, words, 3))
        return false;
    *out = (struct tc_statement){
        .sym = sym, .left = tc_path_read(symbols, words[0]), .verb = words[1], .right = words[2]};
    return true;
}

tc_sym tc_statement_contrary(tc_sym verb)
{
    return verb == TC_SYM_EQUALS     ? TC_SYM_DIFFERS_FROM
           : verb == TC_SYM_AT_MOST  ? TC_SYM_EXCEEDS
           : verb == TC_SYM_AT_LEAST ? TC_SYM_BELOW
                                     : TC_NO_SYM;
}

/* ---- equal calls are read once ------------------------------------------------------------- */

/* What was read of a call; the same for every call with the same fingerprint. */
struct reading_kept {
    struct tc_situation situation;
    tc_sym *outcome;
    size_t n_outcome;
    tc_excuses excuses;
};

struct operand_state {
    struct tc_arena arena;
    struct tc_map kept;        /* fingerprint → struct reading_kept * */
    struct tc_map set_by_hand; /* (process, module) whose own mode the script has set */
    struct tc_map trained; /* (process, model) that was asked with gradients, in training mode */
    struct tc_map told;    /* (process, tensor) that such a model gave without */
    struct tc_asked_again asked;
};

/* Readings grow with the kinds of calls, not with the length of a run; if a run has ever new ones,
 * start over. */
#define MAX_KEPT 65536

static void operand_release(void *state)
{
    struct operand_state *s = state;

    tc_map_release(&s->kept);
    tc_map_release(&s->set_by_hand);
    tc_map_release(&s->trained);
    tc_map_release(&s->told);
    tc_asked_again_release(&s->asked);
    tc_arena_release(&s->arena);
}

static bool is_key(struct tc_str key, const char *text, size_t size)
{
    return key.size == size && !memcmp(key.text, text, size);
}

/* What docs/trace-format.md, "Content", adds to a tensor. */
static bool is_content(struct tc_str key)
{
    switch (key.size) {
    case 4:
        return is_key(key, "rows", 4);
    case 5:
        return is_key(key, "stats", 5) || is_key(key, "value", 5) || is_key(key, "range", 5) ||
               is_key(key, "scale", 5);
    case 6:
        return is_key(key, "digest", 6) || is_key(key, "sketch", 6);
    case 7:
        return is_key(key, "summary", 7);
    case 8:
        return is_key(key, "constant", 8);
    default:
        return false;
    }
}

/* Identities and contents are no part of a reading. */
static uint64_t mix_members(uint64_t h, const struct tc_value *v)
{
    bool is_tensor =
        v->n && (is_key(v->members[0].key, "tensor", 6) || is_key(v->members[0].key, "array", 5));
    uint64_t n = 0;

    for (uint32_t i = 0; i < v->n; i++) {
        struct tc_str key = v->members[i].key;
        if (is_key(key, "id", 2) || (is_tensor && is_content(key)))
            continue;
        h = tc_operand_mix(tc_hash_mix_text(h, key.text, key.size), &v->members[i].value);
        n++;
    }
    return tc_hash_mix(h, n, 0); /* where the object ends */
}

uint64_t tc_operand_mix(uint64_t h, const struct tc_value *v)
{
    if (!v)
        return tc_hash_mix(h, 7, 7);
    switch (v->kind) {
    case TC_VALUE_NULL:
        return tc_hash_mix(h, v->kind, 0);
    case TC_VALUE_BOOL:
        return tc_hash_mix(h, v->kind, v->boolean);
    case TC_VALUE_INT:
    case TC_VALUE_FLOAT:
        return tc_hash_mix(h, v->kind, (uint64_t)v->integer); /* a double's bits just as well */
    case TC_VALUE_STR:
        return tc_hash_mix_text(h ^ v->kind, v->text, v->n);
    case TC_VALUE_ARRAY:
        h = tc_hash_mix(h, v->kind, v->n);
        for (uint32_t i = 0; i < v->n; i++)
            h = tc_operand_mix(h, &v->items[i]);
        return h;
    case TC_VALUE_OBJECT:
        return mix_members(tc_hash_mix(h, v->kind, 0), v);
    }
    return h;
}

/* Everything that a reading and the situation look at. */
static uint64_t fingerprint(const struct tc_event *event)
{
    static const char *const contexts[] = {"grad", "inference", "autocast"};
    const struct tc_call *call = event->call;
    const struct tc_value *owner = tc_operand_owner_training(call);
    uint64_t flags = call->after | (uint64_t)call->is_root << 8 |
                     (uint64_t)(call->n_params > 0) << 9 |
                     (uint64_t)(uint8_t)call->end->finite << 16 |
                     (uint64_t)tc_operand_may_be_infinite(call) << 24;
    uint64_t h = tc_hash_mix(flags, call->descriptor, (uint64_t)call->role << 32 | call->stage);

    if (call->parent)
        h = tc_hash_mix(h, call->parent->descriptor, call->parent->role);
    h = tc_hash_mix(h, (uint64_t)call->grads << 32 | call->frozen, (uintptr_t)event->process);
    h = tc_hash_mix(h, (uint64_t)event->process->world, call->parent != NULL);
    h = tc_operand_mix(h, owner);
    h = tc_operand_mix(h, call->self);
    h = tc_operand_mix(h, call->args);
    for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
        h = tc_operand_mix(h, tc_value_get(call->ctx, contexts[i]));
    h = tc_operand_mix(h, call->end->value);
    h = tc_operand_mix(h, call->end->same);
    for (size_t i = 0; call->role == TC_ROLE_STEP && i < call->contents.n; i++)
        h = tc_hash_mix(h, call->contents.items[i], 0);
    return h;
}

static struct reading_kept *read_call(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_event *event)
{
    struct reading_kept *kept = tc_arena_alloc(arena, sizeof(*kept));
    tc_sym said[TC_MAX_STATEMENTS];

    kept->n_outcome = tc_operand_read(symbols, event->call, said);
    const enum tc_excuse excuse = tc_operand_may_be_infinite(event->call);
    kept->excuses = excuse ? TC_EXCUSE_BIT(excuse) : 0;
    kept->outcome = tc_arena_copy(arena, said, kept->n_outcome * sizeof(*said));
    tc_situation_of_call(&kept->situation, symbols, event->process, event->call, true);
    tc_situation_sort(&kept->situation);
    return kept;
}

static const struct reading_kept *reading_of(struct operand_state *s, struct tc_strtab *symbols,
                                             const struct tc_event *event)
{
    bool is_new;

    if (s->kept.n >= MAX_KEPT) {
        tc_map_clear(&s->kept);
        tc_arena_reset(&s->arena);
    }
    uint64_t *slot = tc_map_at(&s->kept, fingerprint(event), &is_new);
    if (is_new)
        *slot = (uintptr_t)read_call(&s->arena, symbols, event);
    return (const struct reading_kept *)(uintptr_t)*slot;
}

/* ---- layers with a mode of their own ------------------------------------------------------- */

static uint64_t object_of(const struct tc_event *event, const struct tc_value *object)
{
    const int64_t who[] = {(int64_t)(uintptr_t)event->process,
                           tc_value_int(tc_value_get(object, "id"), TC_NONE)};

    return tc_hash64(who, sizeof(who), 0);
}

static uint64_t receiver_of(const struct tc_event *event, const struct tc_call *call)
{
    return object_of(event, call->self);
}

/* Is it part of a layer which the script itself gave another mode than the model has? Monte Carlo
 * dropout does so: layer.train() after model.eval(). The mode is then as it is meant. */
static bool is_set_apart(const struct operand_state *s, const struct tc_event *event)
{
    const struct tc_call *layer = event->call, *root = tc_root_around(event->call);
    uint64_t ignored;

    while (layer && layer->role != TC_ROLE_LAYER)
        layer = layer->parent;
    return layer && tc_call_is_training(layer) != tc_call_is_training(root) &&
           tc_map_get(&s->set_by_hand, receiver_of(event, layer), &ignored);
}

/* ---- answers that are told ------------------------------------------------------------------ */

/* A model that trains is asked without gradients to tell how good it is. A teacher is asked so to
 * be learned from: it never trains. What is computed in evaluation needs no excuse, as a
 * precondition tells it. */
static void note_answer(struct operand_state *s, const struct tc_event *event)
{
    const struct tc_value *value = event->call->end->value;
    uint64_t ignored;

    if (tc_is_training_forward(event->call))
        tc_map_put(&s->trained, receiver_of(event, event->call), 1);
    if (!tc_is_tensor(value) || !tc_value_get(event->call->ctx, "grad") ||
        !tc_map_get(&s->trained, receiver_of(event, event->call), &ignored))
        return;
    tc_map_remember(&s->told, MAX_KEPT, object_of(event, value), 1);
}

/* Was a model asked last without gradients, and none with them in this step? It evaluates so far,
 * in whatever mode. */
static bool evaluates(const struct tc_call *call)
{
    return (call->after & (TC_PHASE_NO_GRAPH | TC_PHASE_GRAPH)) == TC_PHASE_NO_GRAPH;
}

static bool is_event_told(const struct operand_state *s, const struct tc_event *event)
{
    const struct tc_value *operand = tc_call_next_tensor(event->call, &(uint32_t){0});
    uint64_t ignored;

    if (!operand || event->call->stage != TC_SYM_TRAINING)
        return false;
    return evaluates(event->call) ||
           (s->told.n && tc_map_get(&s->told, object_of(event, operand), &ignored));
}

/* The outcome without that nothing in it has a gradient; returns how many are left. */
static size_t leave_out_gradients(struct tc_strtab *symbols, const struct reading_kept *kept,
                                  tc_sym out[TC_MAX_STATEMENTS])
{
    const tc_sym path =
        tc_strtab_intern_text(symbols, tc_operand_whole(TC_PATH_SOME_GRADIENT)->path);
    const tc_sym left_out = TC_ATOM(symbols, path, TC_SYM_IS, TC_SYM_FALSE);
    size_t n = 0;

    for (size_t i = 0; i < kept->n_outcome; i++)
        if (kept->outcome[i] != left_out)
            out[n++] = kept->outcome[i];
    return n;
}

/* A dropout of a teacher, as of any of its modules, may drop. */
static bool is_by_a_teacher(struct operand_state *s, const struct tc_event *event)
{
    const struct tc_value *training = tc_value_get(event->call->args, "training");
    const bool is_dropping =
        training ? tc_value_is_true(training) : tc_call_is_training(event->call);

    return is_dropping && tc_is_of_a_teacher(&s->asked, event);
}

/* Why nothing is stated of the call. */
static enum tc_excuse excuse_of(struct operand_state *s, const struct tc_event *event)
{
    tc_asked_again_note(&s->asked, event);
    if (event->call->role == TC_ROLE_MODE && !event->call->parent)
        tc_map_put(&s->set_by_hand, receiver_of(event, event->call), 1);
    return is_set_apart(s, event)                ? TC_EXCUSE_SET_APART
           : tc_is_asked_again(&s->asked, event) ? TC_EXCUSE_ASKED_AGAIN
           : is_by_a_teacher(s, event)           ? TC_EXCUSE_TEACHER
                                                 : TC_EXCUSE_NONE;
}

static void observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    struct operand_state *s = state;
    tc_sym told[TC_MAX_STATEMENTS];
    enum tc_excuse excuse;

    if (event->kind != TC_EVENT_CALL || event->call->raised || event->process->is_worker)
        return;
    if ((excuse = excuse_of(s, event))) {
        tc_sink_excuse(sink, event->call->descriptor, excuse);
        return;
    }
    const struct reading_kept *kept = reading_of(s, symbols, event);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &kept->situation,
                                 .outcome = kept->outcome,
                                 .n_outcome = kept->n_outcome,
                                 .excuses = kept->excuses};
    if (is_event_told(s, event)) {
        example.n_outcome = leave_out_gradients(symbols, kept, told);
        example.outcome = told;
        if (example.n_outcome < kept->n_outcome)
            example.excuses |= TC_EXCUSE_BIT(TC_EXCUSE_WITHOUT_GRAD);
    }
    sink->example(sink->context, event, &example);
    if (event->call->is_root)
        note_answer(s, event);
}

const struct tc_source tc_source_operands = {
    .name = "operands",
    .judged = "the return of a call",
    .is_set = true,
    .state_size = sizeof(struct operand_state),
    .release = operand_release,
    .observe = observe,
    .condense = tc_operand_condense,
};
