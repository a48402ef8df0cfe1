/*
 * consistent.c - Consistent(Va, Vb): an attribute of two variables is equal
 *
 *   replica  the same variable on all ranks: consistent_replica.c
 *   alias    two variables of one process that started with equal content
 *   peer     all variables of one kind in one root module
 *   steady   a variable, and itself one step before
 *
 * Judged at the end of a step window, on the state of that moment.
 */
#include "relation/consistent.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "replay/symbols.h"

/* ---- what the four forms share ------------------------------------------------------------- */

tc_sym tc_consistent_agreement(struct tc_strtab *symbols, const char *attr, bool equal)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "%s %s", attr, equal ? "equal" : "differs");
    tc_sym sym = tc_strtab_intern(symbols, text.text, text.size);
    tc_strbuf_release(&text);
    return sym;
}

void tc_consistent_propose(struct tc_strtab *symbols, tc_sym key,
                           const struct tc_outcomes *outcomes, struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            const char *text = tc_strtab_text(symbols, outcomes->outcome[i][j]);
            const char *space = strchr(text, ' ');
            struct tc_hypothesis h = {.n_params = 1, .min_pipelines = 2};
            if (!tc_is_first(&seen, outcomes->outcome[i][j]) || !space || strcmp(space, " equal"))
                continue;
            h.params[0] =
                (struct tc_param){.kind = TC_PARAM_VARIABLE,
                                  .name = key,
                                  .role = TC_NO_SYM,
                                  .attr = tc_strtab_intern(symbols, text, (size_t)(space - text)),
                                  .from = TC_NO_SYM,
                                  .to = tc_strtab_intern_text(symbols, "equal")};
            tc_vec_push(&out->items, h);
        }
    }
    tc_map_release(&seen);
}

tc_sym tc_consistent_key(struct tc_strtab *symbols, const struct tc_param *params, size_t n_params)
{
    (void)symbols;
    return n_params == 1 && params[0].kind == TC_PARAM_VARIABLE ? params[0].name : TC_NO_SYM;
}

enum tc_outcome tc_consistent_holds(struct tc_strtab *symbols, const struct tc_param *params,
                                    size_t n_params, const tc_sym *outcome, size_t n_outcome)
{
    const char *attr = tc_strtab_text(symbols, params[0].attr);

    (void)n_params;
    if (tc_outcome_has(outcome, n_outcome, tc_consistent_agreement(symbols, attr, true)))
        return TC_HELD;
    return tc_outcome_has(outcome, n_outcome, tc_consistent_agreement(symbols, attr, false))
               ? TC_BROKEN
               : TC_UNDECIDED;
}

/* The fields of a variable that a comparison may depend on: what it is, not what it is doing. */
static void add_framework_attributes(struct tc_situation *s, const struct tc_variable *v)
{
    for (size_t i = 0; i < v->n_attrs; i++)
        tc_situation_set(s, v->attrs[i].field, v->attrs[i].value);
}

void tc_consistent_situation(struct tc_situation *s, const struct tc_variable *v)
{
    s->n = 0;
    tc_situation_set(s, TC_SYM_F_V_REQUIRES_GRAD, tc_symbols_bool(v->requires_grad));
    tc_situation_set(s, TC_SYM_F_V_DTYPE, v->dtype);
    tc_situation_set(s, TC_SYM_F_V_MATRIX, tc_symbols_bool(v->is_matrix));
    tc_situation_set(s, TC_SYM_F_V_OWNER, v->owner);
    add_framework_attributes(s, v);
    tc_situation_sort(s);
}

static void emit(const struct tc_sink *sink, const struct tc_event *event, tc_sym key,
                 const struct tc_situation *situation, tc_sym *outcome, size_t n,
                 const struct tc_variable *variable)
{
    qsort(outcome, n, sizeof(*outcome), tc_sym_compare);
    struct tc_example example = {.key = key,
                                 .situation = situation,
                                 .outcome = outcome,
                                 .n_outcome = n,
                                 .variable = variable};
    sink->example(sink->context, event, &example);
}

struct tc_snapshot tc_snapshot_of(const struct tc_variable *v)
{
    return (struct tc_snapshot){.data = v->data,
                                .dtype = v->dtype,
                                .shape = v->shape,
                                .has_data = v->has_data,
                                .is_sampled = v->is_sampled,
                                .requires_grad = v->requires_grad};
}

