/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding_words.c - a finding in words, and as JSON
 *
 * A departure is reported in the words of a comparison (compare_words.c), what has none in those of
 * its first violation.
 */
#include "report/finding_report.h"

#include <string.h>

#include "compare/edited_line.h"
#include "replay/symbols.h"
#include "report/compare_report.h"

#define MAX_QUOTE 64

static const struct tc_violation *head_of(const struct tc_finding *f)
{
    return f->items[0];
}

const char *tc_finding_kind(const struct tc_finding *f)
{
    if (f->is_remark)
        return "remark";
    for (size_t i = 0; i < f->n; i++)
        if (!f->items[i]->is_setting)
            return f->departure ? "departure" : "violation";
    return "setting";
}

const char *tc_finding_level(const struct tc_finding *f)
{
    if (f->is_remark)
        return "warning";
    return strcmp(tc_finding_kind(f), "setting") ? "error" : "note";
}

void tc_finding_sentence(const struct tc_finding *f, struct tc_strbuf *out)
{
    if (f->head)
        tc_strbuf_adds(out, f->head->seen);
    else
        tc_compare_sentence(f->comparison, f->departure, out);
}

/* The edited line that the value comes from, if it is another than its place. */
static bool add_origin(const struct tc_finding *f, struct tc_strbuf *out)
{
    size_t line;
    const struct tc_script *script =
        f->departure ? tc_edited_line(&f->departure->edited, &line) : NULL;

    if (script)
        tc_strbuf_addf(out, "%s:%zu", script->at, line + 1);
    return script;
}

void tc_finding_at(const struct tc_finding *f, struct tc_strbuf *out)
{
    if (add_origin(f, out))
        return;
    if (f->departure)
        tc_compare_place(f->comparison, f->departure, out);
    else
        tc_strbuf_adds(out, head_of(f)->at);
}

static void count_edit(void *n_edits, const struct tc_script_edit *edit,
                       const struct tc_edited_lines *lines)
{
    (void)edit;
    (void)lines;
    ++*(size_t *)n_edits;
}

/* Nothing that differs tells of the edit: of several it is the likeliest. */
static const char *since_edit(const struct tc_finding *f)
{
    size_t n_edits = 0;

    tc_script_edits_each(&f->comparison->run.scripts, count_edit, &n_edits);
    return n_edits > 1 ? "perhaps since this edit" : "since this edit";
}

void tc_finding_when(const struct tc_finding *f, struct tc_strbuf *out)
{
    const struct tc_violation *v = head_of(f);

    if (f->departure && f->departure->what == TC_IS_EDITED)
        tc_strbuf_adds(out, since_edit(f));
    else if (f->departure && f->departure->stage == TC_SYM_INIT)
        tc_strbuf_adds(out, "before the first step");
    else if (f->departure)
        tc_strbuf_addf(out,
                       f->departure->n_windows > 1 ? "from step %lld on" : "first in step %lld",
                       (long long)f->departure->step);
    else if (v->step >= 0 && v->count > 1)
        tc_strbuf_addf(out, "from step %lld on, %llu times", (long long)v->step,
                       (unsigned long long)v->count);
    else if (v->step >= 0)
        tc_strbuf_addf(out, "in step %lld", (long long)v->step);
}

int64_t tc_finding_step(const struct tc_finding *f)
{
    return f->departure && f->departure->what != TC_IS_EDITED ? f->departure->step
                                                              : head_of(f)->step;
}

int64_t tc_finding_rank(const struct tc_finding *f)
{
    return head_of(f)->rank;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void set_text(struct tc_json *object, const char *key, const struct tc_strbuf *text)
{
    if (text->size)
        tc_json_set_string(object, key, text->text);
}

static struct tc_json *lines_of(const struct tc_finding *f)
{
    struct tc_quoted_line lines[MAX_QUOTE];
    const size_t n = tc_compare_quote(f->comparison, f->departure, lines, MAX_QUOTE);
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++) {
        struct tc_json *object = tc_json_object();
        struct tc_strbuf text = TC_STRBUF_INIT;
        const char sign[2] = {lines[i].sign, '\0'};
        tc_strbuf_add(&text, lines[i].line->text, lines[i].line->size);
        tc_json_set_string(object, "sign", sign);
        tc_json_set_number(object, "line", (double)lines[i].number);
        tc_json_set_string(object, "text", text.text);
        tc_json_append(array, object);
        tc_strbuf_release(&text);
    }
    return array;
}

