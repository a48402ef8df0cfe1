/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistent_groups.c - Consistent/groups: how an optimizer's parameters are parted into groups
 *
 *   settings   the groups of one optimizer have settings of the same names, or their rates
 *              differ. torch gives each group all settings that the optimizer reads, so nobody
 *              reads a setting of one group alone, except a script that scales its rates by it
 *   decay      of modules that have only vectors, as norms do, all of one class are decayed, or
 *              none. Judged if a script itself gives groups a decay, one of them none
 *
 * There is an example for each optimizer with two groups or more: for settings at the third step
 * of the process that has them, for the decay at its first.
 */
#include "relation/consistent.h"
#include "relation/third_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"

#define MAX_GROUPS 64

/* Of one optimizer. */
struct parted {
    struct tc_map decayed, spared; /* serials of parameters in groups with a decay, and with none */
    tc_sym by;                     /* the call that was given them */
    bool has_stepped;
};

/* Of one process. */
struct groups {
    struct tc_map optimizers; /* by serial: struct parted * */
    struct tc_map told;       /* first group → steps that had it */
};

static void groups_release(void *of_process)
{
    struct groups *groups = of_process;
    struct parted *parted;

    for (size_t pos = 0; (parted = tc_map_next(&groups->optimizers, &pos));) {
        tc_map_release(&parted->decayed);
        tc_map_release(&parted->spared);
    }
    tc_map_release_structs(&groups->optimizers);
    tc_map_release(&groups->told);
}

static struct parted *parted_of(struct groups *groups, const struct tc_event *event)
{
    const int64_t serial = tc_serial_of(event->call->self);

    return tc_map_struct(&groups->optimizers, (uint64_t)serial, sizeof(struct parted));
}

/* ---- settings ------------------------------------------------------------------------------- */

static bool is_first_group(const struct tc_strtab *symbols, const struct tc_settings *group)
{
    const char *name = tc_strtab_text(symbols, group->name), *end = strstr(name, ".param_groups[");

    return end && !strcmp(end, ".param_groups[0]");
}

/* The i-th group beside the first: groups of one optimizer are met one after another. */
static const struct tc_settings *group_at(const struct tc_strtab *symbols,
                                          const struct tc_process *process,
                                          const struct tc_settings *first, size_t i)
{
    const char *name = tc_strtab_text(symbols, first->name);
    const size_t n_owner = (size_t)(strstr(name, ".param_groups[") - name);
    const struct tc_settings *group =
        tc_map_find(&process->settings, (uint64_t)(first->serial + (int64_t)i));
    struct tc_strbuf wanted = TC_STRBUF_INIT;

    tc_strbuf_add(&wanted, name, n_owner);
    tc_strbuf_addf(&wanted, ".param_groups[%zu]", i);
    if (group && strcmp(tc_strtab_text(symbols, group->name), wanted.text) != 0)
        group = NULL;
    tc_strbuf_release(&wanted);
    return group;
}

static const struct tc_setting *setting_of(const struct tc_settings *group, tc_sym attr)
{
    for (size_t i = 0; i < group->items.n; i++)
        if (group->items.items[i].attr == attr)
            return &group->items.items[i];
    return NULL;
}

/* The first setting of a group that another has not; NULL if there is none. */
static const struct tc_setting *setting_apart(const struct tc_settings *group,
                                              const struct tc_settings *other)
{
    for (size_t i = 0; i < group->items.n; i++)
        if (!setting_of(other, group->items.items[i].attr))
            return &group->items.items[i];
    return NULL;
}

static bool have_own_rates(struct tc_strtab *symbols, const struct tc_settings *a,
                           const struct tc_settings *b)
{
    const tc_sym lr = tc_strtab_intern_text(symbols, "lr");
    const struct tc_setting *rate = setting_of(a, lr), *other = setting_of(b, lr);

    return rate && other && rate->used != other->used;
}

/* A setting that one group alone has. */
struct odd_setting {
    const struct tc_settings *group;
    tc_sym attr;
};

static struct odd_setting find_odd(struct tc_strtab *symbols, const struct tc_settings *first,
                                   const struct tc_settings *group)
{
    const struct tc_setting *own = setting_apart(group, first), *lacks = NULL;

    if (!own)
        lacks = setting_apart(first, group);
    if ((!own && !lacks) || have_own_rates(symbols, first, group))
        return (struct odd_setting){.group = NULL};
    return own ? (struct odd_setting){group, own->attr} : (struct odd_setting){first, lacks->attr};
}

