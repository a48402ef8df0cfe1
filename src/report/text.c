/*
 * text.c - violations as a person reads them in a terminal of 80 columns
 */
#include "report/report.h"

#include <string.h>

#include "base/banned.h"

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

static size_t columns(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
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

static void print_learned(const struct printer *p, const struct tc_violation *v)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_strbuf_addf(&text, "held %llu time%s in %llu pipeline%s. First look: %s",
                   (unsigned long long)v->invariant->held, v->invariant->held == 1 ? "" : "s",
                   (unsigned long long)v->invariant->pipelines,
                   v->invariant->pipelines == 1 ? "" : "s", v->relation->hint);
    paint(p, FAINT);
    fold(p, "learned:  ", text.text);
    paint(p, RESET);
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

void tc_report_text(const struct tc_report_input *input, struct tc_strbuf *out)
{
    const struct printer p = {out, input->config->color};

    for (size_t i = 0; i < input->n_violations; i++) {
        const struct tc_violation *v = input->violations[i];
        if (i)
            tc_strbuf_addc(out, '\n');
        print_head(&p, v);
        fold(&p, "expected: ", v->invariant->text);
        fold(&p, "seen:     ", v->seen);
        print_variables(&p, v);
        print_learned(&p, v);
        print_repeats(&p, v);
    }
}
