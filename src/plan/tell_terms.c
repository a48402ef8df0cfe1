/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell_terms.c - in words: sums whose terms are not treated alike or lack some, unread messages
 */
#include "plan/tell.h"

/* What is added of one line is treated in two ways. */
struct tc_plan_finding tc_story_tell_terms(struct tc_story *s, const struct tc_plan_judged *judged,
                                           const struct tc_unlike *unlike)
{
    struct tc_plan_finding f = tc_tell_new(s, judged, unlike->at);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs at %s: of the values of ", f.op);
    tc_tell_op(&text, &s->program->ops.items[unlike->term]);
    if (unlike->axis != UINT32_MAX) {
        f.kind = "missing-reduction";
        f.axis = s->grid.names[unlike->axis];
        tc_strbuf_addf(&text, " some are summed over %s here, others are not", f.axis);
        f.hint = "what is added before the sum is part of it, what is added later is not";
    } else {
        f.kind = "factor";
        tc_strbuf_adds(&text, ", which are added, some have this factor more often than others");
        f.hint = "what was added before it is multiplied, too";
    }
    tc_strbuf_adds(&text, "; all are in the value of ");
    tc_tell_op(&text, &s->program->ops.items[unlike->top]);
    f.details = tc_tell_operands(s, unlike->at);
    f.drawing = tc_story_draw(s, judged, unlike->at, TC_NO_OP);
    tc_tell_keep(s, &f, &text);
    return f;
}

struct tc_plan_finding tc_story_tell_idle(struct tc_story *s, const struct tc_plan_judged *judged,
                                          const struct tc_idle *idle)
{
    const struct tc_plan_op *ops = s->program->ops.items, *reader = &ops[idle->reader];
    struct tc_plan_finding f = tc_tell_new(s, judged, idle->reader);
    struct tc_strbuf text = TC_STRBUF_INIT;

    f.kind = "unread-message";
    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs at %s: ", f.op);
    if (idle->is_passed_on)
        tc_strbuf_adds(&text, "it reads what the rank sends away, and nothing reads what arrives");
    else if (idle->is_replaced)
        tc_strbuf_adds(&text, "what it makes is sent on, and nothing reads what has arrived");
    else
        tc_strbuf_adds(&text,
                       "it reads what arrives, and nothing reads what arrives the next time");
    tc_strbuf_adds(&text, " by ");
    tc_tell_op(&text, &ops[idle->receive]);
    tc_plan_add_callers(s->program, s->single->ranks[0].program, &ops[idle->receive], &text);
    if (*reader->made)
        tc_strbuf_addf(&text, "; it reads what was chosen at %s",
                       tc_tell_own_lines(s, reader->made));
    f.hint = "compute with what the other rank has sent";
    f.details = tc_tell_operands(s, idle->reader);
    f.drawing = tc_story_draw(s, judged, idle->reader, TC_NO_OP);
    tc_tell_keep(s, &f, &text);
    return f;
}

/* A sum of numbers, as of squares of gradients, that has only those of the rank. */
struct tc_plan_finding tc_story_tell_lacking(struct tc_story *s,
                                             const struct tc_plan_judged *judged,
                                             const struct tc_lacking *lacking)
{
    const struct tc_plan_op *ops = s->program->ops.items;
    uint32_t top = lacking->top;
    struct tc_plan_finding f = tc_tell_new(s, judged, top);
    struct tc_strbuf text = TC_STRBUF_INIT;
    size_t next = tc_plan_next_line(s->program, top, 0);

    tc_plan_describe_result(s->single, judged->name, &text);
    tc_strbuf_addf(&text, " departs at %s: it adds %u of the %u numbers that one device adds", f.op,
                   lacking->n, lacking->n_single);
    if (next < s->program->ops.n) {
        tc_strbuf_adds(&text, ", before ");
        tc_tell_op(&text, &ops[next]);
    }
    f.kind = "left-out";
    f.hint = "other ranks have the others: sum it over them";
    f.details = tc_tell_operands(s, top);
    f.drawing = tc_story_draw(s, judged, top, TC_NO_OP);
    tc_tell_keep(s, &f, &text);
    return f;
}
