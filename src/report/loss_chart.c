/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_chart.c - lines and bands in a chart that is stretched to the width of the page
 *
 * So its letters stand outside of it. Numbers are whatever a trace says, so all are reckoned as
 * double.
 */
#include "report/loss_chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WIDTH     1000.0 /* of the chart, in its own units */
#define HEIGHT    300.0
#define MARGIN    0.05 /* of the height, above and below */
#define N_TICKS   5
#define MAX_TICKS 12
#define LOG_FROM \
    1000 /* from this quotient of the highest and the lowest on, logarithms are drawn */
#define MAX_VALUE 1e300
#define MAX_ROWS  40  /* of the table */
#define N_ACROSS  200 /* places of a band */

/* ---- scales -------------------------------------------------------------------------------- */

static double scaled(const struct tc_loss_chart *c, double value)
{
    return c->is_log ? log10(value) : value;
}

static size_t n_of(const struct tc_loss_chart *c, int which)
{
    return c->courses[which] ? c->courses[which]->points.n : 0;
}

static double step_of(const struct tc_loss_chart *c, int which, size_t i)
{
    return (double)c->courses[which]->points.items[i].step + c->offsets[which];
}

static double tamed(double value)
{
    return isfinite(value) ? fmax(-MAX_VALUE, fmin(MAX_VALUE, value)) : NAN;
}

static double value_of(const struct tc_loss_chart *c, int which, size_t i)
{
    return tamed(c->courses[which]->points.items[i].value);
}

static double x_of(const struct tc_loss_chart *c, double step)
{
    return c->last > c->first ? (step - c->first) / (c->last - c->first) : 0.5;
}

/* From the top, of a scaled value. */
static double y_of(const struct tc_loss_chart *c, double value)
{
    return (c->high - value) / (c->high - c->low);
}

static void reach(struct tc_loss_chart *c, double value)
{
    c->low = fmin(c->low, value); /* NaN is left out */
    c->high = fmax(c->high, value);
}

/* Lines say which steps there are; where there is none, bands do. */
static void measure_band(struct tc_loss_chart *c, const struct tc_chart_band *band, bool has_lines)
{
    for (size_t k = 0; k < band->n; k++)
        for (size_t i = 0; i < band->courses[k]->points.n; i++) {
            const struct tc_loss_point *point = &band->courses[k]->points.items[i];
            const double step = (double)point->step;
            if (has_lines && (step < c->first || step > c->last))
                continue;
            c->first = fmin(c->first, step);
            c->last = fmax(c->last, step);
            reach(c, tamed(point->value));
        }
}

bool tc_loss_chart_measure(struct tc_loss_chart *c)
{
    c->first = c->low = INFINITY;
    c->last = c->high = -INFINITY;
    for (int k = 0; k < TC_CHART_LINES; k++)
        for (size_t i = 0; i < n_of(c, k); i++) {
            c->first = fmin(c->first, step_of(c, k, i));
            c->last = fmax(c->last, step_of(c, k, i));
            reach(c, value_of(c, k, i));
        }
    const bool has_lines = c->first <= c->last;
    for (int k = 0; k < TC_CHART_BANDS; k++)
        measure_band(c, &c->bands[k], has_lines);
    if (c->low > c->high)
        return false;
    c->is_log = c->low > 0 && c->high / c->low >= LOG_FROM;
    c->low = scaled(c, c->low);
    c->high = scaled(c, c->high);
    const double pad = c->high > c->low ? MARGIN * (c->high - c->low) : fabs(c->low) / 10 + 1e-6;
    c->low -= pad;
    c->high += pad;
    return true;
}

/* 1, 2 or 5 times a power of ten: at most N_TICKS of it fit. */
static double nice(double range)
{
    const double least = range / N_TICKS, power = pow(10, floor(log10(least)));

    return least <= power       ? power
           : least <= 2 * power ? 2 * power
           : least <= 5 * power ? 5 * power
                                : 10 * power;
}

struct ticks {
    double at[MAX_TICKS];
    size_t n;
};

static struct ticks ticks_of(double from, double to, double least)
{
    struct ticks t = {.n = 0};
    const double by = to > from ? fmax(least, nice(to - from)) : least;

