/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - what was told of the content of a variable and of its gradient, and what a look adds
 *
 * What a look sees of the content may come later than the look itself (queue.h). So what depends on
 * it is kept apart from the rest (tracked.h), and changes in the order of the looks.
 */
#ifndef TC_COLLECT_TOLD_H
#define TC_COLLECT_TOLD_H

#include "collect/agent/look/digest.h"
#include "collect/agent/look/look.h"

/* Of one variable. */
struct tc_told {
    uint64_t digest;
    bool readable;
    enum tc_grad_class grad;
    bool cleared;   /* the gradient was absent, zero or another tensor since the last step */
    double max_abs; /* of the content, -1 if not known */
    char *extra;    /* attributes hung on the tensor, as JSON members; owned, or NULL */
};

enum tc_gradient {
    TC_GRADIENT_KEPT, /* nothing was written to it */
    TC_GRADIENT_ABSENT,
    TC_GRADIENT_EMPTY,
    TC_GRADIENT_UNREADABLE,
    TC_GRADIENT_READ,
};

struct tc_told *tc_told_new(void);
void tc_told_free(struct tc_told *told);

/* What a look saw. */
struct tc_news {
    bool is_due;     /* a record is written, if only it says something */
    bool is_changed; /* something else than the content is new: a record is written */
    bool is_first;
    bool is_renamed;
    bool is_read, is_readable, is_sampled; /* the content */
    struct tc_figure digest;
    bool has_sketch; /* of a content that is new */
    struct tc_sketch sketch;
    enum tc_gradient gradient;
    bool is_other_gradient;
    bool has_own;               /* own is told, too */
    struct tc_figure grad, own; /* largest magnitudes: of the gradient, of the variable */
};

/* Take the news; returns what of a record they make: */
#define TC_TELL_NOTHING 0x0u
#define TC_TELL_RECORD  0x1u
#define TC_TELL_DATA    0x2u
#define TC_TELL_GRAD    0x4u
unsigned tc_told_take(struct tc_told *told, const struct tc_news *news);

#endif /* TC_COLLECT_TOLD_H */