/* "opt.param_groups[1].learning_rate". */
static tc_sym name_of_setting(struct tc_strtab *symbols, const struct odd_setting *odd)
{
    struct tc_strbuf name = TC_STRBUF_INIT;

    tc_strbuf_addf(&name, "%s.%s", tc_strtab_text(symbols, odd->group->name),
                   tc_strtab_text(symbols, odd->attr));
    const tc_sym symbol = tc_strtab_intern(symbols, name.text, name.size);
    tc_strbuf_release(&name);
    return symbol;
}

static void judge_settings(struct groups *groups, struct tc_strtab *symbols,
                           const struct tc_event *event, const struct tc_settings *first,
                           const struct tc_sink *sink)
{
    const struct tc_settings *group;
    struct odd_setting odd = {.group = NULL};
    struct tc_variable variable = {.is_setting = true};
    size_t n = 1;
    tc_sym outcome[1];
    bool is_new;

    for (; n < MAX_GROUPS && (group = group_at(symbols, event->process, first, n)); n++)
        if (!odd.group)
            odd = find_odd(symbols, first, group);
    /* A schedule of the script's own may scale the rates after the first step. */
    if (n < 2 || ++*tc_map_at(&groups->told, (uint64_t)first->serial, &is_new) != TC_THIRD_TIME)
        return;
    variable.serial = odd.group ? odd.group->serial : first->serial;
    variable.name = odd.group ? name_of_setting(symbols, &odd) : first->name;
    variable.kind = TC_SYM_PARAM_GROUP;
    outcome[0] = tc_consistent_agreement(symbols, TC_SYM_SETTINGS, !odd.group);
    tc_consistent_emit(sink, event, TC_SYM_PARAM_GROUP, &tc_no_situation, outcome, 1, &variable);
}

/* ---- decay ---------------------------------------------------------------------------------- */

/* A group that is added to an optimizer, with a decay of its own. */
static void on_group(struct groups *groups, const struct tc_event *event,
                     const struct tc_value *group)
{
    const struct tc_value *params = tc_value_get(group, "params");
    double decay;
    int64_t serial;

    if (!params || params->kind != TC_VALUE_ARRAY ||
        !tc_value_number(tc_value_get(group, "weight_decay"), &decay))
        return;
    struct parted *parted = parted_of(groups, event);
    parted->by = event->call->descriptor;
    for (uint32_t pos = 0; (serial = tc_call_next_in_group(event->call, &pos)) != TC_NONE;)
        tc_map_put(decay == 0 ? &parted->spared : &parted->decayed, (uint64_t)serial, 1);
}

/* "model.norm" of "model.norm.weight", of the module that holds it. */
static uint64_t module_of(const struct tc_strtab *symbols, const struct tc_variable *v)
{
    const char *name = tc_strtab_text(symbols, v->name), *end = strrchr(name, '.');

    return tc_hash64(name, end ? (size_t)(end - name) : 0, (uint64_t)v->root);
}

/* Modules of which a parameter is a matrix. */
static void find_matrices(const struct tc_strtab *symbols, const struct tc_process *process,
                          struct tc_map *modules)
{
    const struct tc_variable *v;

    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->kind == TC_SYM_PARAMETER && v->is_matrix)
            tc_map_put(modules, module_of(symbols, v), 1);
}

/* How the parameters of one class of modules are treated. */
struct treatment {
    const struct tc_variable *decayed; /* the first that is; NULL: none */
    bool has_spared;
};

static void note_treatment(struct tc_map *classes, const struct parted *parted,
                           const struct tc_variable *v)
{
    const bool is_decayed = tc_map_get(&parted->decayed, (uint64_t)v->serial, &(uint64_t){0});
    const bool is_spared = tc_map_get(&parted->spared, (uint64_t)v->serial, &(uint64_t){0});

    if (is_decayed == is_spared)
        return;
    struct treatment *treatment = tc_map_struct(classes, v->owner, sizeof(*treatment));
    treatment->has_spared |= is_spared;
    if (is_decayed && (!treatment->decayed || v->serial < treatment->decayed->serial))
        treatment->decayed = v;
}

