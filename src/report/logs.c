/*
 * logs.c - the invariants by verdict, one a line
 */
#include "report/report.h"

#include "base/banned.h"

static struct tc_json *line_of(const struct tc_judgement *j, const struct tc_strtab *symbols)
{
    struct tc_json *object = tc_json_object();

    tc_json_set_string(object, "id", j->invariant->id);
    tc_json_set_string(object, "relation", tc_strtab_text(symbols, j->invariant->relation));
    tc_json_set_string(object, "text", j->invariant->text ? j->invariant->text : "");
    tc_json_set_number(object, "held", (double)j->held);
    tc_json_set_number(object, "broken", (double)j->broken);
    if (j->out_of_context)
        tc_json_set_number(object, "out_of_context", (double)j->out_of_context);
    if (!j->relation)
        tc_json_set_string(object, "why", j->invariant->unchecked);
    else if (!j->held && !j->broken)
        tc_json_set_string(object, "why",
                           j->out_of_context ? "met only in contexts that were never learned"
                                             : "its precondition was never met");
    if (j->violation) {
        tc_json_set_string(object, "at", j->violation->at);
        if (j->violation->step >= 0)
            tc_json_set_number(object, "step", (double)j->violation->step);
    }
    return object;
}

static void print_verdict(const struct tc_report_input *input, enum tc_verdict verdict,
                          struct tc_strbuf *out)
{
    for (size_t i = 0; i < tc_engine_count(input->engine); i++) {
        const struct tc_judgement *j = tc_engine_judgement(input->engine, i);
        if (tc_engine_verdict(j) != verdict)
            continue;
        struct tc_json *object = line_of(j, input->symbols);
        tc_json_print(object, out);
        tc_strbuf_addc(out, '\n');
        tc_json_free(object);
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

const struct tc_report tc_report_failed = {"failed.log", print_failed};
const struct tc_report tc_report_passed = {"passed.log", print_passed};
const struct tc_report tc_report_not_triggered = {"not_triggered.log", print_not_triggered};
const struct tc_report tc_report_unchecked = {"unchecked.log", print_unchecked};
