/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classes.h - classes and APIs as the policy describes them
 */
#ifndef TC_COLLECT_CLASSES_H
#define TC_COLLECT_CLASSES_H

#include "collect/agent/torch/signature.h"

enum tc_class_kind {
    TC_CLASS_OTHER,
    TC_CLASS_MODULE,
    TC_CLASS_OPTIMIZER,
    TC_CLASS_TENSOR
};

struct tc_class {
    PyObject *ref;    /* weak reference to the type */
    char *name;       /* as JSON string */
    char *short_name; /* the part of the type's own name behind the last dot, as JSON string */
    size_t n_short_name;
    enum tc_class_kind kind;
    bool opaque;              /* reading its attributes would run the user's code */
    bool dispatches;          /* a tensor that may have no memory of its own */
    bool distributed;         /* a tensor of which this process holds a part */
    bool part;                /* a module that is called where another one is only looked at */
    bool ours;                /* of this tool's own package */
    const struct tc_sig *sig; /* modules: of forward */
    struct tc_api *layer;     /* modules of torch.nn: their own API; NULL: not traced */
    struct tc_api *forward;   /* other modules: Module.__call__; NULL: not traced unless root */
};

/* APIs are numbered from 0 and live for ever. */
int tc_api_add(const char *fn, enum tc_role role, unsigned flags, int group, const char *defaults);
struct tc_api *tc_api_get(long index);
/* Calls of libraries and of the user's methods: what is inside of them is the training. */
bool tc_api_is_container(const struct tc_api *api);
/* What is known of a type; NULL with a Python error set. Lives as long as the type. */
struct tc_class *tc_class_of(PyTypeObject *type);

#endif /* TC_COLLECT_CLASSES_H */
