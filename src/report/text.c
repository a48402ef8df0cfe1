/*
 * text.c - violations as a person reads them in a terminal of 80 columns
 */
#include "report/report.h"

#include <string.h>

#include "base/banned.h"
#include "base/fs.h"
#include "invariant/describe.h"

#define WIDTH  80
#define INDENT 2

#define BOLD  "\033[1m"
#define RED   "\033[31m"
#define FAINT "\033[2m"
#define RESET "\033[0m"

struct printer {
    struct tc_strbuf *out;
    bool color;
};

static void paint(const struct printer *p, const char *code)
{
    if (p->color)
        tc_strbuf_adds(p->out, code);
}

static bool is_continued(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t columns(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += !is_continued(text[i]);
    return n;
}

/* Texts come from traces: what would steer the terminal is shown as a question mark. */
static void add_text(struct tc_strbuf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_c1 = c == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;
        tc_strbuf_addc(out, c < 0x20 || c == 0x7f || is_c1 ? '?' : text[i]);
        i += is_c1;
    }
}

/* Words of text, folded between the indent and the width; `label` stands before the first line. */
static void fold(const struct printer *p, const char *label, const char *text)
{
    size_t indent = INDENT + columns(label, strlen(label));
    size_t column = indent;

    tc_strbuf_addf(p->out, "%*s%s", INDENT, "", label);
    for (bool first = true; *text; first = false) {
        size_t size = strcspn(text, " \n");
        size_t width = columns(text, size);
        if (!first && column + 1 + width > WIDTH) {
            tc_strbuf_addf(p->out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            tc_strbuf_addc(p->out, ' ');
            column++;
        }
        add_text(p->out, text, size);
        column += width;
        text += size + strspn(text + size, " \n");
    }
    tc_strbuf_addc(p->out, '\n');
}

static void print_head(const struct printer *p, const struct tc_violation *v)
{
    const char *at = *v->at ? v->at : v->file;

    paint(p, BOLD);
    add_text(p->out, at, strlen(at));
    paint(p, RESET);
    if (v->step >= 0)
        tc_strbuf_addf(p->out, "  step %lld", (long long)v->step);
    if (v->rank >= 0)
        tc_strbuf_addf(p->out, "  rank %lld", (long long)v->rank);
    tc_strbuf_adds(p->out, "  ");
    paint(p, RED);
    tc_strbuf_addf(p->out, "%s", v->relation->name);
    paint(p, RESET);
    tc_strbuf_addf(p->out, "  %s\n", v->invariant->id);
}

static const char *unquoted(const char *json, char buf[32])
{
    size_t n = strlen(json);

    if (n < 2 || json[0] != '"' || n - 2 >= 32)
        return json;
    memcpy(buf, json + 1, n - 2);
    buf[n - 2] = '\0';
    return buf;
}

#define SHOWN_VARIABLES 4

static void print_variables(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    char grad[32];

    for (size_t i = 0; i < v->n_variables && i < SHOWN_VARIABLES; i++) {
        const struct tc_violation_variable *x = &v->variables[i];
        tc_strbuf_addf(&text, "%s%s (requires_grad=%s, grad=%s)", i ? ", " : "", x->name,
                       x->requires_grad ? "true" : "false", unquoted(x->grad, grad));
    }
    size_t more = v->n_variables + v->n_more_variables;
    if (more > SHOWN_VARIABLES)
        tc_strbuf_addf(&text, " and %zu more", more - SHOWN_VARIABLES);
    if (text.size)
        fold(p, "variables: ", text.text);
    tc_strbuf_release(&text);
}

/* Where it stands among the calls: what encloses it, and what the loop called before. */
static void print_calls(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (size_t i = 0; i < v->n_inside; i++) {
        tc_strbuf_adds(&text, i ? " > " : "");
        tc_describe_call_name(v->inside[i], &text);
    }
    if (text.size)
        fold(p, "inside:   ", text.text);
    tc_strbuf_reset(&text);
    for (size_t i = 0; i < v->n_before; i++) {
        tc_strbuf_adds(&text, i ? ", " : "");
        tc_describe_call_name(v->before[i].call, &text);
    }
    if (text.size)
        fold(p, "after:    ", text.text);
    tc_strbuf_release(&text);
}

static void print_learned(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "held %llu time%s in %llu pipeline%s",
                   (unsigned long long)v->invariant->held, v->invariant->held == 1 ? "" : "s",
                   (unsigned long long)v->invariant->pipelines,
                   v->invariant->pipelines == 1 ? "" : "s");
    fold(p, "learned:  ", text.text);
    tc_strbuf_release(&text);
}

