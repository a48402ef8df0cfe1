/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_chart.c - the course of the loss of two runs as a chart and as a table
 *
 * The chart is stretched to the width of the page, so its letters stand outside of it. Steps are
 * those of the reference; numbers are whatever a trace says, so all are reckoned as double.
 */
#include "report/compare_page.h"

#include <inttypes.h>
#include <math.h>

#define WIDTH     1000.0 /* of the chart, in its own units */
#define HEIGHT    300.0
#define MARGIN    0.05 /* of the height, above and below */
#define N_TICKS   5
#define MAX_TICKS 12
#define LOG_FROM \
    1000 /* from this quotient of the highest and the lowest on, logarithms are drawn */
#define MAX_VALUE 1e300
#define MAX_ROWS  40 /* of the table */

static const char *const names[] = {"reference", "this run"};

struct chart {
    struct tc_strbuf *out;
    const struct tc_loss_course *courses[2];
    double offsets[2]; /* to steps of the reference */
    double first, last, low, high;
    double parted; /* NaN: values do not part */
    bool is_log;
};

/* ---- scales -------------------------------------------------------------------------------- */

static double scaled(const struct chart *c, double value)
{
    return c->is_log ? log10(value) : value;
}

static double step_of(const struct chart *c, int which, size_t i)
{
    return (double)c->courses[which]->points.items[i].step + c->offsets[which];
}

static double value_of(const struct chart *c, int which, size_t i)
{
    const double value = c->courses[which]->points.items[i].value;

    return isfinite(value) ? fmax(-MAX_VALUE, fmin(MAX_VALUE, value)) : NAN;
}

static double x_of(const struct chart *c, double step)
{
    return c->last > c->first ? (step - c->first) / (c->last - c->first) : 0.5;
}

/* From the top, of a scaled value. */
static double y_of(const struct chart *c, double value)
{
    return (c->high - value) / (c->high - c->low);
}

static void measure(struct chart *c)
{
    c->first = c->low = INFINITY;
    c->last = c->high = -INFINITY;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < c->courses[k]->points.n; i++) {
            c->first = fmin(c->first, step_of(c, k, i));
            c->last = fmax(c->last, step_of(c, k, i));
            c->low = fmin(c->low, value_of(c, k, i)); /* NaN is left out */
            c->high = fmax(c->high, value_of(c, k, i));
        }
    if (c->low > c->high)
        return;
    c->is_log = c->low > 0 && c->high / c->low >= LOG_FROM;
    c->low = scaled(c, c->low);
    c->high = scaled(c, c->high);
    const double pad = c->high > c->low ? MARGIN * (c->high - c->low) : fabs(c->low) / 10 + 1e-6;
    c->low -= pad;
    c->high += pad;
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

static struct ticks value_ticks(const struct chart *c)
{
    return ticks_of(c->low, c->high, c->is_log ? 1 : 0);
}

/* ---- the drawing --------------------------------------------------------------------------- */

/* A gap where there is no finite number; a point alone is a dot. */
static void add_path(const struct chart *c, int which)
{
    bool is_open = false;

    tc_strbuf_addf(c->out, "<path class=\"line%d\" d=\"", which);
    for (size_t i = 0; i < c->courses[which]->points.n; i++) {
        const double value = value_of(c, which, i);
        if (!isnan(value))
            tc_strbuf_addf(c->out, is_open ? "L%.1f %.1f" : "M%.1f %.1fh0",
                           WIDTH * x_of(c, step_of(c, which, i)),
                           HEIGHT * y_of(c, scaled(c, value)));
        is_open = !isnan(value);
    }
    tc_strbuf_adds(c->out, "\"/>\n");
}

static void add_grid(const struct chart *c)
{
    const struct ticks values = value_ticks(c), steps = ticks_of(c->first, c->last, 1);

    tc_strbuf_adds(c->out, "<path class=\"grid\" d=\"");
    for (size_t i = 0; i < values.n; i++)
        tc_strbuf_addf(c->out, "M0 %.1fH1000", HEIGHT * y_of(c, values.at[i]));
    for (size_t i = 0; i < steps.n; i++)
        tc_strbuf_addf(c->out, "M%.1f 0V300", WIDTH * x_of(c, steps.at[i]));
    tc_strbuf_adds(c->out, "\"/>\n");
}

