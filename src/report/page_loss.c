/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_loss.c - the loss of a rank before that of the healthy runs and of the other ranks; the same
 * of the learning rate, if a finding is about it
 *
 * A chart is drawn once for each run and rank: several findings of one rank share it. Courses come
 * from the run (run_course.h) and, of the healthy runs, from the excerpts of the invariant file.
 */
#include "report/page.h"

#include <ctype.h>
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

/* "lr" as a word of its own. */
static bool speaks_of_rate(const struct tc_finding *f)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    bool does = false;

    tc_finding_sentence(f, &text);
    for (const char *at = text.text; at && (at = strstr(at, "lr")) && !does; at += 2)
        does = (at == text.text || !isalnum((unsigned char)at[-1])) &&
               !isalnum((unsigned char)at[2]) && at[2] != '_';
    tc_strbuf_release(&text);
    return does;
}

bool tc_page_has_rate(const struct tc_page *page, const struct tc_finding *f)
{
    const int64_t chart = tc_page_chart_of(page, f);

    return chart >= 0 && page->input->courses->items.items[chart].rate.points.n &&
           speaks_of_rate(f);
}

/* ---- one chart ------------------------------------------------------------------------------- */

typedef TC_VEC(const struct tc_loss_course *) course_list;

static course_list healthy_runs(const struct tc_page *page, bool is_rate)
{
    course_list list = {0};

    for (size_t i = 0; i < page->healthy.n; i++) {
        const struct tc_healthy_run *run = &page->healthy.items[i];
        if ((is_rate ? run->rate : run->loss).points.n)
            tc_vec_push(&list, is_rate ? &run->rate : &run->loss);
    }
    return list;
}

static course_list other_ranks(const struct tc_page *page, size_t of, bool is_rate)
{
    const struct tc_run_course *all = page->input->courses->items.items;
    course_list list = {0};

    for (size_t i = 0; i < page->input->courses->items.n; i++)
        if (i != of && !strcmp(all[i].trace, all[of].trace) && all[i].rank != all[of].rank)
            tc_vec_push(&list, is_rate ? &all[i].rate : &all[i].loss);
    return list;
}

static void add_chart(const struct tc_page *page, size_t number, bool is_rate,
                      struct tc_strbuf *out)
{
    const struct tc_run_course *course = &page->input->courses->items.items[number];
    course_list healthy = healthy_runs(page, is_rate), others = other_ranks(page, number, is_rate);
    char name[64];

    snprintf(name, sizeof(name), others.n ? "rank %" PRId64 " of this run" : "this run",
             course->rank);
    struct tc_loss_chart chart = {
        .out = out,
        .title = is_rate ? "The learning rate, step by step" : "The loss, step by step",
        .names = {NULL,                                                                           name                                   },
        .courses = {NULL,                                                                           is_rate ? &course->rate : &course->loss},
        .bands = {{others.n == 1 ? "the other rank" : "the other ranks", others.items, others.n},
                  {healthy.n == 1 ? "the healthy run" : "healthy runs", healthy.items, healthy.n}                                        },
        .mark = NAN,
    };
    tc_loss_chart_measure(&chart);
    tc_strbuf_addf(out, "<template id=\"%s-%zu\">\n<p class=\"faint\">%s%s.</p>\n",
                   is_rate ? "lr" : "loss", number,
                   is_rate ? "That of the first parameter group, after each step"
                           : "The number that backward() starts from, by step",
                   chart.is_log ? "; the scale is logarithmic" : "");
    tc_loss_chart_add(&chart);
    tc_strbuf_adds(out, "</template>\n");
    tc_vec_release(&healthy);
    tc_vec_release(&others);
}

/* Those that are drawn. */
struct drawn {
    int64_t charts[MAX_CHARTS];
    size_t n;
};

static void add_once(const struct tc_page *page, int64_t chart, bool is_rate, struct drawn *drawn,
                     struct tc_strbuf *out)
{
    for (size_t i = 0; i < drawn->n; i++)
        if (drawn->charts[i] == chart)
            return;
    if (chart < 0 || drawn->n == MAX_CHARTS)
        return;
    drawn->charts[drawn->n++] = chart;
    add_chart(page, (size_t)chart, is_rate, out);
}

void tc_page_add_charts(const struct tc_page *page, struct tc_strbuf *out)
{
    const struct tc_report_input *input = page->input;
    struct drawn losses = {.n = 0}, rates = {.n = 0};

    for (size_t i = 0; i < input->findings.n; i++) {
        const struct tc_finding *f = &input->findings.items[i];
        add_once(page, tc_page_chart_of(page, f), false, &losses, out);
        if (rates.n < MAX_CHARTS && tc_page_has_rate(page, f))
            add_once(page, tc_page_chart_of(page, f), true, &rates, out);
    }
    for (size_t i = 0; i < input->config->n_traces && !input->findings.n; i++)
        add_once(page, tc_page_chart_of_run(page, input->config->traces[i]), false, &losses, out);
}
