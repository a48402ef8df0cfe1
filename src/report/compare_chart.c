/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_chart.c - the section on the loss of two runs
 *
 * Steps are those of the reference.
 */
#include "report/compare_page.h"

#include <math.h>

#include "report/loss_chart.h"

/* The step of the reference at which the first main process parts from it. */
static double parted_step(const struct tc_comparison *c, double offset)
{
    for (size_t i = 0; i < c->pairs.n; i++)
        if (!c->pairs.items[i].is_worker)
            return c->pairs.items[i].has_parted ? (double)c->pairs.items[i].parted_step + offset
                                                : NAN;
    return NAN;
}

void tc_page_add_loss(const struct tc_comparison *comparison, struct tc_strbuf *out)
{
    const double offset = comparison->resumed_at > 0 ? (double)comparison->resumed_at : 0;
    struct tc_loss_chart c = {
        .out = out,
        .title = "The loss of both runs, step by step",
        .names = {"Reference",                 "This run"           },
        .courses = {&comparison->reference.loss, &comparison->run.loss},
        .offsets = {0,                           offset               },
        .mark = parted_step(comparison, offset),
        .mark_text = "values part",
    };

    if (!c.courses[0]->points.n && !c.courses[1]->points.n)
        return;
    tc_loss_chart_measure(&c);
    if (c.mark < c.first || c.mark > c.last)
        c.mark = NAN;
    tc_strbuf_addf(out,
                   "<section id=\"loss\"><h2>Loss</h2>\n<p class=\"faint\">The number from which "
                   "backward() starts%s, by step%s%s.</p>\n",
                   comparison->run.n_processes > 1 ? " in the first process" : "",
                   offset > 0 ? " of the reference" : "",
                   c.is_log ? "; the scale is logarithmic" : "");
    tc_loss_chart_add(&c);
    tc_strbuf_adds(out, "</section>\n");
}
