/* SPDX-License-Identifier: Apache-2.0 */
/*
 * teller.c - findings and violations as they are found, sorted, printed, and remembered as told
 *
 * The engine only collects; telling happens between reads, so the lines of one look are in order. A
 * finding is reported when the first of its violations is: those that join it later are evidence,
 * which reports have. A violation is remembered after it was printed: a kill in between tells it
 * twice rather than never. The first error is returned and does not keep the others from being
 * told.
 */
#include "online/teller.h"

#include <stdlib.h>

#include "report/finding_report.h"

static void on_found(void *context, const struct tc_violation *violation)
{
    struct tc_teller *teller = context;

    tc_vec_push(&teller->found, violation);
}

void tc_teller_init(struct tc_teller *teller, struct tc_check *check, struct tc_state *state,
                    struct tc_causes *causes, const struct tc_online_config *config)
{
    *teller =
        (struct tc_teller){.check = check, .state = state, .causes = causes, .config = config};
    tc_engine_on_found(check->engine, on_found, teller);
}

void tc_teller_release(struct tc_teller *teller)
{
    tc_vec_release(&teller->found);
    tc_map_release(&teller->told);
}

static int compare_found(const void *a, const void *b)
{
    return tc_violation_compare(*(const struct tc_violation *const *)a,
                                *(const struct tc_violation *const *)b);
}

static void print_line(const struct tc_teller *teller, struct tc_strbuf *take)
{
    const struct tc_check_config *config = teller->check->config;

    if (config->write)
        config->write(config->context, take->text, take->size);
    tc_strbuf_release(take);
}

static bool was_told(const struct tc_teller *teller, const struct tc_violation *violation)
{
    uint64_t one;

    return tc_map_get(&teller->told, (uint64_t)(uintptr_t)violation, &one) ||
           (teller->state && tc_state_was_told(teller->state, violation->invariant->id));
}

static bool is_found(const struct tc_teller *teller, const struct tc_violation *violation)
{
    for (size_t i = 0; i < teller->found.n; i++)
        if (teller->found.items[i] == violation)
            return true;
    return false;
}

/* It was found in this look, and nothing of it was known before. */
static bool is_new(const struct tc_teller *teller, const struct tc_finding *finding)
{
    bool has_found = false;

    for (size_t i = 0; i < finding->n; i++) {
        if (was_told(teller, finding->items[i]))
            return false;
        has_found |= is_found(teller, finding->items[i]);
    }
    return has_found;
}

static void tell_finding(const struct tc_teller *teller, const struct tc_finding *finding,
                         size_t number)
{
    const struct tc_check_config *config = teller->check->config;
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_print_line(tc_finding_to_json(finding, number), &text);
    if (teller->config->found)
        teller->config->found(teller->config->found_context, text.text, text.size);
    if (!config->json) {
        tc_strbuf_reset(&text);
        tc_report_text_finding(finding, config->color, config->n_traces > 1, &text);
        tc_strbuf_addc(&text, '\n');
    }
    print_line(teller, &text);
}

/* It is remembered last: a checker that is killed meanwhile rather tells it again than never. */
static enum tc_status tell_violation(struct tc_teller *teller, const struct tc_violation *violation,
                                     struct tc_error *err)
{
    const char *id = violation->invariant->id;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (tc_suppressions_reason(&teller->check->suppressions, id) || was_told(teller, violation))
        return TC_OK;
    tc_json_print_line(tc_violation_to_json(violation, teller->check->symbols), &text);
    if (teller->config->found)
        teller->config->found(teller->config->found_context, text.text, text.size);
    if (teller->check->config->json)
        print_line(teller, &text);
    tc_strbuf_release(&text);
    tc_map_put(&teller->told, (uint64_t)(uintptr_t)violation, 1);
    return teller->state ? tc_state_tell(teller->state, id, err) : TC_OK;
}

enum tc_status tc_teller_tell(struct tc_teller *teller, struct tc_error *err)
{
    struct tc_findings findings;
    enum tc_status first = TC_OK, status;

    if (!teller->found.n)
        return TC_OK;
    tc_check_findings(teller->check, &findings);
    teller->n_findings = findings.n;
    if (teller->causes)
        first = tc_causes_tell(teller->causes, &findings, err);
    for (size_t i = 0; i < findings.n; i++)
        if (is_new(teller, &findings.items[i]))
            tell_finding(teller, &findings.items[i], i + 1);
    tc_findings_release(&findings);
    qsort(teller->found.items, teller->found.n, sizeof(*teller->found.items), compare_found);
    for (size_t i = 0; i < teller->found.n; i++) {
        status = tell_violation(teller, teller->found.items[i], first ? NULL : err);
        first = first ? first : status;
    }
    teller->found.n = 0;
    return first;
}

void tc_teller_tell_last(struct tc_teller *teller)
{
    struct tc_findings findings;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (!teller->check->config->json)
        return;
    tc_check_findings(teller->check, &findings);
    for (size_t i = 0; i < findings.n; i++) {
        struct tc_json *object = tc_finding_to_json(&findings.items[i], i + 1);
        tc_json_set_bool(object, "last", true);
        tc_json_print_line(object, &text);
    }
    tc_findings_release(&findings);
    if (text.size)
        print_line(teller, &text);
}
