/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - one invariant in full: what it means, how it was learned, what became of it
 *
 * Labelled lines: what the invariant claims, how it was learned, its verdict, why occasions were
 * not judged, its violation in full, and the line for --suppress. False if no invariant has the
 * id.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "report/fold.h"

static const char *text_of(const struct tc_strtab *symbols, tc_sym sym)
{
    return sym == TC_NO_SYM ? "" : tc_strtab_text(symbols, sym);
}

static void add_change(struct tc_strbuf *out, const struct tc_strtab *symbols,
                       const struct tc_param *p)
{
    tc_strbuf_addf(out, "%s of a %s", text_of(symbols, p->attr), text_of(symbols, p->name));
    if (p->from != TC_NO_SYM)
        tc_strbuf_addf(out, ", from %s", text_of(symbols, p->from));
    if (p->to != TC_NO_SYM)
        tc_strbuf_addf(out, ", to %s", text_of(symbols, p->to));
}

/* Its words apart, as the file has them. */
static void add_fact(struct tc_strbuf *out, const struct tc_strtab *symbols,
                     const struct tc_fact *fact)
{
    struct tc_json *subject = tc_fact_subject_to_json(fact, symbols);
    struct tc_json *claim = tc_fact_claim_to_json(fact, symbols);

    tc_json_print(subject, out);
    tc_strbuf_addc(out, ' ');
    tc_json_print(claim, out);
    tc_json_free(subject);
    tc_json_free(claim);
}

static void add_param(struct tc_strbuf *out, const struct tc_strtab *symbols,
                      const struct tc_param *p)
{
    const char *role = text_of(symbols, p->role);

    switch (p->kind) {
    case TC_PARAM_CALL:
        tc_strbuf_addf(out, "call %s", text_of(symbols, p->name));
        if (*role)
            tc_strbuf_addf(out, " (%s%s)", role, p->given ? ", where it is made" : "");
        break;
    case TC_PARAM_CHANGE:
        tc_strbuf_adds(out, "change of ");
        add_change(out, symbols, p);
        break;
    case TC_PARAM_VARIABLE:
        add_change(out, symbols, p);
        break;
    case TC_PARAM_FOREIGN:
        tc_strbuf_adds(out, text_of(symbols, p->name));
        break;
    case TC_PARAM_OPERAND:
        tc_strbuf_addf(out, "%s %s %s", text_of(symbols, p->name), text_of(symbols, p->attr),
                       text_of(symbols, p->to));
        break;
    case TC_PARAM_FACT:
        add_fact(out, symbols, p->fact);
        break;
    }
}

static void print_params(struct tc_strbuf *out, const struct tc_strtab *symbols,
                         const struct tc_invariant *x)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    for (size_t i = 0; i < x->n_params; i++) {
        tc_strbuf_reset(&line);
        add_param(&line, symbols, &x->params[i]);
        tc_fold(out, i ? "          " : "relates:  ", line.text);
    }
    tc_strbuf_release(&line);
}

static void print_when(struct tc_strbuf *out, const struct tc_strtab *symbols,
                       const struct tc_invariant *x)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    for (size_t i = 0; i < x->n_when; i++)
        tc_strbuf_addf(&line, "%s%s is %s%s", i ? ", and " : "", text_of(symbols, x->when[i].field),
                       x->when[i].negated ? "not " : "", text_of(symbols, x->when[i].value));
    tc_fold(out, "when:     ", line.size ? line.text : "always");
    tc_strbuf_reset(&line);
    for (size_t i = 0; i < x->n_contexts; i++) {
        const struct tc_context *c = &x->contexts[i];
        tc_strbuf_addf(&line, "%s%s:", i ? "; " : "", text_of(symbols, c->field));
        for (size_t j = 0; j < c->n_values; j++)
            tc_strbuf_addf(&line, "%s %s", j ? "," : "", text_of(symbols, c->values[j]));
    }
    if (line.size)
        tc_fold(out, "known in: ", line.text);
    tc_strbuf_release(&line);
}

static const char *s(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_evidence(struct tc_strbuf *out, const struct tc_invariant *x)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    if (!x->held && !x->broken && !x->excluded) {
        tc_fold(out, "learned:  ", "not from traces");
        return;
    }
    tc_strbuf_addf(&line, "held %" PRIu64 " time%s in %" PRIu64 " pipeline%s", x->held, s(x->held),
                   x->pipelines, s(x->pipelines));
    if (x->broken)
        tc_strbuf_addf(&line, ", broke %" PRIu64 " time%s", x->broken, s(x->broken));
    if (x->excluded)
        tc_strbuf_addf(&line, "; %" PRIu64 " example%s outside of its precondition", x->excluded,
                       s(x->excluded));
    tc_fold(out, "learned:  ", line.text);
    tc_strbuf_release(&line);
}

