/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_arg_terms.c - APIArg/terms: what a loss is the sum of
 *
 * Scripts add up losses by operators of their own. Numbers show what adds: a result that is the
 * sum or the difference of its two operands, or one operand times, by or plus a number. Each
 * backward of such a sum is an example, which says of its terms:
 *
 *   graphed    none is made of gradients that were computed without a graph. A penalty that is to
 *              train something has one (create_graph)
 *   attached   none that was computed from weights, or from what requires a gradient, requires
 *              none
 *   distinct   no two are what one function returned for the same tensors
 *   apart      none was propagated itself in this step, with another one among its own terms: a
 *              total to which each part of a batch adds
 *
 * Only content shows a number: without it there is no example. Only calls of torch and operators
 * of the script are followed, as a selection has them all.
 */
#include "relation/claims.h"
#include "relation/form.h"
#include "relation/third_time.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "replay/symbols.h"
#include "trace/member.h"

/* Terms of one loss, tensors of one call, and tensors of a process that are known. */
#define MAX_TERMS   32
#define MAX_TENSORS 16
#define MAX_KNOWN   16384

struct sum {
    size_t n;
    int64_t terms[MAX_TERMS];
};

/* The call that returned a number, with all that it was given. */
struct origin {
    uint64_t call;
    double number;
};

struct losses {
    struct tc_map sums;       /* serial → struct sum * */
    struct tc_map origins;    /* serial → struct origin * */
    struct tc_map ungraphed;  /* serials of what is made of gradients without a graph */
    struct tc_map detached;   /* and of what is made of weights, or of what has a graph, without */
    struct tc_map propagated; /* in this step: serial → totals in one another, this one included */
};

static void losses_release(void *of_process)
{
    struct losses *losses = of_process;

    tc_map_release_structs(&losses->sums);
    tc_map_release_structs(&losses->origins);
    tc_map_release(&losses->ungraphed);
    tc_map_release(&losses->detached);
    tc_map_release(&losses->propagated);
}

static void forget_if_full(struct losses *losses)
{
    if (losses->detached.n >= MAX_KNOWN) /* an evaluation makes many */
        tc_map_clear(&losses->detached);
    if (losses->sums.n < MAX_KNOWN && losses->origins.n < MAX_KNOWN &&
        losses->ungraphed.n < MAX_KNOWN)
        return;
    losses_release(losses);
    memset(losses, 0, sizeof(*losses));
}

/* ---- tensors of a call ---------------------------------------------------------------------- */

struct tensors {
    const struct tc_value *items[MAX_TENSORS];
    size_t n;
};

/* Of a value, or of lists and objects in it. */
static void find_tensors(const struct tc_value *v, unsigned depth, struct tensors *out)
{
    if (!v || !depth || out->n == MAX_TENSORS)
        return;
    if (tc_is_tensor(v)) {
        out->items[out->n++] = v;
        return;
    }
    for (uint32_t i = 0; v->kind == TC_VALUE_ARRAY && i < v->n; i++)
        find_tensors(&v->items[i], depth - 1, out);
    for (uint32_t i = 0; v->kind == TC_VALUE_OBJECT && i < v->n; i++)
        find_tensors(&v->members[i].value, depth - 1, out);
}

static bool is_float(const struct tc_value *tensor)
{
    return tc_is_of_dtype(tc_value_get(tensor, "dtype"), "float");
}

static bool is_number(const struct tc_value *v)
{
    return v && (v->kind == TC_VALUE_INT || (v->kind == TC_VALUE_FLOAT && isfinite(v->number)));
}

static double number_in_value(const struct tc_value *v)
{
    return v->kind == TC_VALUE_INT ? (double)v->integer : v->number;
}

/* Has the tensor one element, and no dimension, and is it known? */
static bool has_number(const struct tc_value *tensor)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    return shape && shape->kind == TC_VALUE_ARRAY && !shape->n && is_float(tensor) &&
           is_number(tc_value_get(tensor, "value"));
}