/* A sampled and a full digest never compare. */
bool tc_snapshots_compare(const struct tc_snapshot *a, const struct tc_snapshot *b)
{
    return a->has_data && b->has_data && a->is_sampled == b->is_sampled;
}

/* ---- alias --------------------------------------------------------------------------------- */

struct alias {
    const struct tc_process *process;
    int64_t a, b;
};

/* More equal beginnings than these are a constant initialiser at work. */
#define MAX_ALIASES 64

struct alias_state {
    TC_VEC(struct alias) aliases;
    struct tc_map seen; /* processes whose aliases are known */
};

static void *alias_open(void)
{
    return tc_calloc(1, sizeof(struct alias_state));
}

static void alias_close(void *state)
{
    struct alias_state *s = state;

    tc_vec_release(&s->aliases);
    tc_map_release(&s->seen);
    tc_free(s);
}

/* Vectors start as constants (biases, norms), and equal constants are no copies. */
static bool may_be_alias(const struct tc_variable *v)
{
    return v->kind == TC_SYM_PARAMETER && v->is_matrix && v->has_first && !v->is_sampled;
}

/* Content that two have, and no third: what many share is a constant or a template. */
struct twins {
    int64_t a, b;
    size_t n;
};

static void find_aliases(struct alias_state *s, const struct tc_process *process)
{
    struct tc_map by_content = TC_MAP_INIT; /* content to the index into all */
    TC_VEC(struct twins) all = {0};
    uint64_t serial, pointer;

    for (size_t pos = 0; tc_map_each(&process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        bool is_new;
        if (!may_be_alias(v))
            continue;
        uint64_t *place = tc_map_at(&by_content, v->first_data, &is_new);
        if (is_new) {
            *place = all.n;
            tc_vec_push(&all, ((struct twins){.a = (int64_t)serial}));
        }
        struct twins *twins = &all.items[*place];
        twins->b = (int64_t)serial;
        twins->n++;
    }
    for (size_t i = 0, n = 0; i < all.n && n < MAX_ALIASES; i++) {
        if (all.items[i].n != 2)
            continue;
        tc_vec_push(&s->aliases, ((struct alias){process, all.items[i].a, all.items[i].b}));
        n++;
    }
    tc_vec_release(&all);
    tc_map_release(&by_content);
}

static struct tc_str part_of_name(const struct tc_strtab *symbols, tc_sym name, bool last)
{
    struct tc_str text = tc_symbols_text(symbols, name);
    const char *dot = last ? strrchr(text.text, '.') : strchr(text.text, '.');

    if (!dot)
        return text;
    if (!last)
        return (struct tc_str){text.text, (uint32_t)(dot - text.text)};
    return (struct tc_str){dot + 1, (uint32_t)(text.text + text.size - dot - 1)};
}

static const char *skip_digits(const char *text)
{
    while (*text >= '0' && *text <= '9')
        text++;
    return text;
}

/* "blocks.0.fc.weight" and "blocks.1.fc.weight": made from one template, as clones are. */
static bool differ_in_numbers_only(const char *a, const char *b)
{
    for (;; a++, b++) {
        const char *x = skip_digits(a), *y = skip_digits(b);
        if ((x > a) != (y > b))
            return false;
        a = x;
        b = y;
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* It requires a gradient and has had one. */
static bool is_trained(const struct tc_variable *v)
{
    return v->requires_grad && (v->grad_cause >= 0 || v->grad != TC_SYM_GRAD_NULL);
}

static void judge_alias(const struct alias *alias, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_sink *sink)
{
    const struct tc_variable *a = tc_process_variable(event->process, alias->a);
    const struct tc_variable *b = tc_process_variable(event->process, alias->b);
    const struct tc_snapshot x = tc_snapshot_of(a), y = tc_snapshot_of(b);
    struct tc_situation s = {.n = 0};
    tc_sym outcome[1];

    if (!tc_snapshots_compare(&x, &y) || !is_trained(a) || !is_trained(b) ||
        (x.data == a->first_data && y.data == b->first_data))
        return;
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_name"),
                     tc_symbols_bool(tc_str_same(part_of_name(symbols, a->name, true),
                                                 part_of_name(symbols, b->name, true))));
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_owner"),
                     tc_symbols_bool(a->owner == b->owner));
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.siblings"),
                     tc_symbols_bool(differ_in_numbers_only(tc_strtab_text(symbols, a->name),
                                                            tc_strtab_text(symbols, b->name))));
    tc_situation_set(&s, tc_strtab_intern_text(symbols, "v.same_root"),
                     tc_symbols_bool(a->root == b->root));
    add_framework_attributes(&s, a);
    add_framework_attributes(&s, b);
    tc_situation_sort(&s);
    outcome[0] = tc_consistent_agreement(symbols, "data", x.data == y.data);
    emit(sink, event, a->kind, &s, outcome, 1, b);
}