static void describe(const struct chart *c, int which)
{
    const struct tc_loss_course *course = c->courses[which];
    const size_t n = course->points.n;

    if (!n) {
        tc_strbuf_addf(c->out, "The %s shows no number. ", which ? "run" : "reference");
        return;
    }
    tc_strbuf_addf(c->out, "The %s goes from %.4g in step %.0f to %.4g in step %.0f. ",
                   which ? "run" : "reference", course->points.items[0].value, step_of(c, which, 0),
                   course->points.items[n - 1].value, step_of(c, which, n - 1));
}

static void add_drawing(const struct chart *c)
{
    tc_strbuf_adds(c->out, "<svg viewBox=\"0 0 1000 300\" preserveAspectRatio=\"none\" "
                           "role=\"img\" aria-labelledby=\"loss-title loss-desc\">\n"
                           "<title id=\"loss-title\">The loss of both runs, step by step</title>\n"
                           "<desc id=\"loss-desc\">");
    describe(c, 0);
    describe(c, 1);
    if (!isnan(c->parted))
        tc_strbuf_addf(c->out, "Values part in step %.0f.", c->parted);
    tc_strbuf_adds(c->out, "</desc>\n");
    add_grid(c);
    add_path(c, 0);
    add_path(c, 1);
    if (!isnan(c->parted))
        tc_strbuf_addf(c->out, "<path class=\"parted\" d=\"M%.1f 0V300\"/>\n",
                       WIDTH * x_of(c, c->parted));
    tc_strbuf_adds(c->out, "</svg>\n");
}

/* ---- letters around it ----------------------------------------------------------------------- */

static void add_value_labels(const struct chart *c)
{
    const struct ticks t = value_ticks(c);

    tc_strbuf_adds(c->out, "<div class=\"values\" aria-hidden=\"true\">");
    for (size_t i = 0; i < t.n; i++)
        tc_strbuf_addf(c->out, "<span style=\"top:%.1f%%\">%.6g</span>", 100 * y_of(c, t.at[i]),
                       c->is_log ? pow(10, t.at[i]) : t.at[i]);
    tc_strbuf_adds(c->out, "</div>\n");
}

static void add_step_labels(const struct chart *c)
{
    const struct ticks t = ticks_of(c->first, c->last, 1);

    tc_strbuf_adds(c->out, "<div class=\"steps\" aria-hidden=\"true\">");
    for (size_t i = 0; i < t.n; i++)
        tc_strbuf_addf(c->out, "<span style=\"left:%.1f%%\">%.0f</span>", 100 * x_of(c, t.at[i]),
                       t.at[i]);
    tc_strbuf_adds(c->out, "</div>\n");
}

static void add_parted_label(const struct chart *c)
{
    const double x = x_of(c, c->parted);

    if (!isnan(x))
        tc_strbuf_addf(c->out,
                       "<span class=\"parted%s\" style=\"left:%.1f%%\" aria-hidden=\"true\">"
                       "values part in step %.0f</span>\n",
                       x > 0.5 ? " before" : "", 100 * x, c->parted);
}

static void add_legend(const struct chart *c)
{
    static const char *const titles[] = {"Reference", "This run"};

    tc_strbuf_adds(c->out, "<p class=\"legend\">");
    for (int k = 0; k < 2; k++)
        if (c->courses[k]->points.n)
            tc_strbuf_addf(c->out,
                           "<span><svg viewBox=\"0 0 30 8\" aria-hidden=\"true\"><path "
                           "class=\"line%d\" d=\"M2 4H28\"/></svg>%s</span>\n",
                           k, titles[k]);
    tc_strbuf_adds(c->out, "</p>\n");
}

/* Where numbers stop being numbers a curve has a gap. */
static void add_gaps(const struct chart *c, int which)
{
    const struct tc_loss_course *course = c->courses[which];
    size_t n = 0, first = 0;

    for (size_t i = course->points.n; i-- > 0;)
        if (!isfinite(course->points.items[i].value)) {
            n++;
            first = i;
        }
    if (n)
        tc_strbuf_addf(c->out, "<p>The loss of %s%s is no finite number in step %.0f%s.</p>\n",
                       which ? "" : "the ", names[which], step_of(c, which, first),
                       n > 1 ? ", nor in later ones" : "");
}

/* ---- the table ----------------------------------------------------------------------------- */

