/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_data.c - what the script of report.html shows, so that no text stands twice
 *
 * Ten thousand violations fit. Findings come first, then invariants, then violations: each table
 * leaves out what few will open where the data become larger than one limit of it, and counts alone
 * what does not fit into another. With 16 charts of 40 KB the page stays below 3 MB.
 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/compare_report.h"
#include "report/finding_report.h"
#include "report/page_table.h"

#define FINDING_DETAIL_SIZE 500000
#define FINDING_SIZE        1000000
#define INVARIANT_SIZE      1600000
#define DETAIL_SIZE         1600000
#define MAX_SIZE            2350000
#define CONTEXT             5 /* lines around those that a terminal shows */
#define MAX_QUOTE           80
#define MAX_LINE            400 /* bytes */
#define MAX_QUOTED          100 /* findings with lines */

static const char *const verdicts[] = {
    [TC_VERDICT_FAILED] = "failed",
    [TC_VERDICT_PASSED] = "passed",
    [TC_VERDICT_NOT_TRIGGERED] = "not_triggered",
    [TC_VERDICT_UNCHECKED] = "unchecked",
};

struct data {
    const struct tc_page *page;
    struct tc_pool pool;
    struct tc_map invariants; /* address -> number of its row, plus one */
    size_t n_findings;        /* that have a row */
    struct tc_strbuf *out;
};

/* ---- runs ------------------------------------------------------------------------------------ */

static struct tc_json *run(const struct tc_report_run *r, const char *trace)
{
    struct tc_json *object = r->identity ? tc_json_copy(r->identity) : tc_json_object();

    tc_json_set_string(object, "trace", trace);
    tc_json_set_number(object, "records", (double)r->n_records);
    tc_json_set_number(object, "calls", (double)r->n_calls);
    tc_json_set_number(object, "windows", (double)r->n_windows);
    tc_json_set_number(object, "exit", r->exit_status);
    return object;
}

static int64_t last_step(const struct tc_page *page, const char *trace)
{
    const struct tc_run_courses *courses = page->input->courses;
    int64_t last = -1;

    for (size_t i = 0; i < courses->items.n; i++)
        if (!strcmp(courses->items.items[i].trace, trace) &&
            courses->items.items[i].last_step > last)
            last = courses->items.items[i].last_step;
    return last;
}

static struct tc_json *runs(const struct tc_page *page)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < page->input->config->n_traces; i++) {
        const char *trace = page->input->config->traces[i];
        struct tc_json *object = run(&page->input->runs[i], trace);
        const int64_t chart = tc_page_chart_of_run(page, trace), last = last_step(page, trace);
        if (last >= 0)
            tc_json_set_number(object, "last_step", (double)last);
        if (chart >= 0)
            tc_json_set_number(object, "loss", (double)chart);
        tc_json_append(array, object);
    }
    return array;
}

static struct tc_json *healthy(const struct tc_page *page)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < page->healthy.n; i++) {
        const struct tc_healthy_run *r = &page->healthy.items[i];
        struct tc_json *object = tc_run_identity(&r->process);
        tc_json_set_string(object, "trace", page->excerpts.items.items[i].name);
        if (r->loss.points.n)
            tc_json_set_number(object, "last_step",
                               (double)r->loss.points.items[r->loss.points.n - 1].step);
        tc_json_append(array, object);
    }
    return array;
}

/* ---- invariants ------------------------------------------------------------------------------ */

static const struct tc_column of_invariant[] = {
    {"id",           0        },
    {"relation",     TC_POOLED},
    {"text",         0        },
    {"verdict",      TC_POOLED},
    {"learned_held", 0        },
    {"pipelines",    0        },
    {"held",         0        },
    {"broken",       0        },
    {"why",          TC_POOLED},
};

static struct tc_json *invariant(const struct tc_report_input *input, const struct tc_judgement *j)
{
    struct tc_json *object = tc_json_object();
    const struct tc_invariant *x = j->invariant;
    const char *reason = tc_suppressions_reason(input->suppressions, x->id);
    bool is_suppressed = reason && tc_engine_verdict(j) == TC_VERDICT_FAILED;
    const char *why = is_suppressed ? reason : tc_verdict_reason(j);