static void alias_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    struct alias_state *s = state;
    bool is_new;

    if (!tc_is_step_window(event))
        return;
    tc_map_at(&s->seen, (uintptr_t)event->process, &is_new);
    if (is_new)
        find_aliases(s, event->process);
    for (size_t i = 0; i < s->aliases.n; i++)
        if (s->aliases.items[i].process == event->process)
            judge_alias(&s->aliases.items[i], symbols, event, sink);
}

/* ---- peer ---------------------------------------------------------------------------------- */

/* One kind of variable in one root. */
struct peers {
    int64_t root;
    tc_sym kind, dtype;
    bool differs;
    const struct tc_variable *last;
};

#define MAX_PEERS 64

static struct peers *peers_at(struct peers *all, size_t *n, const struct tc_variable *v)
{
    for (size_t i = 0; i < *n; i++)
        if (all[i].root == v->root && all[i].kind == v->kind)
            return &all[i];
    if (*n == MAX_PEERS)
        return NULL;
    all[*n] = (struct peers){.root = v->root, .kind = v->kind, .dtype = v->dtype, .last = v};
    return &all[(*n)++];
}

static void peer_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    struct peers all[MAX_PEERS];
    struct tc_situation none = {.n = 0};
    uint64_t serial, pointer;
    size_t n = 0;

    (void)state;
    if (!tc_is_step_window(event))
        return;
    for (size_t pos = 0; tc_map_each(&event->process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        struct peers *peers = v->root == TC_NONE ? NULL : peers_at(all, &n, v);
        if (!peers || peers->dtype == v->dtype)
            continue;
        peers->differs = true;
        peers->last = v;
    }
    for (size_t i = 0; i < n; i++) {
        tc_sym outcome[] = {tc_consistent_agreement(symbols, "dtype", !all[i].differs)};
        emit(sink, event, all[i].kind, &none, outcome, 1, all[i].last);
    }
}

/* ---- steady -------------------------------------------------------------------------------- */

struct moment {
    struct tc_snapshot snapshot;
    unsigned n_gaps; /* of the process: behind another one lies no step before */
};

struct steady_state {
    struct tc_map before; /* variable → struct moment * at the last step */
};

static void *steady_open(void)
{
    return tc_calloc(1, sizeof(struct steady_state));
}

static void steady_close(void *state)
{
    struct steady_state *s = state;
    uint64_t variable, before;

    for (size_t pos = 0; tc_map_each(&s->before, &pos, &variable, &before);)
        tc_free((void *)(uintptr_t)before);
    tc_map_release(&s->before);
    tc_free(s);
}

/* Content is compared only where nothing should train it. */
static void judge_steady(const struct tc_snapshot *before, const struct tc_variable *v,
                         struct tc_strtab *symbols, const struct tc_event *event,
                         const struct tc_sink *sink)
{
    const struct tc_snapshot now = tc_snapshot_of(v);
    bool is_frozen = !before->requires_grad && !now.requires_grad && v->kind == TC_SYM_PARAMETER;
    struct tc_situation situation;
    tc_sym outcome[3];
    size_t n = 0;

    if (is_frozen && tc_snapshots_compare(before, &now))
        outcome[n++] = tc_consistent_agreement(symbols, "data", before->data == now.data);
    outcome[n++] = tc_consistent_agreement(symbols, "dtype", before->dtype == now.dtype);
    outcome[n++] = tc_consistent_agreement(symbols, "shape", before->shape == now.shape);
    tc_consistent_situation(&situation, v);
    emit(sink, event, v->kind, &situation, outcome, n, v);
}

