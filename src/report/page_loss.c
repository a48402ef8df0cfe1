/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_loss.c - the loss of a rank before that of the healthy runs and of the other ranks
 */
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/finding_report.h"
#include "report/loss_chart.h"

#define MAX_CHARTS 16

/* The first course of that run and rank; of any rank where there is none. */
static int64_t course_of(const struct tc_page *page, const char *trace, int64_t rank)
{
    const struct tc_run_courses *courses = page->input->courses;
    int64_t first = -1;

    for (size_t i = courses->items.n; i-- > 0;) {
        const struct tc_run_course *course = &courses->items.items[i];
        if (strcmp(course->trace, trace) != 0 || !course->loss.points.n)
            continue;
        if (first < 0 || course->rank == rank || courses->items.items[first].rank != rank)
            first = (int64_t)i;
    }
    return first;
}

int64_t tc_page_chart_of(const struct tc_page *page, const struct tc_finding *f)
{
    return course_of(page, f->items[0]->trace, tc_finding_rank(f));
}

int64_t tc_page_chart_of_run(const struct tc_page *page, const char *trace)
{
    return course_of(page, trace, 0);
}

/* ---- one chart ------------------------------------------------------------------------------- */

typedef TC_VEC(const struct tc_loss_course *) course_list;

static course_list healthy_runs(const struct tc_page *page)
{
    course_list list = {0};

    for (size_t i = 0; i < page->healthy.n; i++)
        if (page->healthy.items[i].loss.points.n)
            tc_vec_push(&list, &page->healthy.items[i].loss);
    return list;
}

static course_list other_ranks(const struct tc_page *page, size_t of)
{
    const struct tc_run_course *all = page->input->courses->items.items;
    course_list list = {0};

    for (size_t i = 0; i < page->input->courses->items.n; i++)
        if (i != of && !strcmp(all[i].trace, all[of].trace) && all[i].rank != all[of].rank)
            tc_vec_push(&list, &all[i].loss);
    return list;
}

static void add_chart(const struct tc_page *page, size_t number, struct tc_strbuf *out)
{
    const struct tc_run_course *course = &page->input->courses->items.items[number];
    course_list healthy = healthy_runs(page), others = other_ranks(page, number);
    char name[64];

    snprintf(name, sizeof(name), others.n ? "rank %" PRId64 " of this run" : "this run",
             course->rank);
    struct tc_loss_chart chart = {
        .out = out,
        .title = "The loss, step by step",
        .names = {NULL,                                                                           name         },
        .courses = {NULL,                                                                           &course->loss},
        .bands = {{others.n == 1 ? "the other rank" : "the other ranks", others.items, others.n},
                  {healthy.n == 1 ? "the healthy run" : "healthy runs", healthy.items, healthy.n}              },
        .mark = NAN,
    };
    tc_loss_chart_measure(&chart);
    tc_strbuf_addf(out,
                   "<template id=\"loss-%zu\">\n<p class=\"faint\">The number that backward() "
                   "starts from, by step%s.</p>\n",
                   number, chart.is_log ? "; the scale is logarithmic" : "");
    tc_loss_chart_add(&chart);
    tc_strbuf_adds(out, "</template>\n");
    tc_vec_release(&healthy);
    tc_vec_release(&others);
}

void tc_page_add_charts(const struct tc_page *page, struct tc_strbuf *out)
{
    const struct tc_report_input *input = page->input;
    const size_t n = input->findings.n ? input->findings.n : input->config->n_traces;
    int64_t drawn[MAX_CHARTS];
    size_t n_drawn = 0;

    for (size_t i = 0; i < n && n_drawn < MAX_CHARTS; i++) {
        const int64_t chart = input->findings.n
                                  ? tc_page_chart_of(page, &input->findings.items[i])
                                  : tc_page_chart_of_run(page, input->config->traces[i]);
        bool is_drawn = chart < 0;
        for (size_t k = 0; k < n_drawn; k++)
            is_drawn |= drawn[k] == chart;
        if (is_drawn)
            continue;
        drawn[n_drawn++] = chart;
        add_chart(page, (size_t)chart, out);
    }
}
