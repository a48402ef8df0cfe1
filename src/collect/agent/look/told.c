/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.c - merges the news of a look into what was told, and says what is worth a record
 *
 * Called in the order of the looks, which may be later than they were taken, and needs no Python.
 * An answer that was lost leaves what was told before.
 */
#include "collect/agent/look/told.h"

#include "base/arena.h"

struct tc_told *tc_told_new(void)
{
    struct tc_told *told = tc_calloc(1, sizeof(*told));

    told->cleared = true;
    told->max_abs = -1;
    return told;
}

void tc_told_free(struct tc_told *told)
{
    tc_free(told->extra);
    tc_free(told);
}

static enum tc_grad_class class_of(const struct tc_told *told, const struct tc_news *news)
{
    double max;

    switch (news->gradient) {
    case TC_GRADIENT_KEPT:
        break;
    case TC_GRADIENT_ABSENT:
        return TC_GRAD_NULL;
    case TC_GRADIENT_EMPTY:
        return TC_GRAD_ZERO;
    case TC_GRADIENT_UNREADABLE:
        return TC_GRAD_NON_ZERO;
    case TC_GRADIENT_READ:
        if (tc_figure_number(&news->grad, &max))
            return tc_grad_classify(max, told->max_abs);
        break; /* the answer was lost */
    }
    return told->grad;
}

static unsigned take_content(struct tc_told *told, const struct tc_news *news)
{
    const struct tc_told old = *told;

    if (!news->is_read || (news->is_readable && !tc_figure_digest(&news->digest, &told->digest)))
        return 0; /* or the answer was lost */
    told->readable = news->is_readable;
    return told->digest != old.digest || told->readable != old.readable ? TC_TELL_DATA : 0;
}

static unsigned take_gradient(struct tc_told *told, const struct tc_news *news)
{
    enum tc_grad_class class;
    bool is_new;

    if (news->has_own && !tc_figure_number(&news->own, &told->max_abs))
        told->max_abs = -1;
    class = class_of(told, news);
    is_new = class != told->grad;
    told->grad = class;
    if (class == TC_GRAD_ZERO || news->gradient == TC_GRADIENT_ABSENT || news->is_other_gradient)
        told->cleared = true;
    return is_new ? TC_TELL_GRAD : 0;
}

unsigned tc_told_take(struct tc_told *told, const struct tc_news *news)
{
    unsigned what = take_content(told, news);

    what |= take_gradient(told, news);
    if (news->is_first)
        what |= TC_TELL_DATA | TC_TELL_GRAD;
    if (what || news->is_due || news->is_changed || news->is_renamed)
        what |= TC_TELL_RECORD;
    return what;
}