static void print_repeats(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (v->count == 1)
        return;
    if (v->n_steps == 0)
        tc_strbuf_addf(&text, "(%llu times)", (unsigned long long)v->count);
    else if (v->n_steps == 1)
        tc_strbuf_addf(&text, "(%llu times in this step)", (unsigned long long)v->count);
    else
        tc_strbuf_addf(&text, "(%llu times until step %lld)", (unsigned long long)v->count,
                       (long long)v->last_step);
    fold(p, "", text.text);
    tc_strbuf_release(&text);
}

void tc_report_text_violation(const struct tc_violation *v, bool color, struct tc_strbuf *out)
{
    const struct printer p = {out, color};

    print_head(&p, v);
    fold(&p, "expected: ", v->invariant->text);
    fold(&p, "seen:     ", v->seen);
    fold(&p, "look at:  ", v->hint);
    paint(&p, FAINT);
    print_calls(&p, v);
    print_variables(&p, v);
    print_learned(&p, v);
    print_repeats(&p, v);
    paint(&p, RESET);
}

/* ---- the rest of a group ------------------------------------------------------------------- */

#define SHOWN_FOLLOWERS 8

/* As much of the text as fits into the columns that are left of a line. */
static void add_fitting(struct tc_strbuf *out, const char *text, size_t used)
{
    size_t room = used < WIDTH ? WIDTH - used : 0, size = 0, n = 0;

    if (columns(text, strlen(text)) <= room) {
        add_text(out, text, strlen(text));
        return;
    }
    while (text[size] && (n < room - (room ? 1 : 0) || is_continued(text[size])))
        n += !is_continued(text[size++]);
    while (is_continued(text[size]))
        size++;
    add_text(out, text, size);
    tc_strbuf_adds(out, "\xe2\x80\xa6");
}

static void print_follower(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_strbuf_addf(&line, "    %s  %s", v->invariant->id, *v->at ? tc_fs_base(v->at) : v->file);
    if (v->step >= 0)
        tc_strbuf_addf(&line, "  step %lld", (long long)v->step);
    tc_strbuf_adds(&line, "  ");
    add_text(p->out, line.text, line.size);
    add_fitting(p->out, v->seen, columns(line.text, line.size));
    tc_strbuf_addc(p->out, '\n');
    tc_strbuf_release(&line);
}

static void print_followers(const struct printer *p, const struct tc_group *group)
{
    if (group->n == 1)
        return;
    fold(p, "", "with it broke:");
    for (size_t i = 1; i < group->n && i <= SHOWN_FOLLOWERS; i++)
        print_follower(p, group->items[i]);
    if (group->n - 1 > SHOWN_FOLLOWERS)
        tc_strbuf_addf(p->out, "    and %zu more, in violations.jsonl\n",
                       group->n - 1 - SHOWN_FOLLOWERS);
}

void tc_report_text(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct printer p = {out, input->config->color};

    for (size_t i = 0; i < input->groups.n; i++) {
        if (i)
            tc_strbuf_addc(out, '\n');
        tc_report_text_violation(input->groups.items[i].items[0], p.color, out);
        print_followers(&p, &input->groups.items[i]);
    }
}
