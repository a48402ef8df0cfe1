/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form.c - params, atoms and predicates on calls that several forms ask
 *
 * Each is small and keeps nothing. Put here only what a second form needs: what one form asks
 * alone stays with it.
 */
#include "relation/form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "invariant/describe.h"
#include "replay/symbols.h"
#include "trace/member.h"

struct tc_param tc_param_call(tc_sym name, tc_sym role)
{
    return (struct tc_param){.kind = TC_PARAM_CALL,
                             .name = name,
                             .role = role,
                             .attr = TC_NO_SYM,
                             .from = TC_NO_SYM,
                             .to = TC_NO_SYM};
}

bool tc_param_has_role(const struct tc_strtab *symbols, const struct tc_param *param,
                       enum tc_role role)
{
    return param->kind == TC_PARAM_CALL && param->role != TC_SYM_EMPTY &&
           param->role == tc_symbols_role(symbols, role);
}

tc_sym tc_token_of(struct tc_strtab *symbols, enum tc_role role, tc_sym name)
{
    return TC_ATOM(symbols, tc_symbols_role(symbols, role), name);
}

bool tc_param_of_token(struct tc_strtab *symbols, tc_sym token, struct tc_param *param)
{
    tc_sym words[2];

    if (!tc_strtab_split(symbols, token, words, 2) || words[0] == TC_SYM_KNOWN)
        return false;
    *param = tc_param_call(words[1], words[0]);
    return true;
}

tc_sym tc_token_of_param(struct tc_strtab *symbols, const struct tc_param *param)
{
    return TC_ATOM(symbols, param->role, param->name);
}

struct tc_param tc_param_of(enum tc_param_kind kind, tc_sym name, tc_sym attr, tc_sym to)
{
    return (struct tc_param){.kind = kind,
                             .name = name,
                             .role = TC_SYM_EMPTY,
                             .attr = attr,
                             .from = TC_NO_SYM,
                             .to = to};
}

bool tc_outcome_has(const tc_sym *outcome, size_t n, tc_sym sym)
{
    return n && bsearch(&sym, outcome, n, sizeof(*outcome), tc_sym_compare);
}

int64_t tc_serial_of(const struct tc_value *object)
{
    return tc_value_int(tc_member_at(object, TC_PLACE_ID, "id"), TC_NONE);
}

int64_t tc_n_dimensions(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_member_at(tensor, TC_PLACE_SHAPE, "shape");

    return shape && shape->kind == TC_VALUE_ARRAY ? (int64_t)shape->n : -1;
}

int64_t tc_size_of(const struct tc_value *tensor, uint32_t i)
{
    return (int64_t)i < tc_n_dimensions(tensor)
               ? tc_value_int(&tc_value_get(tensor, "shape")->items[i], -1)
               : -1;
}

bool tc_is_of_dtype(const struct tc_value *dtype, const char *name)
{
    const struct tc_str text = tc_value_str(dtype);

    return text.text && memmem(text.text, text.size, name, strlen(name));
}

bool tc_is_rich(const struct tc_value *tensor)
{
    const struct tc_value *distinct = tc_value_get(tc_value_get(tensor, "summary"), "distinct");

    return tc_count_elements(tc_value_get(tensor, "shape")) >= TC_MIN_ELEMENTS &&
           tc_value_int(distinct, 0) >= TC_MIN_DISTINCT;
}

int64_t tc_summary_int(const struct tc_value *tensor, const char *name, int64_t absent)
{
    return tc_value_int(tc_value_get(tc_value_get(tensor, "summary"), name), absent);
}

uint64_t tc_content_of(const struct tc_value *tensor)
{
    const struct tc_str digest = tc_value_str(tc_value_get(tensor, "digest"));

    return digest.text ? tc_hash64(digest.text, digest.size, 0) | 1 : 0;
}

uint64_t tc_rich_content(const struct tc_value *tensor)
{
    const uint64_t content = tc_content_of(tensor);

    return content && tc_is_rich(tensor) ? content : 0;
}

