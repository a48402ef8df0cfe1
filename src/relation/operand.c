#include "relation/operand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/hash.h"
#include "relation/operand_form.h"
#include "replay/symbols.h"

/* ---- statements ---------------------------------------------------------------------------- */

bool tc_statement_split(const struct tc_strtab *symbols, tc_sym sym, struct tc_statement *out)
{
    const char *text = tc_strtab_text(symbols, sym);
    const char *first = strchr(text, ' ');
    const char *second = first ? strchr(first + 1, ' ') : NULL;

    if (!second)
        return false;
    out->left = (struct tc_str){text, (uint32_t)(first - text)};
    out->verb = (struct tc_str){first + 1, (uint32_t)(second - first - 1)};
    out->right = (struct tc_str){second + 1, (uint32_t)strlen(second + 1)};
    return true;
}

tc_sym tc_statement_intern(struct tc_strtab *symbols, const char *left, const char *verb,
                           const char *right)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s %s %s", left, verb, right);
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

/* ---- operands of one call ------------------------------------------------------------------ */

#define MAX_STATEMENTS 160
#define MAX_TENSORS    6
#define MAX_PATH       64

struct tensor {
    char path[MAX_PATH];
    const struct tc_value *value, *shape;
    struct tc_str dtype;
};

struct reading {
    struct tc_strtab *symbols;
    const struct tc_call *call;
    struct tensor tensors[MAX_TENSORS];
    size_t n_tensors;
    tc_sym out[MAX_STATEMENTS];
    size_t n_out;
};

static void state(struct reading *r, const char *left, const char *verb, const char *right)
{
    if (r->n_out < MAX_STATEMENTS)
        r->out[r->n_out++] = tc_statement_intern(r->symbols, left, verb, right);
}

static void state_equal(struct reading *r, const char *left, const char *right, bool equal)
{
    state(r, left, equal ? "equals" : "differs_from", right);
}

static bool is_name(struct tc_str key)
{
    for (uint32_t i = 0; i < key.size; i++)
        if (key.text[i] <= ' ')
            return false;
    return key.size > 0 && key.size < MAX_PATH / 2;
}

/* A position in place of a name means that the signature is not known. */
static bool is_position(struct tc_str key)
{
    return key.size > 0 && key.text[0] >= '0' && key.text[0] <= '9';
}

/* "prefix.key"; false if it would not fit or would not be one word. */
static bool make_path(char out[MAX_PATH], const char *prefix, struct tc_str key)
{
    if (!is_name(key))
        return false;
    int n = snprintf(out, MAX_PATH, "%s.%.*s", prefix, (int)key.size, key.text);
    return n > 0 && n < MAX_PATH;
}

static bool read_tensor(struct tensor *t, const char *path, const struct tc_value *value)
{
    if (!tc_value_get(value, "tensor"))
        return false;
    snprintf(t->path, sizeof(t->path), "%s", path);
    t->value = value;
    t->shape = tc_value_get(value, "shape");
    t->dtype = tc_value_str(tc_value_get(value, "dtype"));
    return t->shape && t->shape->kind == TC_VALUE_ARRAY && t->dtype.text;
}

/* Operands that name a dimension of the first tensor, by torch's conventions for parameters. */
static bool is_dimension(struct tc_str name)
{
    static const char *const names[] = {"dim", "axis", "start_dim", "end_dim", "dim0", "dim1"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (tc_str_is(name, names[i]))
            return true;
    return false;
}

static bool is_number(const struct tc_value *v)
{
    return v->kind == TC_VALUE_INT || v->kind == TC_VALUE_FLOAT;
}

static bool is_zero(const struct tc_value *v)
{
    return v->kind == TC_VALUE_INT ? v->integer == 0 : v->number == 0;
}

static void read_scalar(struct reading *r, const char *path, struct tc_str name,
                        const struct tc_value *v)
{
    char dimension[24];

    if (v->kind == TC_VALUE_BOOL) {
        state(r, path, "is", v->boolean ? "true" : "false");
    } else if (v->kind == TC_VALUE_INT && is_dimension(name) && r->n_tensors) {
        int64_t from_end =
            v->integer < 0 ? v->integer : v->integer - (int64_t)r->tensors[0].shape->n;
        snprintf(dimension, sizeof(dimension), "%lld", (long long)from_end);
        state(r, path, "is", dimension);
    } else if (is_number(v) && r->call->role != TC_ROLE_SEED) { /* any seed is as good as another */
        state(r, path, "is", is_zero(v) ? "\"zero\"" : "\"not_zero\"");
    }
}

static bool is_same_scalar(const struct tc_value *a, const struct tc_value *b)
{
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TC_VALUE_BOOL:
        return a->boolean == b->boolean;
    case TC_VALUE_INT:
        return a->integer == b->integer;
    case TC_VALUE_FLOAT:
        return a->number == b->number;
    default:
        return a->kind == TC_VALUE_NULL;
    }
}