static void set_healthy(struct tc_json *object, const struct tc_finding *f)
{
    const struct tc_edited_lines *e = &f->departure->edited;
    struct tc_strbuf at = TC_STRBUF_INIT;

    if (f->departure->what == TC_IS_EDITED && e->script_a)
        tc_strbuf_addf(&at, "%s:%zu", e->script_a->at, e->line_a + 1);
    else
        tc_strbuf_adds(&at, tc_compare_at_reference(f->comparison, f->departure));
    set_text(object, "healthy_at", &at);
    tc_strbuf_release(&at);
}

static void set_departure(struct tc_json *object, const struct tc_finding *f)
{
    const struct tc_difference *d = f->departure;
    struct tc_strbuf origin = TC_STRBUF_INIT;

    tc_json_set_string(object, "what", tc_difference_what_word(d->what));
    tc_json_set_string(object, "of",
                       d->what == TC_IS_EDITED ? "sources" : tc_difference_word(d->kind));
    set_healthy(object, f);
    if (d->what != TC_IS_EDITED && add_origin(f, &origin)) {
        tc_json_set_string(object, "origin_at", origin.text);
        tc_json_set_string(object, "used_at", tc_compare_at(f->comparison, d));
    }
    if (d->was)
        tc_json_set_string(object, "was", d->was);
    if (d->is)
        tc_json_set_string(object, "is", d->is);
    tc_json_set_number(object, "count", (double)d->n);
    tc_json_set_string(object, "healthy_run", f->comparison->reference.name);
    tc_json_set(object, "lines", lines_of(f));
    tc_strbuf_release(&origin);
}

static struct tc_json *told(const struct tc_finding *f)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < sizeof(f->told) / sizeof(*f->told) && f->told[i]; i++) {
        struct tc_json *object = tc_json_object();
        tc_json_set_string(object, "id", f->told[i]->invariant->id);
        tc_json_set_string(object, "seen", f->told[i]->seen);
        tc_json_set_number(object, "count", (double)f->told[i]->count);
        tc_json_append(array, object);
    }
    return array;
}

static struct tc_json *ids(const struct tc_finding *f)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < f->n; i++)
        tc_json_append(array, tc_json_string(f->items[i]->invariant->id));
    return array;
}

struct tc_json *tc_finding_to_json(const struct tc_finding *f, size_t number)
{
    struct tc_json *object = tc_json_object();
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set_number(object, "finding", (double)number);
    tc_json_set_string(object, "kind", tc_finding_kind(f));
    tc_finding_sentence(f, &text);
    set_text(object, "sentence", &text);
    tc_strbuf_reset(&text);
    tc_finding_at(f, &text);
    set_text(object, "at", &text);
    tc_strbuf_reset(&text);
    tc_finding_when(f, &text);
    set_text(object, "when", &text);
    if (tc_finding_step(f) >= 0)
        tc_json_set_number(object, "step", (double)tc_finding_step(f));
    if (tc_finding_rank(f) >= 0)
        tc_json_set_number(object, "rank", (double)tc_finding_rank(f));
    tc_json_set_string(object, "trace", head_of(f)->trace);
    if (f->departure)
        set_departure(object, f);
    if (f->head) {
        tc_json_set_string(object, "sentence_of", f->head->invariant->id);
        tc_json_set_string(object, "hint", f->head->hint);
    }
    tc_json_set(object, "told", told(f));
    tc_json_set_number(object, "n_violations", (double)f->n);
    tc_json_set(object, "violations", ids(f));
    tc_strbuf_release(&text);
    return object;
}
