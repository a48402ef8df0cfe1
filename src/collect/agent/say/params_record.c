/* SPDX-License-Identifier: Apache-2.0 */
/*
 * params_record.c - `params` and `uncleared` of an optimizer's calls
 *
 * What depends on gradients whose answers have not come yet is a hole, filled in the order of the
 * queue. tc_params_stepped() puts into the same queue that a step was made: only after it a
 * gradient counts as not cleared since.
 */
#include "collect/agent/say/params_record.h"

#include "collect/agent/look/owned.h"
#include "collect/agent/look/tracked.h"
#include "collect/agent/say/line.h"
#include "collect/agent/say/queue.h"
#include "collect/agent/torch/identity.h"

struct params {
    struct tc_strbuf *out;
    size_t n;
};

static void add_param_record(PyObject *param, size_t group, size_t i, void *context)
{
    struct params *p = context;
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (!v || !v->announced)
        return;
    if (p->n++)
        tc_strbuf_addc(p->out, ',');
    tc_strbuf_add_int(p->out, v->serial);
}

/* Variables of an optimizer, for what depends on their gradients and may have to wait for them. */
struct owned {
    struct tc_deferred head; /* for stepped() */
    size_t n, cap;
    struct {
        struct tc_told *told;
        int64_t serial;
    } items[];
};

static void count_owned(PyObject *param, size_t group, size_t i, void *context)
{
    (void)param;
    (void)group;
    (void)i;
    ++*(size_t *)context;
}

static void add_owned(PyObject *param, size_t group, size_t i, void *context)
{
    struct owned *owned = context;
    const struct tc_tracked *v = tc_tracked_find(tc_identity_tensor(param));

    (void)group;
    (void)i;
    if (!v || !v->announced || owned->n == owned->cap)
        return;
    owned->items[owned->n].told = v->told;
    owned->items[owned->n++].serial = v->serial;
}

/* To be freed with tc_free. */
static struct owned *owned_by(PyObject *optimizer)
{
    size_t n = 0, size;
    struct owned *owned;

    tc_owned_each(optimizer, count_owned, &n);
    size = sizeof(*owned) + n * sizeof(owned->items[0]);
    owned = tc_calloc(1, size);
    owned->cap = n;
    owned->head.size = size;
    tc_owned_each(optimizer, add_owned, owned);
    return owned;
}

static void fill_uncleared(struct tc_strbuf *out, const struct tc_hole *hole, const char *text,
                           const struct tc_piece *pieces)
{
    const struct owned *owned = hole->told;
    size_t n = 0;

    (void)text;
    (void)pieces;
    for (size_t i = 0; i < owned->n; i++) {
        const struct tc_told *told = owned->items[i].told;

        if (told->cleared || told->grad == TC_GRAD_NULL)
            continue;
        tc_strbuf_adds(out, n++ ? "," : ",\"uncleared\":[");
        tc_strbuf_add_int(out, owned->items[i].serial);
    }
    if (n)
        tc_strbuf_addc(out, ']');
}

void tc_params_add(struct tc_strbuf *out, PyObject *optimizer, bool with_uncleared)
{
    struct params p = {out, 0};

    if (!tc_agent.track || !tc_owned_is_shown(optimizer))
        return;
    tc_strbuf_adds(out, ",\"params\":[");
    tc_owned_each(optimizer, add_param_record, &p);
    tc_strbuf_addc(out, ']');
    if (!with_uncleared)
        return;
    tc_line_open(fill_uncleared, owned_by(optimizer));
    tc_line_close();
}

static void run_stepped(struct tc_deferred *self)
{
    const struct owned *owned = (const struct owned *)(void *)self;

    for (size_t i = 0; i < owned->n; i++) {
        struct tc_told *told = owned->items[i].told;

        if (told->grad != TC_GRAD_NULL && told->grad != TC_GRAD_ZERO)
            told->cleared = false;
    }
}

static void free_stepped(struct tc_deferred *self)
{
    tc_free(self);
}

void tc_params_stepped(PyObject *optimizer)
{
    struct owned *owned;

    if (!tc_agent.track)
        return;
    owned = owned_by(optimizer);
    owned->head.run = run_stepped;
    owned->head.free = free_stepped;
    tc_queue_do(&owned->head);
}
