/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - redirecting callables in place
 *
 * The room hook is what Python and the policy call, and decides what a call sets off - looks,
 * records, windows; it may depend on say, look and torch, and none of them on it.
 *
 * A callable keeps its identity, type, code and attributes; only its
 * vectorcall slot leads through us. What is not redirected costs nothing.
 */
#ifndef TC_COLLECT_SLOTS_H
#define TC_COLLECT_SLOTS_H

#include "collect/agent/torch/signature.h"

/* What a redirected callable does besides what it did. */
struct tc_hook {
    struct tc_api *api; /* traced as this, or NULL */
    const struct tc_sig *sig;
    PyObject *before; /* called with (args) before, with (args, result) after; or NULL */
    PyObject *after;
    bool once_per_type; /* before and after: only for the first receiver of each type */
    bool mute;          /* nothing is traced inside */
};

/*
 * Redirect a callable that has a vectorcall slot: a Python function, a builtin, a method
 * descriptor. Redirecting again replaces the hook. References in hook are taken over.
 */
void tc_slot_redirect(PyObject *callable, const struct tc_hook *hook);
/* Has it such a slot? */
bool tc_slot_is_there(PyObject *callable);
bool tc_slot_is_redirected(PyObject *callable);
/*
 * Redirect type[index], of a class that took it over from a C type. Classes with the same one may
 * follow, and the last hook stands for all. False where the type has another.
 */
bool tc_slot_redirect_item(PyTypeObject *type, const struct tc_hook *hook);
/* The same of type[index] = value. */
bool tc_slot_redirect_set_item(PyTypeObject *type, const struct tc_hook *hook);

/*
 * The constructor of the class is redirected. From Python 3.13 on a line that has called a class
 * some times enters its constructor past the slot, unless objects are allocated in another way.
 */
void tc_slot_keep_constructor(PyTypeObject *type);

/* What a callable's calls lead to: how it was called, and the hook. Lives for ever. */
struct tc_redirection *tc_redirection_new(vectorcallfunc original, const struct tc_hook *hook);
/* The call that the hook is told of, or not; original makes it, and gets the callable. */
PyObject *tc_slot_lead(struct tc_redirection *r, PyObject *callable, PyObject *const *args,
                       size_t nargsf, PyObject *names);

#endif /* TC_COLLECT_SLOTS_H */