    tc_json_set_string(object, "id", x->id);
    tc_json_set_string(object, "relation", tc_strtab_text(input->symbols, x->relation));
    tc_json_set_string(object, "text", x->text ? x->text : "");
    tc_json_set_string(object, "verdict",
                       is_suppressed ? "suppressed" : verdicts[tc_engine_verdict(j)]);
    if (*why)
        tc_json_set_string(object, "why", why);
    tc_json_set_number(object, "held", (double)j->held);
    tc_json_set_number(object, "broken", (double)j->broken);
    tc_json_set_number(object, "learned_held", (double)x->held);
    tc_json_set_number(object, "pipelines", (double)x->pipelines);
    return object;
}

/* What failed first: violations name their rows. */
static void add_invariants(struct data *d)
{
    const struct tc_report_input *input = d->page->input;
    struct tc_page_table table = {&d->pool, of_invariant,
                                  sizeof(of_invariant) / sizeof(*of_invariant), 0, TC_STRBUF_INIT};
    size_t n_left_out = 0;

    for (int failed = 1; failed >= 0; failed--)
        for (size_t i = 0; i < tc_engine_count(input->engine); i++) {
            const struct tc_judgement *j = tc_engine_judgement(input->engine, i);
            if ((tc_engine_verdict(j) == TC_VERDICT_FAILED) != failed)
                continue;
            if (d->out->size + tc_page_table_size(&table) > INVARIANT_SIZE) {
                n_left_out++;
                continue;
            }
            tc_page_table_add(&table, invariant(input, j), true);
            tc_map_put(&d->invariants, (uintptr_t)j->invariant, table.n_rows);
        }
    tc_strbuf_addf(d->out, ",\"invariants_left_out\":%zu,\"invariants\":", n_left_out);
    tc_page_table_print(&table, d->out);
}

/* ---- violations ------------------------------------------------------------------------------ */

static const struct tc_column of_violation[] = {
    {"finding",        0                    },
    {"invariant",      0                    },
    {"seen",           TC_POOLED            },
    {"step",           0                    },
    {"count",          0                    },
    {"last_step",      0                    },
    {"steps",          TC_POOLED            },
    {"at",             TC_POOLED            },
    {"file",           TC_POOLED            },
    {"trace",          TC_POOLED            },
    {"stage",          TC_POOLED            },
    {"ranks",          TC_POOLED            },
    {"rank",           0                    },
    {"runs",           TC_POOLED            },
    {"setting",        0                    },
    {"id",             TC_POOLED            }, /* where the row of the invariant was left out */
    {"call",           TC_POOLED            },
    {"hint",           TC_POOLED            },
    {"inside",         TC_POOLED | TC_DETAIL},
    {"before",         TC_POOLED | TC_DETAIL},
    {"variables",      TC_POOLED | TC_DETAIL},
    {"situation",      TC_POOLED | TC_DETAIL},
    {"more_variables", TC_DETAIL            },
};

static struct tc_json *violation(const struct data *d, size_t finding, size_t i)
{
    const struct tc_report_input *input = d->page->input;
    const struct tc_violation *v = input->findings.items[finding].items[i];
    struct tc_json *object = tc_evidence_to_json(input, finding, i);
    struct tc_json *row = tc_json_object();
    uint64_t number;

    if (tc_map_get(&d->invariants, (uintptr_t)v->invariant, &number))
        tc_json_set_number(row, "invariant", (double)number - 1);
    for (size_t k = 0; k < sizeof(of_violation) / sizeof(*of_violation); k++) {
        const char *key = of_violation[k].key;
        const struct tc_json *value = tc_json_get(object, key);
        const bool is_empty = tc_json_is_array(value) && !tc_json_count(value);
        const bool is_known = !strcmp(key, "id") && tc_json_get(row, "invariant");
        if (value && !is_empty && !is_known && strcmp(key, "invariant") != 0)
            tc_json_set(row, key, tc_json_copy(value));
    }
    tc_json_free(object);
    return row;
}

