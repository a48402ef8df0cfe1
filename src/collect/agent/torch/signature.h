/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - arguments and the names of the parameters they are bound to
 */
#ifndef TC_COLLECT_SIGNATURE_H
#define TC_COLLECT_SIGNATURE_H

#include "collect/agent/agent.h"

/* What tells the overloads of a builtin apart. */
enum tc_accepts {
    TC_ACCEPTS_ANY,
    TC_ACCEPTS_TENSOR,
    TC_ACCEPTS_INDEX, /* an integer, or what torch counts as one: dtype, layout */
    TC_ACCEPTS_SIZES, /* integers, as one tuple or, if it is the only positional parameter, one by
                         one */
};

struct tc_sig_param {
    PyObject *name;  /* that a call may give; interned */
    char *shown;     /* that is recorded */
    char *operand;   /* args.shown */
    char *key;       /* "shown": */
    char *fallback;  /* scalar default as JSON, or NULL */
    bool positional; /* may be given by position */
    bool required;   /* by what the overload is told from others */
    bool is_secret;  /* its name says so */
    enum tc_accepts accepts;
};

/* One way in which a callable may be called. */
struct tc_sig {
    struct tc_sig_param *params;
    size_t n, n_positional;
    bool is_variadic;          /* its one positional parameter takes all arguments by position */
    const struct tc_sig *next; /* the next overload, or NULL */
};

/* Arguments as the vectorcall protocol hands them over; borrowed. */
struct tc_arguments {
    PyObject *const *items; /* n by position, then one for each of names */
    size_t n;
    PyObject *names; /* tuple, or NULL */
};

/*
 * The policy's tuple of alternatives, each a tuple of its Param; without any, arguments are named
 * by position. Lives for ever. NULL with a Python error set.
 */
const struct tc_sig *tc_sig_new(PyObject *alternatives);
/* The alternative that takes the arguments; one that names them by position if none does. */
const struct tc_sig *tc_sig_choose(const struct tc_sig *sig, const struct tc_arguments *args);

/* The parameter of the argument at a position, or of that name; NULL if there is none. */
const struct tc_sig_param *tc_sig_at(const struct tc_sig *sig, size_t position);
const struct tc_sig_param *tc_sig_named(const struct tc_sig *sig, PyObject *name);
/* What is given by the name of the parameter, borrowed; NULL if nothing is. */
PyObject *tc_sig_value_named(const struct tc_arguments *args, const struct tc_sig_param *param);
/* The argument of that name, which may be given by position, borrowed; NULL if it is not given. */
PyObject *tc_arguments_at(const struct tc_arguments *args, const char *name, size_t position);
/* Are the arguments by position all one value? */
bool tc_sig_is_gathered(const struct tc_sig *sig, const struct tc_arguments *args);

#endif /* TC_COLLECT_SIGNATURE_H */