static void print_verdict(struct tc_strbuf *out, const struct tc_report_input *input,
                          const struct tc_judgement *j)
{
    static const char *const words[] = {
        [TC_VERDICT_FAILED] = "failed",
        [TC_VERDICT_PASSED] = "passed",
        [TC_VERDICT_NOT_TRIGGERED] = "not triggered",
        [TC_VERDICT_UNCHECKED] = "unchecked",
    };
    const char *why = tc_verdict_reason(j);
    const char *known = tc_suppressions_reason(input->suppressions, j->invariant->id);
    struct tc_strbuf line = TC_STRBUF_INIT;

    tc_strbuf_adds(&line, words[tc_engine_verdict(j)]);
    if (*why)
        tc_strbuf_addf(&line, ": %s", why);
    if (j->held || j->broken)
        tc_strbuf_addf(&line, ": held %" PRIu64 " time%s, broke %" PRIu64 " time%s", j->held,
                       s(j->held), j->broken, s(j->broken));
    if (j->violation && known)
        tc_strbuf_addf(&line, "; suppressed: %s", known);
    tc_fold(out, "verdict:  ", line.text);
    tc_strbuf_release(&line);
}

/* "not judged: 12 times, as ...", a line each. */
static void print_excuses(struct tc_strbuf *out, const struct tc_judgement *j)
{
    struct tc_strbuf line = TC_STRBUF_INIT;

    for (unsigned i = TC_EXCUSE_NONE + 1; j->excused && i < TC_N_EXCUSES; i++) {
        if (!j->excused[i])
            continue;
        tc_strbuf_reset(&line);
        tc_strbuf_addf(&line, "not judged %" PRIu64 " time%s, as %s", j->excused[i],
                       s(j->excused[i]), tc_excuse_row((enum tc_excuse)i)->why);
        tc_fold(out, "          ", line.text);
    }
    tc_strbuf_release(&line);
}

/* The first of its finding; NULL if it is suppressed. */
static const struct tc_violation *head_of(const struct tc_findings *findings,
                                          const struct tc_violation *v)
{
    for (size_t i = 0; i < findings->n; i++)
        for (size_t j = 0; j < findings->items[i].n; j++)
            if (findings->items[i].items[j] == v)
                return findings->items[i].items[0];
    return NULL;
}

static void print_violation(struct tc_strbuf *out, const struct tc_report_input *input,
                            const struct tc_violation *v)
{
    const struct tc_violation *head = head_of(&input->findings, v);

    tc_strbuf_addc(out, '\n');
    tc_report_text_violation(v, input->config->color, input->config->n_traces > 1, out);
    if (head && head != v)
        tc_strbuf_addf(out, "  (with %s, which is closer to the cause)\n", head->invariant->id);
}

/* Whether it is meant no trace tells. */
static void print_accept(struct tc_strbuf *out, const char *id)
{
    tc_strbuf_adds(out,
                   "\n  If this is meant, a file with this line for --suppress says so:\n    ");
    tc_fold_add(out, id, strlen(id));
    tc_strbuf_adds(out, "  meant, because ...\n");
}

static void print_one(struct tc_strbuf *out, const struct tc_report_input *input,
                      const struct tc_judgement *j)
{
    const struct tc_invariant *x = j->invariant;
    const char *relation = text_of(input->symbols, x->relation);

    tc_fold_add(out, x->id, strlen(x->id));
    tc_strbuf_adds(out, "  ");
    tc_fold_add(out, relation, strlen(relation));
    tc_strbuf_addc(out, '\n');
    tc_fold(out, "says:     ", x->text ? x->text : "");
    if (j->relation)
        tc_fold(out, "form:     ", j->relation->summary);
    if (j->relation && j->relation->source->judged)
        tc_fold(out, "judged:   at ", j->relation->source->judged);
    print_params(out, input->symbols, x);
    print_when(out, input->symbols, x);
    print_evidence(out, x);
    if (j->violation)
        tc_fold(out, "look at:  ", j->violation->hint);
    else if (j->relation && j->relation->hint)
        tc_fold(out, "look at:  ", j->relation->hint);
    if (input->config->n_traces || !j->relation) {
        print_verdict(out, input, j);
        print_excuses(out, j);
    }
    if (j->violation)
        print_violation(out, input, j->violation);
    if (j->violation && !tc_suppressions_reason(input->suppressions, x->id))
        print_accept(out, x->id);
}

bool tc_report_explain(const struct tc_report_input *input, const char *id, struct tc_strbuf *out)
{
    bool is_known = false;

    for (size_t i = 0; i < tc_engine_count(input->engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(input->engine, i);
        if (strcmp(j->invariant->id, id) != 0)
            continue;
        if (out->size)
            tc_strbuf_addc(out, '\n');
        print_one(out, input, j);
        is_known = true;
    }
    return is_known;
}