static void read_tensors(struct reading *r)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        char path[MAX_PATH];
        if (r->n_tensors < MAX_TENSORS && make_path(path, "args", args->members[i].key) &&
            read_tensor(&r->tensors[r->n_tensors], path, &args->members[i].value))
            r->n_tensors++;
    }
}

static void read_scalars(struct reading *r)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_member *m = &args->members[i];
        char path[MAX_PATH];
        if (is_position(m->key) || !make_path(path, "args", m->key))
            continue;
        read_scalar(r, path, m->key, &m->value);
        if (is_same_scalar(&m->value, tc_value_get(r->call->defaults, path + strlen("args."))))
            state(r, "default", "is", path);
    }
}

/* ---- equality between tensors -------------------------------------------------------------- */

static bool is_same_dimension(const struct tensor *a, const struct tensor *b, bool last)
{
    const struct tc_value *x = &a->shape->items[last ? a->shape->n - 1 : 0];
    const struct tc_value *y = &b->shape->items[last ? b->shape->n - 1 : 0];

    return is_same_scalar(x, y);
}

static bool is_same_shape(const struct tensor *a, const struct tensor *b)
{
    if (a->shape->n != b->shape->n)
        return false;
    for (uint32_t i = 0; i < a->shape->n; i++)
        if (!is_same_scalar(&a->shape->items[i], &b->shape->items[i]))
            return false;
    return true;
}

static void compare_part(struct reading *r, const struct tensor *a, const struct tensor *b,
                         const char *part, bool equal)
{
    char left[MAX_PATH + 16], right[MAX_PATH + 16];

    snprintf(left, sizeof(left), "%s.%s", a->path, part);
    snprintf(right, sizeof(right), "%s.%s", b->path, part);
    state_equal(r, left, right, equal);
}

static void compare_tensors(struct reading *r, const struct tensor *a, const struct tensor *b)
{
    compare_part(r, a, b, "dtype", tc_str_same(a->dtype, b->dtype));
    compare_part(r, a, b, "shape", is_same_shape(a, b));
    if (a->shape->n && b->shape->n) {
        compare_part(r, a, b, "shape[0]", is_same_dimension(a, b, false));
        compare_part(r, a, b, "shape[-1]", is_same_dimension(a, b, true));
    }
}

static bool is_float(struct tc_str dtype)
{
    return tc_str_is(dtype, "float32") || tc_str_is(dtype, "bfloat16") ||
           tc_str_is(dtype, "float16");
}

static void compare_autocast(struct reading *r, const struct tensor *t)
{
    const struct tc_value *autocast = tc_value_get(r->call->ctx, "autocast");
    char left[MAX_PATH + 16];

    if (!autocast || autocast->kind != TC_VALUE_OBJECT || !autocast->n || !is_float(t->dtype))
        return;
    snprintf(left, sizeof(left), "%s.dtype", t->path);
    state_equal(r, left, "ctx.autocast",
                tc_str_same(t->dtype, tc_value_str(&autocast->members[0].value)));
}

static const struct tc_value *owner_training(const struct tc_call *call)
{
    const struct tc_call *around = call->parent;

    while (around && around->role != TC_ROLE_FORWARD && around->role != TC_ROLE_LAYER)
        around = around->parent;
    return around ? tc_value_get(tc_value_get(around->self, "attrs"), "training") : NULL;
}

static void read_arguments(struct reading *r)
{
    const struct tc_value *training = tc_value_get(r->call->args, "training");
    const struct tc_value *owner = owner_training(r->call);

    read_tensors(r);
    read_scalars(r);
    if (training && owner && training->kind == TC_VALUE_BOOL && owner->kind == TC_VALUE_BOOL)
        state_equal(r, "args.training", "owner.training", training->boolean == owner->boolean);
    for (size_t i = 0; i < r->n_tensors; i++) {
        compare_autocast(r, &r->tensors[i]);
        for (size_t j = i + 1; j < r->n_tensors; j++)
            compare_tensors(r, &r->tensors[i], &r->tensors[j]);
    }
}

static void read_receiver(struct reading *r)
{
    const struct tc_value *training =
        tc_value_get(tc_value_get(r->call->self, "attrs"), "training");

    if (r->call->is_root && training && training->kind == TC_VALUE_BOOL)
        state(r, "self.training", "is", training->boolean ? "true" : "false");
}

/* ---- results ------------------------------------------------------------------------------- */

/* Whether the result has the same content as an operand of its shape and dtype, as the collector
 * found. */