/* The first that is decayed where another of its class is not; NULL if there is none. */
static const struct tc_variable *find_decayed(const struct parted *parted,
                                              const struct tc_strtab *symbols,
                                              const struct tc_process *process, bool *has_any)
{
    struct tc_map matrices = TC_MAP_INIT, classes = TC_MAP_INIT;
    const struct tc_variable *v, *found = NULL;
    const struct treatment *treatment;

    find_matrices(symbols, process, &matrices);
    for (size_t pos = 0; (v = tc_map_next(&process->variables, &pos));)
        if (v->kind == TC_SYM_PARAMETER && v->root != TC_NONE &&
            !tc_map_get(&matrices, module_of(symbols, v), &(uint64_t){0}))
            note_treatment(&classes, parted, v);
    *has_any = classes.n > 0;
    for (size_t pos = 0; (treatment = tc_map_next(&classes, &pos));)
        if (treatment->decayed && treatment->has_spared &&
            (!found || treatment->decayed->serial < found->serial))
            found = treatment->decayed;
    tc_map_release_structs(&classes);
    tc_map_release(&matrices);
    return found;
}

static void judge_decay(struct groups *groups, struct tc_strtab *symbols,
                        const struct tc_event *event, const struct tc_sink *sink)
{
    struct parted *parted = parted_of(groups, event);
    bool has_any = false;
    tc_sym outcome[1];

    if (parted->has_stepped || !parted->decayed.n || !parted->spared.n)
        return;
    parted->has_stepped = true;
    const struct tc_variable *decayed = find_decayed(parted, symbols, event->process, &has_any);
    outcome[0] = tc_consistent_agreement(symbols, TC_SYM_DECAY, !decayed);
    if (has_any)
        tc_consistent_emit(sink, event, TC_ATOM(symbols, TC_SYM_DECAY, parted->by),
                           &tc_no_situation, outcome, 1, decayed);
}

static void groups_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                           const struct tc_sink *sink)
{
    const struct tc_settings *group;

    if (event->kind != TC_EVENT_CALL || event->process->is_worker || event->call->raised)
        return;
    struct groups *groups = tc_process_state(state, event->process);
    const struct tc_value *added = tc_call_group(event->call);
    if (added)
        on_group(groups, event, added);
    if (event->call->role != TC_ROLE_STEP)
        return;
    judge_decay(groups, symbols, event, sink);
    for (size_t pos = 0; (group = tc_map_next(&event->process->settings, &pos));)
        if (!group->is_idle && group->kind == TC_SYM_PARAM_GROUP && is_first_group(symbols, group))
            judge_settings(groups, symbols, event, group, sink);
}

const struct tc_source tc_source_groups = {.name = "groups",
                                           .judged =
                                               "the first step of an optimizer with several groups",
                                           .is_set = true,
                                           .process_size = sizeof(struct groups),
                                           .release_process = groups_release,
                                           .observe = groups_observe};

/* What both rows say. */
#define AGREES(kind_, attr_)                                                              \
    .kind = (kind_), .of = TC_PARAM_VARIABLE, .attr = (attr_), .to = TC_SYM_EQUAL,        \
    .held = {(attr_), TC_SYM_EQUAL}, .broken = {(attr_), TC_SYM_DIFFERS}, .if_met = true, \
    .support = TC_SUPPORT_LAW, .min_examples = 1

static const struct tc_claim claims[] = {
    {.key = {TC_SYM_PARAM_GROUP},
     AGREES(TC_SYM_PARAM_GROUP, TC_SYM_SETTINGS),
     .expected =
         "the groups of an optimizer have settings of the same names, or rates of their own",      .seen = "%v is a setting of this group alone, and the groups differ in no rate: the optimizer "
             "reads none that one group alone has"},
    { .key = {TC_SYM_DECAY, TC_BLANK_CALL},
     .calls = {TC_BLANK_CALL},
     AGREES(TC_SYM_PARAMETER,      TC_SYM_DECAY),
     .expected = "of modules with vectors alone, as norms, all of one class are decayed, or none",
     .seen = "%v is decayed, and others of such modules are not"},
};

const struct tc_relation tc_consistent_groups = {
    .name = "Consistent/groups",
    .summary = "groups of one optimizer have the same settings, norms the same decay",
    .hint =
        "Is the name of a setting spelled as the optimizer does, and do the names of parameters "
        "that are to be exempt occur in the model?",
    .source = &tc_source_groups,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