const char *tc_name_in_model(const struct tc_strtab *symbols, const struct tc_variable *variable)
{
    const char *name = tc_strtab_text(symbols, variable->name), *rest = strchr(name, '.');

    return rest ? rest : name;
}

uint64_t tc_content_in_model(const struct tc_strtab *symbols, const struct tc_variable *variable,
                             uint64_t data)
{
    const char *name = tc_name_in_model(symbols, variable);

    return tc_hash64(name, strlen(name), data);
}

bool tc_is_told_matrix(const struct tc_variable *variable)
{
    return variable->kind == TC_SYM_PARAMETER && variable->root != TC_NONE && variable->is_matrix &&
           variable->has_data && variable->has_first && !variable->is_sampled;
}

const struct tc_value *tc_first_tensor(const struct tc_call *call)
{
    return tc_is_tensor(call->self) ? call->self : tc_call_next_tensor(call, &(uint32_t){0});
}

bool tc_plain_number(const struct tc_value *operand, double *number)
{
    const struct tc_value *summary = tc_value_get(operand, "summary");
    double most;

    if (!operand || tc_requires_gradient(operand))
        return false;
    if (summary && tc_count_elements(tc_value_get(operand, "shape")) == 1)
        return tc_value_number(tc_value_get(summary, "min"), number) &&
               tc_value_number(tc_value_get(summary, "max"), &most) && most <= *number;
    return tc_value_number(operand, number) ||
           tc_value_number(tc_value_get(operand, "value"), number);
}

bool tc_is_loss_value(const struct tc_value *value)
{
    return !tc_n_dimensions(value) && tc_requires_gradient(value);
}

#define PRECISION 1e-4

bool tc_is_near(double a, double b)
{
    return fabs(a - b) <= PRECISION * fabs(b);
}

void tc_release_map(void *of_process)
{
    tc_map_release(of_process);
}

void tc_release_map_of_structs(void *of_process)
{
    tc_map_release_structs(of_process);
}

bool tc_is_first(struct tc_map *seen, tc_sym sym)
{
    bool is_new;

    tc_map_at(seen, sym, &is_new);
    return is_new;
}

bool tc_is_by_torch(const struct tc_strtab *symbols, const struct tc_call *call)
{
    return !call->parent && tc_str_is(tc_symbols_text(symbols, call->by), "torch");
}

bool tc_is_by_the_user(const struct tc_strtab *symbols, const struct tc_call *call)
{
    struct tc_str by = tc_symbols_text(symbols, call->by);

    if (by.size && !tc_str_is(by, "user"))
        return false;
    for (const struct tc_call *around = call->parent; around; around = around->parent)
        if (around->role == TC_ROLE_LIBRARY || around->role == TC_ROLE_DATA)
            return false;
    return true;
}

const struct tc_call *tc_root_around(const struct tc_call *call)
{
    while (call && !call->is_root)
        call = call->parent;
    return call;
}

bool tc_is_draw(const struct tc_strtab *symbols, const struct tc_call *call)
{
    const char *name = strrchr(tc_strtab_text(symbols, call->descriptor), '.');

    return name && (!strcmp(name, ".multinomial") || !strcmp(name, ".sample"));
}

bool tc_is_training_forward(const struct tc_call *call)
{
    return call->is_root && !tc_value_get(call->ctx, "grad") && tc_call_is_training(call);
}

bool tc_is_subject(const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    return event->kind == TC_EVENT_CALL && !call->raised && !event->process->is_worker &&
           (call->is_root || tc_role_has(call->role, TC_TRAIT_SUBJECT));
}

bool tc_is_step_window(const struct tc_event *event)
{
    return event->kind == TC_EVENT_WINDOW && event->window->has_step && !event->process->is_worker;
}

tc_sym tc_class_of(struct tc_strtab *symbols, const char *prefix, tc_sym fn)
{
    const char *name = tc_strtab_text(symbols, fn), *dot = strrchr(name, '.');

    return tc_symbols_join(symbols, prefix,
                           (struct tc_str){name, dot ? (uint32_t)(dot - name) : 0});
}