    for (double at = ceil(from / by) * by; at <= to && t.n < MAX_TICKS; at += by)
        t.at[t.n++] = fabs(at) < by / 2 ? 0 : at;
    return t;
}

static struct ticks value_ticks(const struct tc_loss_chart *c)
{
    return ticks_of(c->low, c->high, c->is_log ? 1 : 0);
}

/* ---- the drawing --------------------------------------------------------------------------- */

/* A gap where there is no finite number; a point alone is a dot. */
static void add_path(const struct tc_loss_chart *c, int which)
{
    bool is_open = false;

    tc_strbuf_addf(c->out, "<path class=\"line%d\" d=\"", which);
    for (size_t i = 0; i < n_of(c, which); i++) {
        const double value = value_of(c, which, i);
        if (!isnan(value))
            tc_strbuf_addf(c->out, is_open ? "L%.1f %.1f" : "M%.1f %.1fh0",
                           WIDTH * x_of(c, step_of(c, which, i)),
                           HEIGHT * y_of(c, scaled(c, value)));
        is_open = !isnan(value);
    }
    tc_strbuf_adds(c->out, "\"/>\n");
}

/* Of a course at a step between two of its points; NaN: it tells nothing there. */
static double value_at(const struct tc_loss_course *course, double step)
{
    const struct tc_loss_point *points = course->points.items;
    size_t low = 0, high = course->points.n;

    while (low < high) { /* the first point behind the step */
        const size_t middle = low + (high - low) / 2;
        if ((double)points[middle].step > step)
            high = middle;
        else
            low = middle + 1;
    }
    if (!low)
        return NAN;
    const double before = tamed(points[low - 1].value), at = (double)points[low - 1].step;
    if (at == step || low == course->points.n)
        return at == step ? before : NAN;
    const double share = (step - at) / ((double)points[low].step - at);
    return before + share * (tamed(points[low].value) - before);
}

/* A band is closed where no course tells anything. There and back: the highest, then the lowest. */
static void add_band(const struct tc_loss_chart *c, int which)
{
    const struct tc_chart_band *band = &c->bands[which];
    double low[N_ACROSS + 1], high[N_ACROSS + 1];

    for (int i = 0; i <= N_ACROSS; i++) {
        const double step = c->first + (c->last - c->first) * i / N_ACROSS;
        low[i] = high[i] = NAN;
        for (size_t k = 0; k < band->n; k++) {
            const double value = value_at(band->courses[k], step);
            low[i] = fmin(low[i], value);
            high[i] = fmax(high[i], value);
        }
    }
    tc_strbuf_addf(c->out, "<path class=\"band%d\" d=\"", which);
    for (int i = 0, end; i <= N_ACROSS; i = end + 1) {
        for (end = i; end <= N_ACROSS && !isnan(low[end]); end++)
            tc_strbuf_addf(c->out, "%s%.1f %.1f", end == i ? "M" : "L", WIDTH * end / N_ACROSS,
                           HEIGHT * y_of(c, scaled(c, high[end])));
        for (int back = end - 1; back >= i; back--)
            tc_strbuf_addf(c->out, "L%.1f %.1f%s", WIDTH * back / N_ACROSS,
                           HEIGHT * y_of(c, scaled(c, low[back])), back == i ? "Z" : "");
    }
    tc_strbuf_adds(c->out, "\"/>\n");
}

static void add_grid(const struct tc_loss_chart *c)
{
    const struct ticks values = value_ticks(c), steps = ticks_of(c->first, c->last, 1);

    tc_strbuf_adds(c->out, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < values.n; i++)
        tc_strbuf_addf(c->out, "M0 %.1fH1000", HEIGHT * y_of(c, values.at[i]));
    for (size_t i = 0; i < steps.n; i++)
        tc_strbuf_addf(c->out, "M%.1f 0V300", WIDTH * x_of(c, steps.at[i]));
    tc_strbuf_adds(c->out, "\"/>\n");
}

