/* SPDX-License-Identifier: Apache-2.0 */
/*
 * teller.c - violations as they are found, sorted, printed, and remembered as told
 *
 * The engine only collects; telling happens between reads, so the lines of one look are in order.
 * A violation is remembered after it was printed: a kill in between tells it twice rather than
 * never. The first error is returned and does not keep the others from being told.
 */
#include "online/teller.h"

#include <stdlib.h>

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
}

static int compare_found(const void *a, const void *b)
{
    return tc_violation_compare(*(const struct tc_violation *const *)a,
                                *(const struct tc_violation *const *)b);
}

static void print(const struct tc_teller *teller, const struct tc_violation *violation)
{
    const struct tc_check_config *config = teller->check->config;
    struct tc_strbuf text = TC_STRBUF_INIT;

    tc_check_tell(teller->check, violation, &text);
    if (config->write)
        config->write(config->context, text.text, text.size);
    tc_strbuf_release(&text);
}

static void hand_out(const struct tc_teller *teller, const struct tc_violation *violation)
{
    struct tc_strbuf text = TC_STRBUF_INIT;
    struct tc_json *object;

    if (!teller->config->found)
        return;
    object = tc_violation_to_json(violation, teller->check->symbols);
    tc_json_print(object, &text);
    tc_strbuf_addc(&text, '\n');
    teller->config->found(teller->config->found_context, text.text, text.size);
    tc_json_free(object);
    tc_strbuf_release(&text);
}

/* It is remembered last: a checker that is killed meanwhile rather tells it again than never. */
static enum tc_status tell_violation(const struct tc_teller *teller,
                                     const struct tc_violation *violation, struct tc_error *err)
{
    const char *id = violation->invariant->id;

    if (tc_suppressions_reason(&teller->check->suppressions, id) ||
        (teller->state && tc_state_was_told(teller->state, id)))
        return TC_OK;
    print(teller, violation);
    hand_out(teller, violation);
    return teller->state ? tc_state_tell(teller->state, id, err) : TC_OK;
}

enum tc_status tc_teller_tell(struct tc_teller *teller, struct tc_error *err)
{
    enum tc_status first = TC_OK, status;

    if (teller->found.n && teller->causes)
        first = tc_causes_tell(teller->causes, err);
    if (teller->found.n > 1)
        qsort(teller->found.items, teller->found.n, sizeof(*teller->found.items), compare_found);
    for (size_t i = 0; i < teller->found.n; i++) {
        status = tell_violation(teller, teller->found.items[i], first ? NULL : err);
        first = first ? first : status;
    }
    teller->found.n = 0;
    return first;
}