tc_sym tc_known_class(struct tc_strtab *symbols, tc_sym fn)
{
    return TC_ATOM(symbols, TC_SYM_KNOWN, tc_class_of(symbols, "", fn));
}

bool tc_has_no_rate(const struct tc_situation *situation)
{
    for (size_t i = 0; i < situation->n; i++)
        if (situation->pairs[i].field == TC_SYM_F_SELF_LR)
            return situation->pairs[i].value == TC_SYM_ZERO ||
                   situation->pairs[i].value == TC_SYM_TINY;
    return false;
}

void tc_explain_receiver(const struct tc_event *event, struct tc_strbuf *out)
{
    struct tc_str class = tc_value_str(tc_value_get(event->call->self, "object"));

    if (class.text)
        tc_strbuf_addf(out, " (%.*s)", (int)class.size, class.text);
}

void tc_explain_call_at(const struct tc_strtab *symbols, tc_sym fn, tc_sym at,
                        struct tc_strbuf *out)
{
    const char *place = at == TC_NO_SYM ? "" : tc_strtab_text(symbols, at);
    const char *slash = strrchr(place, '/');

    tc_describe_call(symbols, fn, out);
    if (place[0])
        tc_strbuf_addf(out, " at %s", slash ? slash + 1 : place);
}

static void explain_call_in(const struct tc_strtab *symbols, tc_sym fn, tc_sym at, tc_sym in,
                            tc_sym in_at, struct tc_strbuf *out)
{
    tc_strbuf_adds(out, ": ");
    tc_explain_call_at(symbols, fn, at, out);
    if (in == TC_NO_SYM)
        return;
    tc_strbuf_adds(out, " in ");
    tc_explain_call_at(symbols, in, in_at, out);
}

void tc_explain_writer(const struct tc_strtab *symbols, const struct tc_event *event,
                       const struct tc_variable *variable, struct tc_strbuf *out)
{
    const struct tc_write *write = &variable->written;
    const bool is_step = event->call && event->call->role == TC_ROLE_STEP;

    if (write->fn == TC_NO_SYM || (!is_step && write->id < variable->stepped))
        return;
    explain_call_in(symbols, write->fn, write->at, write->in, write->in_at, out);
}

struct tc_spot tc_spot_of(const struct tc_event *event)
{
    struct tc_place place;

    tc_place_of(event, &place);
    return (struct tc_spot){place.call, place.at, place.in, place.in_at};
}

void tc_spot_keep(struct tc_map *spots, const struct tc_value *object, struct tc_spot spot)
{
    struct tc_spot *kept = tc_map_struct(spots, (uint64_t)tc_serial_of(object), sizeof(*kept));

    *kept = spot;
}

void tc_place_move(struct tc_place *place, const struct tc_spot *spot)
{
    place->call = spot->call;
    place->at = spot->at;
    place->in = spot->in;
    place->in_at = spot->in_at;
}

#define MAX_PENDING 4096

void *tc_tell_step(struct tc_map *steps, size_t size, const struct tc_event *event,
                   const struct tc_spot *spot)
{
    const int64_t key[] = {event->process->restart, event->call->step};
    struct tc_told_step *step;

    if (steps->n >= MAX_PENDING)
        tc_map_release_structs(steps);
    step = tc_map_struct(steps, tc_hash64(key, sizeof(key), 0), size);
    if (!step->n || event->process->rank < step->place.rank) {
        tc_place_of(event, &step->place);
        if (spot)
            tc_place_move(&step->place, spot);
    }
    step->n++;
    return step;
}

void tc_explain_place(const struct tc_strtab *symbols, const struct tc_place *place,
                      struct tc_strbuf *out)
{
    if (place->call != TC_SYM_EMPTY)
        explain_call_in(symbols, place->call, place->at, place->in, place->in_at, out);
}