static void describe(const struct tc_loss_chart *c, int which)
{
    const struct tc_loss_course *course = c->courses[which];
    const size_t n = n_of(c, which);

    if (!course)
        return;
    if (!n) {
        tc_strbuf_addf(c->out, " %s shows no number.", c->names[which]);
        return;
    }
    tc_strbuf_addf(c->out, " %s goes from %.4g in step %.0f to %.4g in step %.0f.", c->names[which],
                   course->points.items[0].value, step_of(c, which, 0),
                   course->points.items[n - 1].value, step_of(c, which, n - 1));
}

static void add_drawing(const struct tc_loss_chart *c)
{
    tc_strbuf_addf(c->out,
                   "<svg viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" role=\"img\" "
                   "aria-label=\"%s.",
                   c->title);
    for (int k = 0; k < TC_CHART_LINES; k++)
        describe(c, k);
    if (!isnan(c->mark))
        tc_strbuf_addf(c->out, " %s in step %.0f.", c->mark_text, c->mark);
    tc_strbuf_adds(c->out, "\">\n");
    add_grid(c);
    for (int k = 0; k < TC_CHART_BANDS; k++)
        if (c->bands[k].n)
            add_band(c, k);
    for (int k = 0; k < TC_CHART_LINES; k++)
        if (n_of(c, k))
            add_path(c, k);
    if (!isnan(c->mark))
        tc_strbuf_addf(c->out, "<path class=\"mark\" d=\"M%.1f 0V300\"/>\n",
                       WIDTH * x_of(c, c->mark));
    tc_strbuf_adds(c->out, "</svg>\n");
}

/* ---- letters around it ----------------------------------------------------------------------- */

static void add_value_labels(const struct tc_loss_chart *c)
{
    const struct ticks t = value_ticks(c);

    tc_strbuf_adds(c->out, "<div class=\"values\" aria-hidden=\"true\">");
    for (size_t i = 0; i < t.n; i++)
        tc_strbuf_addf(c->out, "<span style=\"top:%.1f%%\">%.6g</span>", 100 * y_of(c, t.at[i]),
                       c->is_log ? pow(10, t.at[i]) : t.at[i]);
    tc_strbuf_adds(c->out, "</div>\n");
}

static void add_step_labels(const struct tc_loss_chart *c)
{
    const struct ticks t = ticks_of(c->first, c->last, 1);

    tc_strbuf_adds(c->out, "<div class=\"steps\" aria-hidden=\"true\">");
    for (size_t i = 0; i < t.n; i++)
        tc_strbuf_addf(c->out, "<span style=\"left:%.1f%%\">%.0f</span>", 100 * x_of(c, t.at[i]),
                       t.at[i]);
    tc_strbuf_adds(c->out, "</div>\n");
}

static void add_mark_label(const struct tc_loss_chart *c)
{
    const double x = x_of(c, c->mark);

    if (!isnan(x))
        tc_strbuf_addf(c->out,
                       "<span class=\"mark%s\" style=\"left:%.1f%%\" aria-hidden=\"true\">"
                       "%s in step %.0f</span>\n",
                       x > 0.5 ? " before" : "", 100 * x, c->mark_text, c->mark);
}

static void add_key(const struct tc_loss_chart *c, const char *class, int which, const char *name)
{
    tc_strbuf_addf(c->out,
                   "<span><svg viewBox=\"0 0 30 8\" aria-hidden=\"true\"><path "
                   "class=\"%s%d\" d=\"M2 4H28\"/></svg>%s</span>\n",
                   class, which, name);
}

static void add_legend(const struct tc_loss_chart *c)
{
    tc_strbuf_adds(c->out, "<p class=\"legend\">");
    for (int k = 0; k < TC_CHART_LINES; k++)
        if (n_of(c, k))
            add_key(c, "line", k, c->names[k]);
    for (int k = 0; k < TC_CHART_BANDS; k++)
        if (c->bands[k].n)
            add_key(c, "band", k, c->bands[k].name);
    tc_strbuf_adds(c->out, "</p>\n");
}