static void compare_content(struct reading *r, const struct tensor *value)
{
    const struct tc_value *same = r->call->end->same;

    for (size_t i = 0; same && i < r->n_tensors; i++) {
        const struct tensor *t = &r->tensors[i];
        bool equal = false;
        if (!is_same_shape(t, value) || !tc_str_same(t->dtype, value->dtype))
            continue;
        for (uint32_t j = 0; j < same->n; j++)
            equal |= tc_value_is(&same->items[j], t->path);
        compare_part(r, value, t, "content", equal);
    }
}

/* Sizes of the result against counts that were asked for. */
static void compare_sizes(struct reading *r, const struct tensor *value)
{
    const struct tc_value *args = r->call->args;

    for (uint32_t i = 0; args && args->kind == TC_VALUE_OBJECT && i < args->n; i++) {
        const struct tc_value *v = &args->members[i].value;
        char path[MAX_PATH], left[MAX_PATH + 24];
        if (v->kind != TC_VALUE_INT || v->integer < 1 || is_dimension(args->members[i].key) ||
            is_position(args->members[i].key) || !make_path(path, "args", args->members[i].key))
            continue;
        for (uint32_t d = 0; d < value->shape->n && d < 4; d++) {
            int64_t size = tc_value_int(&value->shape->items[d], 0);
            snprintf(left, sizeof(left), "%s.shape[%u]", value->path, d);
            state(r, left, size <= v->integer ? "at_most" : "exceeds", path);
            state(r, left, size >= v->integer ? "at_least" : "below", path);
            if (size == v->integer && size > 1)
                state(r, left, "reaches", path);
        }
    }
}

static bool is_same_tensor(const struct tensor *a, const struct tensor *b)
{
    const struct tc_value *x = tc_value_get(a->value, "id"), *y = tc_value_get(b->value, "id");

    return x && y && is_same_scalar(x, y);
}

/* dtype and shape of what a library's own function returns follow from its definition: they say
 * something only of code that the user wrote. */
static void read_result_tensor(struct reading *r, const struct tensor *value)
{
    bool is_users = tc_role_has(r->call->role, TC_TRAIT_FOREIGN);

    compare_autocast(r, value);
    for (size_t i = 0; is_users && i < r->n_tensors && i < 4; i++)
        if (!is_same_tensor(value, &r->tensors[i]))
            compare_tensors(r, value, &r->tensors[i]);
    compare_content(r, value);
    if (is_users)
        compare_sizes(r, value);
}

static void read_length(struct reading *r, const char *path, const struct tc_value *v)
{
    char left[MAX_PATH + 8];

    snprintf(left, sizeof(left), "len(%s)", path);
    state(r, left, "is", v->n ? "\"not_zero\"" : "\"zero\"");
}

static void read_members(struct reading *r, const struct tc_value *dict)
{
    for (uint32_t i = 0; i < dict->n && i < 8; i++) {
        const struct tc_value *v = &dict->members[i].value;
        char path[MAX_PATH];
        struct tensor tensor;
        if (!make_path(path, "value", dict->members[i].key))
            continue;
        if (v->kind == TC_VALUE_ARRAY)
            read_length(r, path, v);
        else if (read_tensor(&tensor, path, v))
            compare_autocast(r, &tensor);
    }
}

static void read_result(struct reading *r)
{
    const struct tc_record *end = r->call->end;
    const struct tc_value *value = end->value;
    struct tensor tensor;

    if (end->finite >= 0)
        state(r, r->call->role == TC_ROLE_BACKWARD ? "self" : "value", "is",
              end->finite ? "\"finite\"" : "\"not_finite\"");
    if (!value)
        return;
    if (read_tensor(&tensor, "value", value))
        read_result_tensor(r, &tensor);
    else if (value->kind == TC_VALUE_BOOL)
        state(r, "value", "is", value->boolean ? "true" : "false");
    else if (value->kind == TC_VALUE_ARRAY)
        read_length(r, "value", value);
    else if (tc_value_get(value, "dict") && tc_value_get(value, "dict")->kind == TC_VALUE_OBJECT)
        read_members(r, tc_value_get(value, "dict"));
}

static size_t sort_unique(tc_sym *items, size_t n)
{
    size_t kept = 0;

    qsort(items, n, sizeof(*items), tc_sym_compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || items[i] != items[kept - 1])
            items[kept++] = items[i];
    return kept;
}

/* ---- equal calls are read once ------------------------------------------------------------- */

/* What was read of a call; the same for every call with the same fingerprint. */
struct reading_kept {
    struct tc_situation situation;
    tc_sym *outcome;
    size_t n_outcome;
};

struct operand_state {
    struct tc_arena arena;
    struct tc_map kept; /* fingerprint → struct reading_kept * */
};

/* Readings grow with the kinds of calls, not with the length of a run; if a run has ever new ones,
 * start over. */
#define MAX_KEPT 65536

static void *operand_open(void)
{
    return tc_calloc(1, sizeof(struct operand_state));
}