static double number_in(const struct tc_value *tensor)
{
    return number_in_value(tc_value_get(tensor, "value"));
}

/* ---- what is made of gradients without a graph ---------------------------------------------- */

static bool requires_any(const struct tensors *operands)
{
    for (size_t i = 0; i < operands->n; i++)
        if (tc_requires_gradient(operands->items[i]))
            return true;
    return false;
}

/* The call that made something of that kind, and its line; 0: none. */
static uint64_t maker(const struct tc_call *call)
{
    return (uint64_t)call->descriptor << 32 | tc_call_at(call);
}

static uint64_t maker_of(const struct tc_map *made, int64_t serial)
{
    uint64_t maker;

    return tc_map_get(made, (uint64_t)serial, &maker) ? maker : 0;
}

/* Of the first operand that is such a thing. */
static uint64_t maker_of_any(const struct tc_map *made, const struct tensors *operands)
{
    uint64_t maker = 0;

    for (size_t i = 0; i < operands->n && !maker; i++)
        maker = maker_of(made, tc_serial_of(operands->items[i]));
    return maker;
}

/* Does the call ask for gradients of what requires some, and for no graph of them? */
static bool drops_graph(const struct tc_call *call, const struct tensors *operands)
{
    const struct tc_value *create_graph = tc_value_get(call->args, "create_graph");

    return create_graph && create_graph->kind == TC_VALUE_BOOL && !create_graph->boolean &&
           !tc_value_get(call->ctx, "grad") && requires_any(operands);
}

/* Of the results those without a gradient are made so, by what made the operand or by the call;
 * maker is 0 where none is. */
static void note(struct tc_map *made, uint64_t maker, const struct tensors *results)
{
    for (size_t i = 0; i < results->n; i++) {
        const uint64_t serial = (uint64_t)tc_serial_of(results->items[i]);
        if (maker && is_float(results->items[i]) && !tc_requires_gradient(results->items[i]))
            tc_map_put(made, serial, maker);
        else
            tc_map_remove(made, serial);
    }
}

/* State that was taken is of weights. What is made without gradients on purpose is to train
 * nothing.
 */