static void add_violations(struct data *d)
{
    const struct tc_report_input *input = d->page->input;
    struct tc_page_table table = {&d->pool, of_violation,
                                  sizeof(of_violation) / sizeof(*of_violation), 0, TC_STRBUF_INIT};
    size_t n_left_out = 0;

    for (size_t i = 0; i < input->findings.n; i++)
        for (size_t k = 0; k < input->findings.items[i].n; k++) {
            const size_t size = d->out->size + tc_page_table_size(&table);
            if (size > MAX_SIZE || i >= d->n_findings)
                n_left_out++;
            else
                tc_page_table_add(&table, violation(d, i, k), size < DETAIL_SIZE);
        }
    tc_strbuf_addf(d->out, ",\"violations_left_out\":%zu,\"violations\":", n_left_out);
    tc_page_table_print(&table, d->out);
}

/* ---- findings -------------------------------------------------------------------------------- */

static const struct tc_column of_finding[] = {
    {"n_violations", 0        },
    {"kind",         TC_POOLED},
    {"sentence",     TC_POOLED},
    {"sentence_of",  TC_POOLED},
    {"at",           TC_POOLED},
    {"when",         TC_POOLED},
    {"step",         0        },
    {"trace",        TC_POOLED},
    {"spread",       TC_POOLED},
    {"exact",        0        },
    {"loss",         0        },
    {"rank",         0        },
    {"hint",         TC_POOLED},
    {"told",         TC_DETAIL},
    {"what",         TC_POOLED},
    {"of",           TC_POOLED},
    {"healthy_at",   TC_POOLED},
    {"origin_at",    TC_POOLED},
    {"used_at",      TC_POOLED},
    {"was",          TC_POOLED},
    {"is",           TC_POOLED},
    {"lr",           0        },
    {"count",        0        },
    {"healthy_run",  TC_POOLED},
    {"lines",        TC_DETAIL},
};

/* Its number in the healthy run, in this one, and the text, line after line; 0: not in that. */
static struct tc_json *lines_of(const struct tc_finding *f)
{
    struct tc_quoted_line lines[MAX_QUOTE];
    const size_t n =
        tc_compare_quote_around(f->comparison, f->departure, CONTEXT, lines, MAX_QUOTE);
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++) {
        const struct tc_quoted_line *line = &lines[i];
        const size_t size = line->line->size < MAX_LINE ? line->line->size : MAX_LINE;
        const bool is_of_healthy = line->sign == '-';
        struct tc_strbuf text = TC_STRBUF_INIT;
        tc_strbuf_add(&text, line->line->text, size);
        tc_json_append(array,
                       tc_json_number((double)(is_of_healthy ? line->number : line->of_reference)));
        tc_json_append(array, tc_json_number((double)(is_of_healthy ? 0 : line->number)));
        tc_json_append(array, tc_json_string(text.text));
        tc_strbuf_release(&text);
    }
    return array;
}

/* In which steps its violations were met: first, last and how often, stretch by stretch. */
static void set_spread(struct tc_json *object, const struct tc_finding *f)
{
    struct tc_step_spread spread = {0};
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < f->n; i++)
        tc_step_spread_join(&spread, &f->items[i]->spread);
    for (size_t i = 0; i < spread.n; i++) {
        tc_json_append(array, tc_json_number((double)spread.items[i].first));
        tc_json_append(array, tc_json_number((double)spread.items[i].last));
        tc_json_append(array, tc_json_number((double)spread.items[i].n));
    }
    tc_json_set(object, "spread", array);
    tc_json_set_number(object, "exact", spread.shift == 0);
}

/* Numbers of its violations, from 0. */
static struct tc_json *told(const struct tc_finding *f)
{
    struct tc_json *array = tc_json_array();

    for (size_t k = 0; k < sizeof(f->told) / sizeof(*f->told); k++)
        for (size_t i = 0; i < f->n && f->told[k]; i++)
            if (f->items[i] == f->told[k])
                tc_json_append(array, tc_json_number((double)i));
    return array;
}

static struct tc_json *finding(const struct tc_page *page, size_t i)
{
    const struct tc_finding *f = &page->input->findings.items[i];
    struct tc_json *object = tc_finding_to_json(f, i + 1);
    const int64_t chart = tc_page_chart_of(page, f);

    set_spread(object, f);
    tc_json_set(object, "told", told(f));
    if (chart >= 0)
        tc_json_set_number(object, "loss", (double)chart);
    if (chart >= 0 && tc_page_has_rate(page, f))
        tc_json_set_number(object, "lr", (double)chart);
    if (f->departure)
        tc_json_set(object, "lines", i < MAX_QUOTED ? lines_of(f) : tc_json_array());
    return object;
}