static void steady_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    struct steady_state *s = state;
    uint64_t serial, pointer;

    if (!tc_is_step_window(event))
        return;
    for (size_t pos = 0; tc_map_each(&event->process->variables, &pos, &serial, &pointer);) {
        const struct tc_variable *v = (const struct tc_variable *)(uintptr_t)pointer;
        bool is_new;
        uint64_t *slot = tc_map_at(&s->before, pointer, &is_new);
        if (is_new)
            *slot = (uintptr_t)tc_calloc(1, sizeof(struct moment));
        struct moment *before = (struct moment *)(uintptr_t)*slot;
        if (!is_new && before->n_gaps == event->process->n_gaps)
            judge_steady(&before->snapshot, v, symbols, event, sink);
        *before = (struct moment){tc_snapshot_of(v), event->process->n_gaps};
    }
}

/* ---- words --------------------------------------------------------------------------------- */

void tc_consistent_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            const char *what, struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s of each %s %s", tc_strtab_text(symbols, params[0].attr),
                   tc_strtab_text(symbols, params[0].name), what);
}

static void alias_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                           size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_consistent_describe(symbols, params, "that started as a copy of another stays equal to it",
                           out);
}

static void peer_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                          size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_consistent_describe(symbols, params, "of a model is the same", out);
}

static void steady_describe(const struct tc_strtab *symbols, const struct tc_param *params,
                            size_t n_params, struct tc_strbuf *out)
{
    (void)n_params;
    tc_consistent_describe(symbols, params,
                           params[0].attr == TC_SYM_DATA
                               ? "that requires no gradient stays the same from step to step"
                               : "stays the same from step to step",
                           out);
}

void tc_consistent_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_example *example, const char *what,
                           struct tc_strbuf *out)
{
    tc_strbuf_addf(out, "%s of %s %s", tc_strtab_text(symbols, invariant->params[0].attr),
                   tc_strtab_text(symbols, example->variable->name), what);
}

static void alias_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                          const struct tc_event *event, const struct tc_example *example,
                          struct tc_strbuf *out)
{
    (void)event;
    tc_consistent_explain(symbols, invariant, example,
                          "is no longer that of its copy: the two weights drift", out);
}

static void peer_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                         const struct tc_event *event, const struct tc_example *example,
                         struct tc_strbuf *out)
{
    (void)event;
    tc_consistent_explain(symbols, invariant, example, "differs from that of others in the model",
                          out);
}

static void steady_explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                           const struct tc_event *event, const struct tc_example *example,
                           struct tc_strbuf *out)
{
    (void)event;
    tc_consistent_explain(symbols, invariant, example, "is another than after the step before",
                          out);
}

const struct tc_source tc_source_alias = {.name = "alias",
                                          .is_set = true,
                                          .open = alias_open,
                                          .close = alias_close,
                                          .observe = alias_observe};
const struct tc_source tc_source_peer = {.name = "peer", .is_set = true, .observe = peer_observe};
const struct tc_source tc_source_steady = {.name = "steady",
                                           .is_set = true,
                                           .open = steady_open,
                                           .close = steady_close,
                                           .observe = steady_observe};

const struct tc_relation tc_consistent_alias = {
    .name = "Consistent/alias",
    .summary = "two parameters that start as copies stay copies",
    .hint = "Are the two weights meant to be tied, and are both gradients summed?",
    .source = &tc_source_alias,
    .propose = tc_consistent_propose,
    .key = tc_consistent_key,
    .holds = tc_consistent_holds,
    .describe = alias_describe,
    .explain = alias_explain,
};

const struct tc_relation tc_consistent_peer = {
    .name = "Consistent/peer",
    .summary = "variables of one kind in one model share their dtype",
    .hint = "Was a part of the model converted, or created later with another dtype?",
    .source = &tc_source_peer,
    .propose = tc_consistent_propose,
    .key = tc_consistent_key,
    .holds = tc_consistent_holds,
    .describe = peer_describe,
    .explain = peer_explain,
};

const struct tc_relation tc_consistent_steady = {
    .name = "Consistent/steady",
    .summary =
        "dtype and shape of a variable, and content where it is frozen, stay from step to step",
    .hint = "What writes to this variable besides the optimizer?",
    .source = &tc_source_steady,
    .propose = tc_consistent_propose,
    .key = tc_consistent_key,
    .holds = tc_consistent_holds,
    .describe = steady_describe,
    .explain = steady_explain,
};