static void follow_graph(struct losses *losses, const struct tc_call *call,
                         const struct tensors *operands, const struct tensors *results)
{
    const bool has_grad = !tc_value_get(call->ctx, "grad");
    uint64_t ungraphed = maker_of_any(&losses->ungraphed, operands), detached = 0;

    if (!ungraphed && drops_graph(call, operands))
        ungraphed = maker(call);
    if (!ungraphed && has_grad)
        detached = maker_of_any(&losses->detached, operands);
    if (!ungraphed && !detached && has_grad &&
        (call->role == TC_ROLE_SAVE || requires_any(operands)))
        detached = maker(call);
    note(&losses->ungraphed, ungraphed, results);
    note(&losses->detached, detached, results);
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* As far as the dtype keeps it. */
static bool is_about(const struct tc_value *result, double number)
{
    const double scale = fmax(fabs(number), fabs(number_in(result)));
    const double share = tc_is_of_dtype(tc_value_get(result, "dtype"), "float16") ? 1e-2 : 1e-6;

    return fabs(number_in(result) - number) <= scale * share;
}

/* Each of two numbers has a part in their sum. */
static bool is_sum(const struct tc_value *result, const struct tensors *operands)
{
    if (operands->n != 2 || !has_number(operands->items[0]) || !has_number(operands->items[1]))
        return false;
    const double a = number_in(operands->items[0]), b = number_in(operands->items[1]);
    return (is_about(result, a + b) || is_about(result, a - b)) && !is_about(result, a) &&
           !is_about(result, b) && !is_about(result, -b);
}

/* The operand with a gradient, times or plus a number that has none; NULL for none. */
static const struct tc_value *scaled(const struct tc_value *result, const struct tensors *operands,
                                     double number)
{
    for (size_t i = 0; i < operands->n; i++) {
        const double a = number_in(operands->items[i]);
        if (!tc_requires_gradient(operands->items[i]) || number == 1)
            continue;
        if (is_about(result, a * number) || is_about(result, a + number) ||
            (number != 0 && is_about(result, a / number)))
            return operands->items[i];
    }
    return NULL;
}

/* The one operand that counts, where the call does no more than scale it. */
static const struct tc_value *find_scaled(const struct tc_call *call, const struct tc_value *result,
                                          const struct tensors *operands)
{
    const struct tc_value *found = NULL;

    for (size_t i = 0; i < operands->n; i++)
        if (!has_number(operands->items[i]))
            return NULL;
    if (operands->n == 2 &&
        !(tc_requires_gradient(operands->items[0]) && tc_requires_gradient(operands->items[1])))
        return scaled(result, operands,
                      number_in(operands->items[tc_requires_gradient(operands->items[0])]));
    for (uint32_t i = 0; operands->n == 1 && call->args && i < call->args->n && !found; i++)
        if (is_number(&call->args->members[i].value))
            found = scaled(result, operands, number_in_value(&call->args->members[i].value));
    return found;
}

static void add_term(struct losses *losses, struct sum *sum, const struct tc_value *operand)
{
    const int64_t serial = tc_serial_of(operand);
    const struct sum *inner = tc_map_find(&losses->sums, (uint64_t)serial);

    if (sum->n < MAX_TERMS)
        sum->terms[sum->n++] = serial;
    for (size_t i = 0; inner && i < inner->n && sum->n < MAX_TERMS; i++)
        sum->terms[sum->n++] = inner->terms[i];
}

static uint64_t digest_of(const struct tc_call *call, const struct tensors *operands)
{
    uint64_t digest = tc_hash_mix(0, call->fn, operands->n);

    for (size_t i = 0; i < operands->n; i++)
        digest = tc_hash_mix(digest, (uint64_t)tc_serial_of(operands->items[i]), i);
    for (uint32_t i = 0; call->args && i < call->args->n; i++) {
        const struct tc_value *v = &call->args->members[i].value;
        const struct tc_str text = tc_value_str(v);
        const double number =
            is_number(v) ? number_in_value(v) : v->kind == TC_VALUE_BOOL && v->boolean;
        digest = tc_hash64(&number, sizeof(number), digest);
        digest = text.text ? tc_hash64(text.text, text.size, digest) : digest;
    }
    return digest;
}

static void follow_sum(struct losses *losses, const struct tc_call *call,
                       const struct tensors *operands, const struct tc_value *result)
{
    const uint64_t serial = (uint64_t)tc_serial_of(result);
    const bool adds = is_sum(result, operands);
    const struct tc_value *one = adds ? NULL : find_scaled(call, result, operands);
    struct sum sum = {0};

    if (adds || one) {
        add_term(losses, &sum, one ? one : operands->items[0]);
        if (adds)
            add_term(losses, &sum, operands->items[1]);
        *(struct sum *)tc_map_struct(&losses->sums, serial, sizeof(sum)) = sum;
    } else if (operands->n >= 2) {
        *(struct origin *)tc_map_struct(&losses->origins, serial, sizeof(struct origin)) =
            (struct origin){digest_of(call, operands), number_in(result)};
    }
}

static void follow_call(struct losses *losses, const struct tc_call *call)
{
    struct tensors operands = {.n = 0}, results = {.n = 0};

    if (tc_is_tensor(call->self))
        find_tensors(call->self, 1, &operands);
    find_tensors(call->args, 3, &operands);
    find_tensors(call->end->value, 3, &results);
    forget_if_full(losses);
    follow_graph(losses, call, &operands, &results);
    if (results.n == 1 && has_number(results.items[0]) && tc_requires_gradient(results.items[0]))
        follow_sum(losses, call, &operands, results.items[0]);
}

/* ---- a backward ----------------------------------------------------------------------------- */

static const struct origin *origin_of(const struct losses *losses, int64_t serial)
{
    return tc_map_find(&losses->origins, (uint64_t)serial);
}

static bool has_twice(const struct losses *losses, const struct sum *sum)
{
    for (size_t i = 0; i < sum->n; i++) {
        const struct origin *a = origin_of(losses, sum->terms[i]);
        for (size_t k = 0; a && k < i; k++) {
            const struct origin *b = origin_of(losses, sum->terms[k]);
            if (b && sum->terms[i] != sum->terms[k] && a->call == b->call && a->number == b->number)
                return true;
        }
    }
    return false;
}

static uint64_t maker_of_term(const struct tc_map *made, const struct sum *sum)
{
    uint64_t maker = 0;

    for (size_t i = 0; i < sum->n && !maker; i++)
        maker = maker_of(made, sum->terms[i]);
    return maker;
}

/* Of a term that trains nothing: what made it so. 0: there is none. */
struct makers {
    uint64_t ungraphed, detached;
};

/* How many totals, each in the next one, have been propagated, this one included. */
static uint64_t nest(struct losses *losses, int64_t serial, const struct sum *sum)
{
    uint64_t n, most = 0;

    for (size_t i = 0; i < sum->n; i++)
        if (tc_map_get(&losses->propagated, (uint64_t)sum->terms[i], &n) && n > most)
            most = n;
    tc_map_put(&losses->propagated, (uint64_t)serial, most + 1);
    return most + 1;
}

static void judge_loss(struct losses *losses, const struct tc_event *event,
                       const struct tc_sink *sink)
{
    static const struct sum no_sum = {.n = 0};
    const struct tc_situation none = {.n = 0};
    const bool is_receiver = tc_is_tensor(event->call->self);
    const int64_t serial = tc_serial_of(
        is_receiver ? event->call->self : tc_call_next_tensor(event->call, &(uint32_t){0}));
    const struct sum *known = tc_map_find(&losses->sums, (uint64_t)serial);
    const struct sum *sum = known ? known : &no_sum;
    /* The first two totals of totals may be wanted, as a gradient of a part is looked at. */
    const bool is_nested = nest(losses, serial, sum) >= TC_THIRD_TIME;

    if (sum->n < 2)
        return;
    const uint64_t ungraphed = maker_of_term(&losses->ungraphed, sum);
    const uint64_t detached = maker_of_term(&losses->detached, sum);
    const struct makers makers = {ungraphed, detached};
    tc_sym outcome[] = {ungraphed ? TC_SYM_UNGRAPHED : TC_SYM_GRAPHED,
                        detached ? TC_SYM_DETACHED : TC_SYM_ATTACHED,
                        has_twice(losses, sum) ? TC_SYM_REPEATED : TC_SYM_DISTINCT,
                        is_nested ? TC_SYM_NESTED : TC_SYM_APART};
    const size_t n = sizeof(outcome) / sizeof(*outcome);
    tc_sym_sort(outcome, n);
    const struct tc_example example = {.key = TC_SYM_LOSS,
                                       .situation = &none,
                                       .outcome = outcome,
                                       .n_outcome = n,
                                       .detail = &makers};
    sink->example(sink->context, event, &example);
}

static void terms_observe(void *state, struct tc_strtab *symbols, const struct tc_event *event,
                          const struct tc_sink *sink)
{
    const struct tc_call *call = event->call;

    (void)symbols;
    if (!event->process || event->process->is_worker)
        return;
    if (event->kind == TC_EVENT_WINDOW)
        tc_map_clear(&((struct losses *)tc_process_state(state, event->process))->propagated);
    if (event->kind != TC_EVENT_CALL || call->raised || call->th != 0)
        return;
    struct losses *losses = tc_process_state(state, event->process);
    if (call->role == TC_ROLE_STEP || call->role == TC_ROLE_ZERO_GRAD)
        tc_map_clear(&losses->propagated);
    else if (call->role == TC_ROLE_FUNCTION || call->role == TC_ROLE_OPERATOR ||
             call->role == TC_ROLE_SAVE)
        follow_call(losses, call);
    else if (call->role == TC_ROLE_BACKWARD && !tc_call_is_within(call->parent, TC_ROLE_BACKWARD))
        judge_loss(losses, event, sink);
}

const struct tc_source tc_source_terms = {.name = "terms",
                                          .judged = "a backward of a sum that the script made",
                                          .is_set = true,
                                          .looks_closely = true,
                                          .process_size = sizeof(struct losses),
                                          .release_process = losses_release,
                                          .observe = terms_observe};

/* ---- the form ------------------------------------------------------------------------------- */

#define CLAIM(to_, held_, broken_, expected_, seen_)                                             \
    {                                                                                            \
        .key = {TC_SYM_LOSS}, .roles = {TC_ROLE_BACKWARD}, .n_roles = 1, .of = TC_PARAM_OPERAND, \
        .kind = TC_SYM_TERM, .attr = TC_SYM_IS, .to = (to_), .held = {(held_)},                  \
        .broken = {(broken_)}, .if_met = true, .support = TC_SUPPORT_USAGE,                      \
        .expected = (expected_), .seen = (seen_)                                                 \
    }

static const struct tc_claim claims[] = {
    CLAIM(TC_SYM_GRAPHED_VALUE, TC_SYM_GRAPHED, TC_SYM_UNGRAPHED,
          "no term of a loss is made of gradients that have no graph", NULL),
    CLAIM(TC_SYM_ATTACHED_VALUE, TC_SYM_ATTACHED, TC_SYM_DETACHED,
          "no term of a loss that is made of weights is without a gradient", NULL),
    CLAIM(TC_SYM_DISTINCT_VALUE, TC_SYM_DISTINCT, TC_SYM_REPEATED,
          "no term of a loss is in it twice",
          "one function was given the same tensors twice, and both results are terms"),
    CLAIM(TC_SYM_APART_VALUE, TC_SYM_APART, TC_SYM_NESTED,
          "a loss that was propagated is no term of another one in the same step",
          "a total was propagated that holds another one, and that one a third, all of them "
          "propagated in this step: what came first counts most"),
};

static void explain(struct tc_strtab *symbols, const struct tc_invariant *invariant,
                    const struct tc_event *event, const struct tc_example *example,
                    struct tc_strbuf *out)
{
    const struct makers *makers = example->detail;
    const bool is_ungraphed = invariant->params[1].to == TC_SYM_GRAPHED_VALUE;
    const uint64_t maker = is_ungraphed ? makers->ungraphed : makers->detached;

    (void)event;
    tc_strbuf_adds(out, "a term is made of ");
    if (is_ungraphed)
        tc_strbuf_adds(out, "gradients that were asked for without a graph");
    else
        tc_strbuf_adds(out, "weights, or of what has a gradient, and has none");
    tc_strbuf_adds(out, ": it trains nothing; it comes from ");
    tc_explain_call_at(symbols, (tc_sym)(maker >> 32), (tc_sym)maker, out);
}

const struct tc_relation tc_api_arg_terms = {
    .name = "APIArg/terms",
    .summary = "no term of a loss is in it twice, trains nothing, or was propagated before",
    .hint = "Which terms is this loss the sum of, and does each of them train what it is for?",
    .fault = TC_FAULT_AT_BEGIN,
    .excused_by = 1u << TC_ROLE_FUNCTION | 1u << TC_ROLE_OPERATOR | 1u << TC_ROLE_STEP |
                  1u << TC_ROLE_ZERO_GRAD | 1u << TC_ROLE_SAVE,
    .needs_content = true,
    .needs_operators = true,
    .source = &tc_source_terms,
    .explain = explain,
    .claims = claims,
    .n_claims = TC_N_CLAIMS(claims),
};
