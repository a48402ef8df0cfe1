/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - the invariants by verdict, one a line
 *
 * One JSON object a line, in the order in which the invariants were read. A suppressed failure
 * is in its own log.
 */
#include "report/report.h"

const char *tc_verdict_reason(const struct tc_judgement *j)
{
    switch (tc_engine_verdict(j)) {
    case TC_VERDICT_UNCHECKED:
        return j->unchecked  ? j->unchecked
               : j->relation ? "its precondition was not met in the steps that were traced"
                             : j->invariant->unchecked;
    case TC_VERDICT_NOT_TRIGGERED:
        return j->out_of_context ? "met only in contexts that were never learned"
               : j->excused      ? "met only where it is excused"
                                 : "its precondition was never met";
    default:
        return "";
    }
}

/* {"no_rate": 12}: in the order of the table. */
static struct tc_json *excuses_of(const struct tc_judgement *j)
{
    struct tc_json *object = tc_json_object();

    for (unsigned i = TC_EXCUSE_NONE + 1; i < TC_N_EXCUSES; i++)
        if (j->excused[i])
            tc_json_set_number(object, tc_excuse_row((enum tc_excuse)i)->name,
                               (double)j->excused[i]);
    return object;
}

static struct tc_json *line_of(const struct tc_judgement *j, const struct tc_strtab *symbols,
                               const char *why)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "id", j->invariant->id);
    tc_json_set_string(object, "relation", tc_strtab_text(symbols, j->invariant->relation));
    tc_json_set_string(object, "text", j->invariant->text ? j->invariant->text : "");
    tc_json_set_number(object, "held", (double)j->held);
    tc_json_set_number(object, "broken", (double)j->broken);
    if (j->out_of_context)
        tc_json_set_number(object, "out_of_context", (double)j->out_of_context);
    if (j->excused)
        tc_json_set(object, "not_judged", excuses_of(j));
    if (*why)
        tc_json_set_string(object, "why", why);
    if (j->violation) {
        tc_json_set_string(object, "at", j->violation->at);
        tc_json_set_string(object, "trace", j->violation->trace);
        if (j->violation->step >= 0)
            tc_json_set_number(object, "step", (double)j->violation->step);
    }
    return object;
}

static const char *suppressed_why(const struct tc_report_input *input, const struct tc_judgement *j)
{
    if (!input->suppressions || tc_engine_verdict(j) != TC_VERDICT_FAILED)
        return NULL;
    return tc_suppressions_reason(input->suppressions, j->invariant->id);
}

static void print_verdict(const struct tc_report_input *input, enum tc_verdict verdict,
                          struct tc_strbuf *out)
{
    for (size_t i = 0; i < tc_engine_count(input->engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(input->engine, i);
        if (tc_engine_verdict(j) == verdict && !suppressed_why(input, j))
            tc_json_print_line(line_of(j, input->symbols, tc_verdict_reason(j)), out);
    }
}

static void print_failed(const struct tc_report_input *input, struct tc_strbuf *out)
{
    print_verdict(input, TC_VERDICT_FAILED, out);
}

static void print_passed(const struct tc_report_input *input, struct tc_strbuf *out)
{
    print_verdict(input, TC_VERDICT_PASSED, out);
}

static void print_not_triggered(const struct tc_report_input *input, struct tc_strbuf *out)
{
    print_verdict(input, TC_VERDICT_NOT_TRIGGERED, out);
}

static void print_unchecked(const struct tc_report_input *input, struct tc_strbuf *out)
{
    print_verdict(input, TC_VERDICT_UNCHECKED, out);
}

static void print_suppressed(const struct tc_report_input *input, struct tc_strbuf *out)
{
    for (size_t i = 0; i < tc_engine_count(input->engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(input->engine, i);
        const char *why = suppressed_why(input, j);
        if (why)
            tc_json_print_line(line_of(j, input->symbols, why), out);
    }
}

#define LOG(verdict)                               \
    const struct tc_report tc_report_##verdict = { \
        .file = #verdict ".log",                   \
        .print = print_##verdict,                  \
    }

LOG(failed);
LOG(passed);
LOG(not_triggered);
LOG(unchecked);
LOG(suppressed);