/* Where numbers stop being numbers a curve has a gap. */
static void add_gaps(const struct tc_loss_chart *c, int which)
{
    size_t n = 0, first = 0;

    for (size_t i = n_of(c, which); i-- > 0;)
        if (!isfinite(c->courses[which]->points.items[i].value)) {
            n++;
            first = i;
        }
    if (n)
        tc_strbuf_addf(c->out, "<p>%s: the loss is no finite number in step %.0f%s.</p>\n",
                       c->names[which], step_of(c, which, first),
                       n > 1 ? ", nor in later ones" : "");
}

/* ---- the table ----------------------------------------------------------------------------- */

static void add_number(const struct tc_loss_chart *c, int which, size_t i, double step)
{
    if (i < n_of(c, which) && step_of(c, which, i) == step)
        tc_strbuf_addf(c->out, "<td>%.6g</td>", c->courses[which]->points.items[i].value);
    else
        tc_strbuf_adds(c->out, "<td>&#8211;</td>");
}

/* The next step of any line, of which next[] are the next points. */
static double next_step(const struct tc_loss_chart *c, const size_t *next)
{
    double step = INFINITY;

    for (int k = 0; k < TC_CHART_LINES; k++)
        if (next[k] < n_of(c, k))
            step = fmin(step, step_of(c, k, next[k]));
    return step;
}

static void add_row(const struct tc_loss_chart *c, const size_t *next, double step)
{
    const bool is_marked = step == c->mark;

    tc_strbuf_addf(c->out, "<tr><th scope=\"row\">%.0f%s%s</th>", step, is_marked ? " " : "",
                   is_marked ? c->mark_text : "");
    for (int k = 0; k < TC_CHART_LINES; k++)
        if (c->courses[k])
            add_number(c, k, next[k], step);
    tc_strbuf_adds(c->out, "</tr>\n");
}

/* Add a row for every stride-th step and the last; returns how many there are. 0: for none. */
static size_t each_step(const struct tc_loss_chart *c, size_t stride)
{
    size_t n = 0, next[TC_CHART_LINES] = {0}, now[TC_CHART_LINES];

    for (double step; isfinite(step = next_step(c, next)); n++) {
        memcpy(now, next, sizeof(now));
        for (int k = 0; k < TC_CHART_LINES; k++)
            next[k] += next[k] < n_of(c, k) && step_of(c, k, next[k]) <= step;
        const bool is_last = !isfinite(next_step(c, next));
        if (stride && (n % stride == 0 || is_last || step == c->mark))
            add_row(c, now, step);
    }
    return n;
}

static void add_table(const struct tc_loss_chart *c)
{
    const size_t n = each_step(c, 0), stride = (n + MAX_ROWS - 1) / MAX_ROWS;

    tc_strbuf_addf(c->out,
                   "<details><summary>The numbers as a table</summary>\n<div class=\"scroll\" "
                   "tabindex=\"0\"><table class=\"numbers\"><caption>%s</caption>\n<thead><tr>"
                   "<th scope=\"col\">step</th>",
                   stride > 1 ? "Loss by step; some of the steps" : "Loss by step");
    for (int k = 0; k < TC_CHART_LINES; k++)
        if (c->courses[k])
            tc_strbuf_addf(c->out, "<th scope=\"col\">%s</th>", c->names[k]);
    tc_strbuf_adds(c->out, "</tr></thead><tbody>\n");
    each_step(c, stride);
    tc_strbuf_adds(c->out, "</tbody></table></div></details>\n");
}

/* ---- the whole ------------------------------------------------------------------------------ */

void tc_loss_chart_add(const struct tc_loss_chart *c)
{
    if (c->low <= c->high) {
        add_legend(c);
        tc_strbuf_adds(c->out, "<div class=\"chart\">\n");
        add_value_labels(c);
        tc_strbuf_addf(c->out, "<div class=\"plot\" data-first=\"%.0f\" data-last=\"%.0f\">\n",
                       c->first, c->last);
        add_drawing(c);
        add_mark_label(c);
        tc_strbuf_adds(c->out, "</div>\n");
        add_step_labels(c);
        tc_strbuf_adds(c->out, "</div>\n");
    }
    for (int k = 0; k < TC_CHART_LINES; k++)
        add_gaps(c, k);
    add_table(c);
}
