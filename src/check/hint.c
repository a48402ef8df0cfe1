/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hint.c - what to look at first: by form, by what is related, by the state of the variables
 *
 * A form with a hint_of of its own answers itself. Else the first row of hints[] counts that
 * fits the form, the param and the state of the variables, and else the form's hint, which may
 * be NULL.
 */
#include "check/violation.h"

#include <string.h>

#include "replay/symbols.h"

static bool all_frozen(const struct tc_violation *v)
{
    return v->n_concerned && v->n_frozen == v->n_concerned;
}

static bool none_has_gradient(const struct tc_violation *v)
{
    return v->n_concerned && v->n_without_grad == v->n_concerned;
}

/*
 * The first row that fits counts; "" fits everything, as does no predicate. what is the attribute
 * of a change or a variable, the path of an operand, or "call"; to is what it becomes or is
 * compared with, as the invariant has it. Forms not listed have one hint, their own.
 */
static const struct {
    const char *relation, *what, *to;
    bool (*is_case)(const struct tc_violation *v);
    const char *hint;
} hints[] = {
    {"EventContain/some",  "data",          "",               all_frozen,
     "All variables concerned have requires_grad=false: what froze them, and does the optimizer "
     "own the ones that should learn?"                                                              },
    {"EventContain/some",  "data",          "",               none_has_gradient,
     "None of the variables concerned has a gradient: does the loss reach them, and is the backward "
     "before this call?"                                                                            },
    {"EventContain/some",  "data",          "",               NULL,
     "Are these the variables that the model uses, and is the learning rate above zero?"            },
    {"EventContain/some",  "grad",          "non_zero",       all_frozen,
     "All variables concerned have requires_grad=false: what froze them, and should they not learn?"},
    {"EventContain/some",  "grad",          "non_zero",       none_has_gradient,
     "Does the loss still reach the parameters: no detach, item, no_grad or new tensor between?"    },
    {"EventContain/some",  "grad",          "non_zero",       NULL,
     "Were the gradients cleared since the last step, and does the loss reach these parameters?"    },
    {"EventContain/some",  "grad",          "clear",          none_has_gradient,
     "Is this called again before a backward has given new gradients, or was there none at all?"    },
    {"EventContain/some",  "grad",          "clear",          NULL,
     "Does this optimizer own the parameters that have gradients?"                                  },
    {"EventContain/some",  "call",          "",               NULL,
     "What skipped the inner call: a condition, an early return, an overflow, disabled gradients?"  },
    {"EventContain/each",  "cleared",       "",               NULL,
     "Is zero_grad called once before each backward, on the optimizer that owns this variable?"     },
    {"EventContain/each",  "data",          "unchanged",      NULL,
     "What writes to this buffer here: is the module in the mode that was meant?"                   },
    {"EventContain/each",  "data",          "changed",        none_has_gradient,
     "None of the variables concerned has a gradient: does the model still use them, and is no "
     "detach or no_grad between them and the loss?"                                                 },
    {"EventContain/each",  "data",          "",               NULL,
     "Is this the tensor that the model uses, and does the update write into it and not into a "
     "copy of it?"                                                                                  },
    {"Consistent/replica", "data",          "differs",        NULL,
     "Does a sampler part the data among the ranks, or do all draw it by the same seed?"            },
    {"Consistent/replica", "seed",          "",               NULL,
     "Does the sampler get the rank in its seed? It parts the data by its rank already."            },
    {"APIArg/constant",    "self.training", "false",          NULL,
     "Is eval() called before this loop, on the module that is called here? Dropout that is meant in "
     "an evaluation is accepted with --suppress."                                                   },
    {"APIArg/constant",    "self.training", "true",           NULL,
     "Is train() called again after the last evaluation?"                                           },
    {"APIArg/constant",    "args.training", "",               NULL,
     "Is the mode set before the call (train, eval), and does the module pass its own mode on?"     },
    {"APIArg/constant",    "args.dim",      "",               NULL,
     "Which dimension is meant? Counted from the end, -1 is the last; the first is the batch."      },
    {"APIArg/constant",    "",              "zero",           NULL,
     "Does the module that makes this call follow its own mode (train, eval)?"                      },
    {"APIArg/equal",       "",              "owner.training", NULL,
     "Does the module pass its own training mode on, or a constant?"                                },
    {"APIArg/equal",       "",              "ctx.autocast",   NULL,
     "Which call before it made this operand outside of autocast, or in float32?"                   },
    {"APIOutput/equal",    "",              "ctx.autocast",   NULL,
     "Does this call take part in autocast? A primitive or a custom function may bypass it."        },
    {"APIArg/distinct",    "",              "distinct",       NULL,
     "Does every worker seed its own random generators (worker_init_fn)?"                           },
    {"APIArg/distinct",    "",              "",               NULL,
     "Is the model initialised twice: by a module and again by its parent?"                         },
};

static bool fits(const char *wanted, const char *have)
{
    return !*wanted || !strcmp(wanted, have);
}

static const char *hint_of_params(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    const struct tc_invariant *x = v->invariant;
    const struct tc_param *p = &x->params[x->n_params > 1 ? 1 : 0];
    bool is_call = p->kind == TC_PARAM_CALL;
    tc_sym what = p->kind == TC_PARAM_OPERAND ? p->name : p->attr;
    const char *what_text = is_call             ? "call"
                            : what == TC_NO_SYM ? ""
                                                : tc_strtab_text(symbols, what);
    const char *to = is_call || p->to == TC_NO_SYM ? "" : tc_strtab_text(symbols, p->to);
    char plain[32];

    if (*to == '"' && strlen(to) - 2 < sizeof(plain)) {
        memcpy(plain, to + 1, strlen(to) - 2);
        plain[strlen(to) - 2] = '\0';
        to = plain;
    }
    for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
        if (!strcmp(hints[i].relation, v->relation->name) && fits(hints[i].what, what_text) &&
            fits(hints[i].to, to) && (!hints[i].is_case || hints[i].is_case(v)))
            return hints[i].hint;
    return v->relation->hint;
}

const char *tc_violation_hint(const struct tc_violation *v, const struct tc_strtab *symbols)
{
    return v->relation->hint_of ? v->relation->hint_of(symbols, v->invariant, v->outcome[0])
                                : hint_of_params(v, symbols);
}
