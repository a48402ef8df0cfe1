/* SPDX-License-Identifier: Apache-2.0 */
#include "relation/api_sequence_setup.h"

#include <string.h>

#include "invariant/describe.h"
#include "relation/form.h"
#include "replay/symbols.h"

bool tc_setup_is_of_script(const struct tc_strtab *symbols, const struct tc_event *event)
{
    const struct tc_call *call = event->call;

    return event->kind == TC_EVENT_CALL && !call->raised && call->th == 0 &&
           !event->process->is_worker && !tc_is_by_torch(symbols, call);
}

void tc_setup_add(tc_sym *set, size_t *n, size_t max, tc_sym sym)
{
    size_t i = 0;

    while (i < *n && set[i] < sym)
        i++;
    if ((i < *n && set[i] == sym) || *n == max)
        return;
    memmove(&set[i + 1], &set[i], (*n - i) * sizeof(*set));
    set[i] = sym;
    ++*n;
}

tc_sym tc_setup_mark(struct tc_strtab *symbols, tc_sym sym)
{
    tc_sym words[2];

    return tc_strtab_split(symbols, sym, words, 2) ? words[0] : TC_NO_SYM;
}

void tc_setup_propose(struct tc_strtab *symbols, tc_sym key, const struct tc_outcomes *outcomes,
                      bool key_first, struct tc_hypotheses *out)
{
    struct tc_map seen = TC_MAP_INIT;

    for (size_t i = 0; i < outcomes->n; i++) {
        for (size_t j = 0; j < outcomes->n_outcome[i]; j++) {
            tc_sym other = outcomes->outcome[i][j];
            struct tc_hypothesis h = {.n_params = 2,
                                      /* The code of one pipeline decides about order. That what was
                                       * saved is restored is no coin. */
                                      .support = key_first ? TC_SUPPORT_USAGE : TC_SUPPORT_COIN,
                                      .min_examples = 1};
            if (!tc_is_first(&seen, other) || tc_setup_mark(symbols, other) != TC_NO_SYM)
                continue;
            h.params[0] = tc_param_call(key_first ? key : other, TC_SYM_EMPTY);
            h.params[1] = tc_param_call(key_first ? other : key, TC_SYM_EMPTY);
            tc_vec_push(&out->items, h);
        }
    }
    tc_map_release(&seen);
}

bool tc_setup_are_calls(const struct tc_param *params, size_t n)
{
    return n == 2 && params[0].kind == TC_PARAM_CALL && params[1].kind == TC_PARAM_CALL;
}

void tc_setup_explain(struct tc_strtab *symbols, const struct tc_example *example,
                      struct tc_strbuf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < example->n_outcome; i++) {
        if (tc_setup_mark(symbols, example->outcome[i]) != TC_NO_SYM)
            continue;
        tc_strbuf_adds(out, n++ ? ", " : "");
        tc_describe_call(symbols, example->outcome[i], out);
    }
    if (!n)
        tc_strbuf_adds(out, "nothing");
}
