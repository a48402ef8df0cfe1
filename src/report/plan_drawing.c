/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_drawing.c - the edge at which the layouts part, as a drawing: one device beside the job
 *
 * Two figures of the same form. Above stands what the operator reads, below it the operator, at the
 * base the result. The edge that breaks is dashed, with a cross and the layout it has.
 */
#include "report/plan_html.h"

#include <string.h>

#include "base/safe.h"

#define WIDTH      330 /* of a figure, in its own units */
#define GUTTER     38  /* left of the boxes, for the edges */
#define LINE       14  /* height of a line */
#define BOX        50  /* height of a box of three lines */
#define GAP        10  /* between the boxes of the operands */
#define FALL       36  /* from the operator to the result */
#define MAX_LETTER 39  /* of a line of a box */

enum side {
    SINGLE,
    PARALLEL
};

/* The end of a long text says more than its start: a file's name, a tensor's. */
static void add_short(struct tc_strbuf *out, const char *text)
{
    size_t n = strlen(text);

    if (n <= MAX_LETTER) {
        tc_safe_adds(out, TC_SAFE_XML, text);
        return;
    }
    text += n - MAX_LETTER + 1;
    while (((unsigned char)*text & 0xc0) == 0x80)
        text++;
    tc_strbuf_adds(out, "\xe2\x80\xa6");
    tc_safe_adds(out, TC_SAFE_XML, text);
}

static void add_line(struct tc_strbuf *out, int y, const char *class, const char *text)
{
    tc_strbuf_addf(out, "<text x=\"%d\" y=\"%d\"%s>", GUTTER + 8, y, class);
    add_short(out, text);
    tc_strbuf_adds(out, "</text>");
}

/* How much of a layout stands on its first line: all, or up to the last comma that fits. */
static size_t first_line(const char *layout)
{
    size_t n = strlen(layout), cut = 0;

    if (n <= MAX_LETTER)
        return n;
    for (size_t i = 0; i < MAX_LETTER; i++)
        if (layout[i] == ',')
            cut = i + 1;
    return cut ? cut : n;
}

static void add_layout(struct tc_strbuf *out, int y, const char *layout)
{
    size_t n = first_line(layout);
    struct tc_strbuf first = TC_STRBUF_INIT;

    tc_strbuf_add(&first, layout, n);
    add_line(out, y, " class=\"layout\"", first.text ? first.text : "");
    if (layout[n])
        add_line(out, y + LINE, " class=\"layout\"", layout + n + 1);
    tc_strbuf_release(&first);
}

/* A box: what, where if it is somewhere, in which layout. */
static void add_box(struct tc_strbuf *out, int y, int height, const char *what, const char *where,
                    const char *layout)
{
    tc_strbuf_addf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>", GUTTER, y,
                   WIDTH - GUTTER - 1, height);
    add_line(out, y += 16, "", what);
    if (*where)
        add_line(out, y += LINE, " class=\"faint\"", where);
    add_layout(out, y + LINE, layout);
}

static void add_value(struct tc_strbuf *out, int y, int box, const struct tc_plan_beside *b,
                      enum side side)
{
    if (side == PARALLEL || *b->name)
        add_box(out, y, box, *b->op ? b->op : b->name, *b->op ? b->src : "before the step",
                side == PARALLEL ? b->layout : "whole");
    else
        add_box(out, y, box, *b->single_op ? b->single_op : "no such value", b->single_src,
                *b->single_op ? "whole" : "");
}

/* All boxes of values are as high as the highest: both figures stand side by side. */
static int box_height(const struct tc_plan_drawing *d)
{
    bool is_long = d->value.layout[first_line(d->value.layout)];

    for (uint32_t i = 0; i < d->n_inputs; i++)
        is_long = is_long || d->inputs[i].layout[first_line(d->inputs[i].layout)];
    return is_long ? BOX + LINE : BOX;
}

static void add_cross(struct tc_strbuf *out, int x, int y)
{
    tc_strbuf_addf(out, "<path class=\"cross\" d=\"M%d %dl12 12m0 -12l-12 12\"/>", x - 6, y - 6);
}

/* From the left side of a box down into the operator's; the longest way runs outside. */
static void add_edge(struct tc_strbuf *out, int depth, int from, int base, int below,
                     bool is_broken)
{
    int lane = GUTTER - 8 - 5 * depth, to = base + 10 + 6 * depth;

    tc_strbuf_addf(out, "<path d=\"M%d %dH%dV%dH%d\"/>", GUTTER, from, lane, to, GUTTER - 5);
    tc_strbuf_addf(out, "<path class=\"tip\" d=\"M%d %dl-7 -4v8z\"/>", GUTTER, to);
    if (is_broken)
        add_cross(out, lane, (below + to) / 2);
}

static void add_inputs(struct tc_strbuf *out, const struct tc_plan_drawing *d, enum side side,
                       int box, int base)
{
    for (uint32_t i = 0; i < d->n_inputs; i++) {
        const struct tc_plan_beside *b = &d->inputs[i];
        bool is_broken = side == PARALLEL && b->is_broken;
        int y = 1 + (int)i * (box + GAP);
        tc_strbuf_adds(out, is_broken ? "<g class=\"broken\">" : "<g>");
        add_value(out, y, box, b, side);
        add_edge(out, (int)(d->n_inputs - i) - 1, y + box / 2, base, y + box, is_broken);
        tc_strbuf_adds(out, "</g>\n");
    }
}

static void add_result(struct tc_strbuf *out, const struct tc_plan_drawing *d, enum side side,
                       int from)
{
    bool is_broken = side == PARALLEL && d->value.is_broken;
    int x = WIDTH / 2;

    tc_strbuf_adds(out, is_broken ? "<g class=\"broken\">" : "<g>");
    tc_strbuf_addf(out, "<path d=\"M%d %dV%d\"/>", x, from, from + FALL - 6);
    tc_strbuf_addf(out, "<path class=\"tip\" d=\"M%d %dl-4 -7h8z\"/>", x, from + FALL);
    if (is_broken)
        add_cross(out, x, from + FALL / 2 - 3);
    add_box(out, from + FALL, BOX - LINE, d->result, "",
            side == PARALLEL ? "must be the single-device value" : "whole");
    tc_strbuf_adds(out, "</g>\n");
}

static void add_figure(struct tc_strbuf *out, const struct tc_plan_drawing *d, enum side side)
{
    static const char *const titles[] = {"One device", "Parallel job"};
    int box = box_height(d), base = 1 + (int)d->n_inputs * (box + GAP) + GAP;
    int height = base + box + FALL + BOX - LINE + 2;

    tc_strbuf_addf(out, "<figure><figcaption>%s</figcaption>\n", titles[side]);
    tc_strbuf_addf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
                   height, titles[side]);
    add_inputs(out, d, side, box, base);
    tc_strbuf_adds(out, "<g class=\"operator\">");
    add_value(out, base, box, &d->value, side);
    tc_strbuf_adds(out, "</g>\n");
    add_result(out, d, side, base + box);
    tc_strbuf_adds(out, "</svg></figure>\n");
}

void tc_plan_draw_html(const struct tc_plan_drawing *d, struct tc_strbuf *out)
{
    if (!d->value.op)
        return;
    tc_strbuf_adds(out, "<div class=\"drawing\">\n");
    add_figure(out, d, SINGLE);
    add_figure(out, d, PARALLEL);
    tc_strbuf_adds(out, "</div>\n");
}