static void operand_close(void *state)
{
    struct operand_state *s = state;

    tc_map_release(&s->kept);
    tc_arena_release(&s->arena);
    tc_free(s);
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Most texts here are names of a few bytes: two loads are faster than a call. */
static uint64_t mix_text(uint64_t h, const char *text, size_t size)
{
    uint64_t words[2] = {0, 0};

    if (size > sizeof(words))
        return mix(h, tc_hash64(text, size, 0));
    memcpy(words, text, size);
    return mix(mix(h ^ size << 56, words[0]), words[1]);
}

/* Identities and contents are no part of a reading. */
static bool is_identity(struct tc_str key)
{
    switch (key.size) {
    case 2:
        return !memcmp(key.text, "id", 2);
    case 5:
        return !memcmp(key.text, "stats", 5);
    case 6:
        return !memcmp(key.text, "digest", 6);
    default:
        return false;
    }
}

static uint64_t mix_value(uint64_t h, const struct tc_value *v)
{
    if (!v)
        return mix(h, 7);
    h = mix(h, (uint64_t)v->kind + 11);
    switch (v->kind) {
    case TC_VALUE_NULL:
        break;
    case TC_VALUE_BOOL:
        h = mix(h, v->boolean);
        break;
    case TC_VALUE_INT:
    case TC_VALUE_FLOAT:
        h = mix(h, (uint64_t)v->integer); /* the bits of a double just as well */
        break;
    case TC_VALUE_STR:
        h = mix_text(h, v->text, v->n);
        break;
    case TC_VALUE_ARRAY:
        h = mix(h, v->n);
        for (uint32_t i = 0; i < v->n; i++)
            h = mix_value(h, &v->items[i]);
        break;
    case TC_VALUE_OBJECT:
        h = mix(h, v->n);
        for (uint32_t i = 0; i < v->n; i++) {
            struct tc_str key = v->members[i].key;
            if (!is_identity(key))
                h = mix_value(mix_text(h, key.text, key.size), &v->members[i].value);
        }
        break;
    }
    return h;
}

/* Everything that read_* and the situation look at. */
static uint64_t fingerprint(const struct tc_event *event)
{
    static const char *const contexts[] = {"grad", "inference", "autocast"};
    const struct tc_call *call = event->call;
    const struct tc_value *owner = owner_training(call);
    uint64_t h = mix(call->descriptor, (uint64_t)call->role << 32 | call->stage);

    h = mix(h, call->after | (uint64_t)call->is_root << 8 | (uint64_t)(call->n_params > 0) << 9 |
                   (uint64_t)(uint8_t)call->end->finite << 16);
    h = mix(h, call->parent ? (uint64_t)call->parent->descriptor << 8 | call->parent->role : 0);
    h = mix(h, (uint64_t)call->grads << 32 | call->frozen);
    h = mix(h, (uintptr_t)event->process);
    h = mix(h, (uint64_t)event->process->world);
    h = mix_value(h, owner);
    h = mix_value(h, call->self);
    h = mix_value(h, call->args);
    for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
        h = mix_value(h, tc_value_get(call->ctx, contexts[i]));
    h = mix_value(h, call->end->value);
    h = mix_value(h, call->end->same);
    for (size_t i = 0; call->role == TC_ROLE_STEP && i < call->contents.n; i++)
        h = mix(h, call->contents.items[i]);
    return h;
}

static struct reading_kept *read_call(struct tc_arena *arena, struct tc_strtab *symbols,
                                      const struct tc_event *event)
{
    struct reading r = {.symbols = symbols, .call = event->call};
    struct reading_kept *kept = tc_arena_alloc(arena, sizeof(*kept));

    if (event->call->role == TC_ROLE_LOAD || event->call->role == TC_ROLE_SAVE)
        state(&r, "call", "is", "rare");
    if (tc_role_has(event->call->role, TC_TRAIT_FOREIGN))
        state(&r, "call", "is", "users");
    read_receiver(&r);
    read_arguments(&r);
    read_result(&r);
    kept->n_outcome = sort_unique(r.out, r.n_out);
    kept->outcome = tc_arena_copy(arena, r.out, kept->n_outcome * sizeof(*r.out));
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

static void observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                    const struct tc_sink *sink)
{
    if (event->kind != TC_EVENT_CALL || event->call->raised || event->process->is_worker)
        return;
    const struct reading_kept *kept = reading_of(state, symbols, event);
    struct tc_example example = {.key = event->call->descriptor,
                                 .situation = &kept->situation,
                                 .outcome = kept->outcome,
                                 .n_outcome = kept->n_outcome};
    sink->example(sink->context, event, &example);
}

const struct tc_source tc_source_operands = {
    .name = "operands",
    .is_set = true,
    .open = operand_open,
    .close = operand_close,
    .observe = observe,
    .condense = tc_operand_condense,
};
