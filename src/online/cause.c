/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.c - findings made anew at each look, and the first violation of each new one queued as a
 * command
 *
 * A cause is remembered in the state before its command is run and marked when it has ended: a
 * checker that is killed in between leaves the command to the next. Suppressed violations are no
 * cause. Cost grows with the violations that are known, not with events.
 */
#include "online/cause.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "report/finding_report.h"

void tc_causes_init(struct tc_causes *causes, const struct tc_check *check, struct tc_state *state,
                    struct tc_commands *commands)
{
    *causes = (struct tc_causes){.check = check,
                                 .state = state,
                                 .commands = commands,
                                 .heard = tc_strtab_new(),
                                 .queued = tc_strtab_new()};
}

void tc_causes_release(struct tc_causes *causes)
{
    tc_strtab_free(causes->heard);
    tc_strtab_free(causes->queued);
}

static bool has(const struct tc_strtab *ids, const char *id)
{
    return tc_strtab_find(ids, id, strlen(id)) != TC_NO_SYM;
}

static bool was_heard_of(const struct tc_causes *causes, const char *id)
{
    const struct tc_state *state = causes->state;

    return has(causes->heard, id) ||
           (state && (tc_state_was_told(state, id) || tc_state_cause(state, id)));
}

static bool is_new(const struct tc_causes *causes, const struct tc_finding *finding)
{
    for (size_t i = 0; i < finding->n; i++)
        if (was_heard_of(causes, finding->items[i]->invariant->id))
            return false;
    return true;
}

/* The violation of the finding whose command an earlier checker left; NULL if there is none. */
static const struct tc_violation *left_over(const struct tc_causes *causes,
                                            const struct tc_finding *finding)
{
    for (size_t i = 0; causes->state && i < finding->n; i++) {
        const char *id = finding->items[i]->invariant->id;
        if (tc_state_cause(causes->state, id) && !tc_state_has_run(causes->state, id) &&
            !has(causes->queued, id))
            return finding->items[i];
    }
    return NULL;
}

static void set_run(struct tc_json *object, const char *trace)
{
    char *path = realpath(trace, NULL);

    tc_json_set_string(object, "run", path ? path : trace);
    free(path);
}

/* What the command reads: the violation with its cause. */
static void queue(const struct tc_causes *causes, const struct tc_finding *finding,
                  const struct tc_violation *violation, size_t number)
{
    struct tc_json *object = tc_violation_to_json(violation, causes->check->symbols);
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_json_set(object, "finding", tc_finding_to_json(finding, number));
    tc_json_set_bool(object, "first", number == 1);
    set_run(object, violation->trace);
    if (violation->rank < 0)
        tc_json_set(object, "rank", tc_json_null());
    tc_json_print_line(object, &text);
    tc_commands_run(causes->commands, violation->invariant->id, text.text, text.size);
    tc_strbuf_release(&text);
}

/* It is remembered first: a checker that is killed meanwhile leaves the command to the next. */
static enum tc_status tell_finding(struct tc_causes *causes, const struct tc_finding *finding,
                                   struct tc_error *err)
{
    const struct tc_violation *violation =
        is_new(causes, finding) ? finding->items[0] : left_over(causes, finding);
    enum tc_status status = TC_OK;
    size_t number;

    for (size_t i = 0; i < finding->n; i++)
        tc_strtab_intern_text(causes->heard, finding->items[i]->invariant->id);
    if (!violation)
        return TC_OK;
    const char *id = violation->invariant->id;
    number = tc_strtab_intern_text(causes->queued, id) + (size_t)1;
    if (causes->state && !tc_state_cause(causes->state, id))
        status = tc_state_add_cause(causes->state, id, err);
    if (causes->state)
        number = tc_state_cause(causes->state, id);
    queue(causes, finding, violation, number);
    return status;
}

enum tc_status tc_causes_tell(struct tc_causes *causes, const struct tc_findings *findings,
                              struct tc_error *err)
{
    enum tc_status first = TC_OK, status;

    for (size_t i = 0; i < findings->n; i++) {
        status = tell_finding(causes, &findings->items[i], first ? NULL : err);
        first = first ? first : status;
    }
    return first;
}
