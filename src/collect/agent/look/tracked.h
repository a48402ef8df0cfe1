/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracked.h - the variables that are looked at: parameters and buffers
 */
#ifndef TC_COLLECT_TRACKED_H
#define TC_COLLECT_TRACKED_H

#include "collect/agent/look/told.h"
#include "collect/agent/torch/tensor.h"

/* What a look sees; two of them are compared. */
struct tc_seen {
    struct tc_tensor tensor;
    uint64_t address;
    uint64_t digest;  /* of what has been read here */
    uint64_t stripes; /* of a sampled digest */
    size_t size;      /* of the content here, in bytes */
    int64_t version;
    bool readable, sampled;
    const char *layout;
    bool is_leaf;
    int training; /* -1: no module holds it */
    bool has_grad;
    int64_t grad_serial;
    uint64_t grad_address;
    int64_t grad_version;
};

struct tc_tracked {
    PyObject *ref;   /* weak */
    PyObject *owner; /* weak reference to the module that holds it, or NULL */
    PyObject *grad;  /* weak reference to the gradient seen last, or NULL */
    int64_t serial, root;
    char *name; /* NULL: not looked at */
    bool is_buffer;
    bool is_due;    /* its optimizer has stepped */
    bool announced; /* its first record is written */
    bool renamed;
    bool has_magnitude; /* that of its content has been asked since it was written */
    char *placement;    /* of a distributed tensor, as JSON members */
    long long begin;    /* of the part that is here, in elements of the whole; 0 if not known */
    struct tc_seen seen;
    struct tc_told *told; /* owned; stays where it is */
};

/* Pointers are valid until the next variable is met. NULL if the serial is no variable's. */
struct tc_tracked *tc_tracked_find(int64_t serial);
/* Found or made; NULL if the tensor takes no weak references. */
struct tc_tracked *tc_tracked_meet(PyObject *tensor, int64_t serial);
/* root is the serial of the root module, 0 while none holds it. */
void tc_tracked_set_name(struct tc_tracked *v, const char *name, int64_t root);

/* All of them, in the order in which they were met. */
size_t tc_tracked_n(void);
struct tc_tracked *tc_tracked_at(size_t i);
/* Was one met, or named, since the news was taken? */
bool tc_tracked_has_news(void);
void tc_tracked_take_news(void);

/* tensor.swap_tensors refuses tensors with weak references: let go of ours, and take them again. */
void tc_tracked_let_go(PyObject *tensor);
void tc_tracked_reset(void);

#endif /* TC_COLLECT_TRACKED_H */
