/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - names of calls, clauses and lists in English
 *
 * A table gives clauses of known fields words of their own, the first row that fits; another
 * clause is told by its field and value. Output is appended, nothing is kept.
 */
#include "invariant/describe.h"

#include <ctype.h>
#include <string.h>

const char *tc_describe_join(size_t i, size_t n)
{
    return i == 0 ? "" : i + 1 == n ? " and " : ", ";
}

static bool describe_root(const char *name, struct tc_strbuf *out)
{
    static const struct {
        const char *name, *words;
    } modes[] = {
        {"root.forward",                "the root forward"                                   },
        {"root.forward[train,grad]",    "the root forward in training mode"                  },
        {"root.forward[train,no_grad]", "the root forward in training mode without gradients"},
        {"root.forward[eval,grad]",     "the root forward in evaluation mode with gradients" },
        {"root.forward[eval,no_grad]",  "the root forward in evaluation mode"                },
    };

    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (!strcmp(name, modes[i].name)) {
            tc_strbuf_adds(out, modes[i].words);
            return true;
        }
    }
    return false;
}

/* The last part of a dotted name, with its class before it if it is a method. */
static const char *short_name(const char *name)
{
    const char *last = name, *before = name;

    for (const char *p = name; *p; p++) {
        if (*p == '.') {
            before = last;
            last = p + 1;
        }
    }
    return isupper((unsigned char)*before) ? before : last;
}

void tc_describe_call_name(const char *name, struct tc_strbuf *out)
{
    if (!describe_root(name, out))
        tc_strbuf_addf(out, "%s()", short_name(name));
}

void tc_describe_call(const struct tc_strtab *symbols, tc_sym name, struct tc_strbuf *out)
{
    tc_describe_call_name(tc_strtab_text(symbols, name), out);
}

/* Fields with words of their own; value "" stands for every value and is put in at %s. */
static const struct {
    const char *field, *value;
    bool negated;
    const char *words;
} phrases[] = {
    {"stage",            "\"training\"",   false, "in training"                                },
    {"stage",            "\"evaluation\"", false, "outside of training"                        },
    {"stage",            "\"init\"",       false, "before training"                            },
    {"stage",            "\"training\"",   true,  "outside of training"                        },
    {"stage",            "\"init\"",       true,  "once training has begun"                    },
    {"stage",            "\"evaluation\"", true,  "in training or before it"                   },
    {"ctx.grad",         "true",           false, "with gradients enabled"                     },
    {"ctx.grad",         "false",          false, "with gradients disabled"                    },
    {"ctx.grad",         "true",           true,  "with gradients disabled"                    },
    {"ctx.grad",         "false",          true,  "with gradients enabled"                     },
    {"ctx.autocast",     "null",           false, "outside of autocast"                        },
    {"ctx.autocast",     "null",           true,  "under autocast"                             },
    {"ctx.autocast",     "false",          false, "outside of autocast"                        },
    {"ctx.autocast",     "true",           false, "under autocast"                             },
    {"ctx.autocast",     "",               false, "under %s autocast"                          },
    {"after.backward",   "true",           false, "after a backward"                           },
    {"after.backward",   "false",          false, "before any backward"                        },
    {"after.backward",   "true",           true,  "before any backward"                        },
    {"after.backward",   "false",          true,  "after a backward"                           },
    {"after.forward",    "true",           false, "after a forward"                            },
    {"after.forward",    "false",          false, "before any forward"                         },
    {"after.unscale",    "true",           false, "after unscaling"                            },
    {"after.unscale",    "false",          false, "without unscaling"                          },
    {"world",            "\"many\"",       false, "on several ranks"                           },
    {"world",            "\"one\"",        false, "on one rank"                                },
    {"in",               "\"top\"",        false, "when the script calls it directly"          },
    {"in",               "",               false, "inside %s"                                  },
    {"closure",          "true",           false, "with a closure"                             },
    {"closure",          "false",          false, "without a closure"                          },
    {"self.training",    "true",           false, "in training mode"                           },
    {"self.training",    "false",          false, "in evaluation mode"                         },
    {"self.grads",       "\"all\"",        false, "when all its parameters have a gradient"    },
    {"self.grads",       "\"none\"",       false, "when none of its parameters has a gradient" },
    {"self.grads",       "\"none\"",       true,  "when some of its parameters have a gradient"},
    {"self.frozen",      "\"none\"",       false, "when none of its parameters is frozen"      },
    {"self.frozen",      "\"all\"",        true,  "when not all of its parameters are frozen"  },
    {"self.class",       "",               false, "of %s"                                      },
    {"owner.training",   "true",           false, "inside a module in training mode"           },
    {"owner.training",   "false",          false, "inside a module in evaluation mode"         },
    {"v.owner.training", "true",           false, "when its module is in training mode"        },
    {"v.owner.training", "false",          false, "when its module is in evaluation mode"      },
    {"v.owner.training", "true",           true,  "when its module is in evaluation mode"      },
    {"v.owner.training", "false",          true,  "when its module is in training mode"        },
    {"v.grad",           "\"non_zero\"",   false, "with a gradient that is not zero"           },
    {"v.grad",           "\"null\"",       true,  "with a gradient"                            },
    {"v.requires_grad",  "true",           false, "where it requires a gradient"               },
    {"v.same_root",      "true",           false, "in the same model"                          },
    {"v.same_root",      "false",          false, "in another model"                           },
    {"v.same_name",      "true",           false, "under the same name"                        },
    {"v.same_owner",     "true",           false, "in modules of the same class"               },
    {"v.matrix",         "true",           false, "of two or more dimensions"                  },
    {"v.matrix",         "false",          false, "of one dimension"                           },
};

/* A JSON value as a person writes it: strings without their quotes. */
static void add_plain(struct tc_strbuf *out, const char *value)
{
    size_t n = strlen(value);

    if (n >= 2 && value[0] == '"')
        tc_strbuf_add(out, value + 1, n - 2);
    else
        tc_strbuf_add(out, value, n);
}

static void add_phrase(struct tc_strbuf *out, const char *words, const char *value)
{
    const char *hole = strstr(words, "%s");

    if (!hole) {
        tc_strbuf_adds(out, words);
        return;
    }
    tc_strbuf_add(out, words, (size_t)(hole - words));
    add_plain(out, value);
    tc_strbuf_adds(out, hole + 2);
}

static void describe_clause(const struct tc_strtab *symbols, const struct tc_clause *clause,
                            struct tc_strbuf *out)
{
    const char *field = tc_strtab_text(symbols, clause->field);
    const char *value = tc_strtab_text(symbols, clause->value);

    for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++) {
        if (strcmp(phrases[i].field, field) || phrases[i].negated != clause->negated)
            continue;
        if (!*phrases[i].value || !strcmp(phrases[i].value, value)) {
            add_phrase(out, phrases[i].words, value);
            return;
        }
    }
    const char *dot = strrchr(field, '.');
    if (!strncmp(field, "uses.", 5)) {
        tc_strbuf_addf(out, "in a run that %s %s", clause->negated ? "does not use" : "uses",
                       dot + 1);
        return;
    }
    tc_strbuf_addf(out, "when %s is %s", dot ? dot + 1 : field, clause->negated ? "not " : "");
    add_plain(out, value);
}

void tc_describe_when(const struct tc_strtab *symbols, const struct tc_clause *when, size_t n_when,
                      struct tc_strbuf *out)
{
    for (size_t i = 0; i < n_when; i++) {
        tc_strbuf_adds(out, i == 0 ? ", " : " and ");
        describe_clause(symbols, &when[i], out);
    }
}