static void add_number(const struct chart *c, int which, size_t i, double step)
{
    if (i < c->courses[which]->points.n && step_of(c, which, i) == step)
        tc_strbuf_addf(c->out, "<td>%.6g</td>", c->courses[which]->points.items[i].value);
    else
        tc_strbuf_adds(c->out, "<td>&#8211;</td>");
}

/* The next step of either course, of which i and k are the next points. */
static double next_step(const struct chart *c, size_t i, size_t k)
{
    const double of_a = i < c->courses[0]->points.n ? step_of(c, 0, i) : INFINITY;
    const double of_b = k < c->courses[1]->points.n ? step_of(c, 1, k) : INFINITY;

    return fmin(of_a, of_b);
}

static bool is_at(const struct chart *c, int which, size_t i, double step)
{
    return i < c->courses[which]->points.n && step_of(c, which, i) <= step;
}

/* Call row for each step of the two; returns how many there are. */
static size_t each_step(const struct chart *c, size_t stride)
{
    size_t n = 0, i = 0, k = 0;

    for (double step; isfinite(step = next_step(c, i, k)); n++) {
        const bool is_i = is_at(c, 0, i, step), is_k = is_at(c, 1, k, step);
        const bool is_last = !isfinite(next_step(c, i + is_i, k + is_k));
        if (stride && (n % stride == 0 || is_last || step == c->parted)) {
            tc_strbuf_addf(c->out, "<tr><th scope=\"row\">%.0f%s</th>", step,
                           step == c->parted ? " values part" : "");
            add_number(c, 0, i, step);
            add_number(c, 1, k, step);
            tc_strbuf_adds(c->out, "</tr>\n");
        }
        i += is_i;
        k += is_k;
    }
    return n;
}

static void add_table(const struct chart *c)
{
    const size_t n = each_step(c, 0), stride = (n + MAX_ROWS - 1) / MAX_ROWS;

    tc_strbuf_addf(c->out,
                   "<details><summary>The numbers as a table</summary>\n<div class=\"scroll\">"
                   "<table class=\"numbers\"><caption>%s</caption>\n<thead><tr><th scope=\"col\">"
                   "step</th><th scope=\"col\">reference</th><th scope=\"col\">this run</th></tr>"
                   "</thead><tbody>\n",
                   stride > 1 ? "Loss by step; some of the steps" : "Loss by step");
    each_step(c, stride);
    tc_strbuf_adds(c->out, "</tbody></table></div></details>\n");
}

/* ---- the section --------------------------------------------------------------------------- */

/* The step of the reference at which the first main process parts from it. */
static double parted_step(const struct tc_comparison *c, double offset)
{
    for (size_t i = 0; i < c->pairs.n; i++)
        if (!c->pairs.items[i].is_worker)
            return c->pairs.items[i].has_parted ? (double)c->pairs.items[i].parted_step + offset
                                                : NAN;
    return NAN;
}

static void add_chart(const struct chart *c)
{
    add_legend(c);
    tc_strbuf_adds(c->out, "<div class=\"chart\">\n");
    add_value_labels(c);
    tc_strbuf_adds(c->out, "<div class=\"plot\">\n");
    add_drawing(c);
    add_parted_label(c);
    tc_strbuf_adds(c->out, "</div>\n");
    add_step_labels(c);
    tc_strbuf_adds(c->out, "</div>\n");
}

void tc_page_add_loss(const struct tc_comparison *comparison, struct tc_strbuf *out)
{
    struct chart c = {
        .out = out,
        .courses = {&comparison->reference.loss, &comparison->run.loss                                          },
        .offsets = {0,                           comparison->resumed_at > 0 ? (double)comparison->resumed_at : 0},
    };

    if (!c.courses[0]->points.n && !c.courses[1]->points.n)
        return;
    measure(&c);
    c.parted = parted_step(comparison, c.offsets[1]);
    if (c.parted < c.first || c.parted > c.last)
        c.parted = NAN;
    tc_strbuf_addf(out,
                   "<section id=\"loss\"><h2>Loss</h2>\n<p class=\"faint\">The number from which "
                   "backward() starts%s, by step%s%s.</p>\n",
                   comparison->run.n_processes > 1 ? " in the first process" : "",
                   c.offsets[1] > 0 ? " of the reference" : "",
                   c.is_log ? "; the scale is logarithmic" : "");
    if (c.low <= c.high)
        add_chart(&c);
    add_gaps(&c, 0);
    add_gaps(&c, 1);
    add_table(&c);
    tc_strbuf_adds(out, "</section>\n");
}