static void add_findings(struct data *d)
{
    struct tc_page_table table = {&d->pool, of_finding, sizeof(of_finding) / sizeof(*of_finding), 0,
                                  TC_STRBUF_INIT};

    for (; d->n_findings < d->page->input->findings.n; d->n_findings++) {
        const size_t size = d->out->size + tc_page_table_size(&table);
        if (size > FINDING_SIZE)
            break;
        tc_page_table_add(&table, finding(d->page, d->n_findings), size < FINDING_DETAIL_SIZE);
    }
    tc_strbuf_adds(d->out, ",\"findings\":");
    tc_page_table_print(&table, d->out);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static const struct tc_column of_track[] = {
    {"trace",     TC_POOLED},
    {"rank",      0        },
    {"file",      0        },
    {"stretches", TC_POOLED},
};

/* Stage, first and last step, one after the other. */
static struct tc_json *stretches(const struct tc_track *track)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < track->stretches.n; i++) {
        const struct tc_stretch *s = &track->stretches.items[i];
        if (s->first_step < 0)
            continue;
        tc_json_append(array, tc_json_string(s->stage));
        tc_json_append(array, tc_json_number((double)s->first_step));
        tc_json_append(array, tc_json_number((double)s->last_step));
    }
    return array;
}

/* By trace, rank and file: not in the order in which files were read. */
static int compare_tracks(const void *a_, const void *b_)
{
    const struct tc_track *a = *(const struct tc_track *const *)a_;
    const struct tc_track *b = *(const struct tc_track *const *)b_;
    int order = strcmp(a->trace, b->trace);

    order = order ? order : (a->rank > b->rank) - (a->rank < b->rank);
    return order ? order : strcmp(a->file, b->file);
}

static void add_timeline(struct data *d)
{
    const struct tc_timeline *timeline = tc_engine_timeline(d->page->input->engine);
    struct tc_page_table table = {&d->pool, of_track, sizeof(of_track) / sizeof(*of_track), 0,
                                  TC_STRBUF_INIT};
    const size_t n = timeline->tracks.n;
    const struct tc_track **tracks = tc_calloc(n + 1, sizeof(*tracks));

    for (size_t i = 0; i < n; i++)
        tracks[i] = &timeline->tracks.items[i];
    qsort(tracks, n, sizeof(*tracks), compare_tracks);
    for (size_t i = 0; i < n; i++) {
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "trace", tracks[i]->trace);
        if (tracks[i]->rank >= 0)
            tc_json_set_number(object, "rank", (double)tracks[i]->rank);
        tc_json_set_string(object, "file", tracks[i]->file);
        tc_json_set(object, "stretches", stretches(tracks[i]));
        tc_page_table_add(&table, object, true);
    }
    tc_free(tracks);
    tc_strbuf_adds(d->out, ",\"timeline\":");
    tc_page_table_print(&table, d->out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_member(struct data *d, const char *key, struct tc_json *take)
{
    tc_strbuf_addf(d->out, ",\"%s\":", key);
    tc_json_print(take, d->out);
    tc_json_free(take);
}

/* Its findings and runs stand apart. */
static void add_summary(struct data *d)
{
    struct tc_json *whole = tc_summary_to_json(d->page->input), *summary = tc_json_object();

    for (const struct tc_json *m = tc_json_first(whole); m; m = tc_json_next(m))
        if (strcmp(tc_json_key(m), "findings") != 0 && strcmp(tc_json_key(m), "runs") != 0)
            tc_json_set(summary, tc_json_key(m), tc_json_copy(m));
    tc_json_free(whole);
    add_member(d, "summary", summary);
}

void tc_page_add_data(const struct tc_page *page, struct tc_strbuf *out)
{
    struct data d = {.page = page, .out = out};

    tc_strbuf_addf(out, "{\"refresh_s\":%u", page->input->refresh_s);
    add_summary(&d);
    add_member(&d, "runs", runs(page));
    add_member(&d, "healthy", healthy(page));
    add_timeline(&d);
    add_findings(&d);
    add_invariants(&d);
    add_violations(&d);
    tc_strbuf_adds(out, ",\"pool\":");
    tc_pool_print(&d.pool, out);
    tc_strbuf_addc(out, '}');
    tc_map_release(&d.invariants);
}
