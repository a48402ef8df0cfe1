/* SPDX-License-Identifier: Apache-2.0 */
/*
 * situation_field.c - one table of fields with their traits, in order of preference
 *
 * The first row that fits counts, exact or as a prefix. A field that has no row is OPEN and comes
 * last. Closed values are known to be all there are (true, null, "zero"), so a clause on one needs
 * no witnesses.
 */
#include "invariant/situation_field.h"

#include <string.h>

enum {
    OPEN = 1,    /* its values are never closed */
    CLOSED = 2,  /* its values are always closed */
    CONTEXT = 4, /* an unseen value is an unknown context */
    STRICT = 8,  /* ... an unseen field as well */
    MODE = 16,
    HIDDEN = 32, /* never in a precondition */
};

/* In order of preference. A name that ends in a dot stands for all fields that begin with it. */
static const struct {
    const char *name;
    unsigned traits;
} fields[] = {
    {"stage",           MODE                     },
    {"ctx.autocast",    OPEN | CONTEXT | MODE    },
    {"ctx.inference",   CONTEXT | MODE           },
    {"ctx.",            MODE                     },
    {"after.",          0                        },
    {"closure",         CONTEXT                  },
    {"in.role",         OPEN | HIDDEN            },
    {"in",              OPEN                     },
    {"self.training",   MODE                     },
    {"owner.training",  MODE                     },
    {"world",           CONTEXT                  },
    {"uses.",           0                        },
    {"uses_of.",        CONTEXT | HIDDEN         },
    {"self.class",      OPEN                     },
    {"self.",           0                        },
    {"v.kind",          0                        },
    {"v.requires_grad", 0                        },
    {"v.attr.",         CLOSED | CONTEXT | STRICT},
    {"v.dtype",         OPEN                     },
    {"v.owner",         OPEN                     },
    {"v.",              0                        },
    {"args.",           CONTEXT                  },
};

#define N_FIELDS (sizeof(fields) / sizeof(*fields))

unsigned tc_field_rank(const char *field)
{
    for (unsigned i = 0; i < N_FIELDS; i++) {
        size_t n = strlen(fields[i].name);
        bool is_prefix = fields[i].name[n - 1] == '.';
        if (is_prefix ? !strncmp(field, fields[i].name, n) : !strcmp(field, fields[i].name))
            return i;
    }
    return N_FIELDS;
}

static unsigned traits(const char *field)
{
    unsigned rank = tc_field_rank(field);

    return rank < N_FIELDS ? fields[rank].traits : OPEN;
}

bool tc_field_is_closed(const char *field, const char *value)
{
    static const char *const closed[] = {
        "true",         "false",        "null",           "\"zero\"",          "\"tiny\"",
        "\"positive\"", "\"negative\"", "\"non_zero\"",   "\"nan_or_inf\"",    "\"null\"",
        "\"all\"",      "\"some\"",     "\"none\"",       "\"one\"",           "\"many\"",
        "\"training\"", "\"init\"",     "\"evaluation\"", "\"checkpointing\"",
    };

    if (traits(field) & (OPEN | CLOSED))
        return traits(field) & CLOSED;
    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
        if (!strcmp(value, closed[i]))
            return true;
    return false;
}

bool tc_field_is_context(const char *field)
{
    return traits(field) & CONTEXT;
}

bool tc_field_is_strict_context(const char *field)
{
    return traits(field) & STRICT;
}

bool tc_field_is_use(const char *field)
{
    return !strncmp(field, "uses.", strlen("uses."));
}

bool tc_field_is_mode(const char *field)
{
    return traits(field) & MODE;
}

bool tc_field_is_hidden(const char *field)
{
    return traits(field) & HIDDEN;
}
