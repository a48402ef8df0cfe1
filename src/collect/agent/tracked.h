/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracked.h - one variable, as the parts of variables.h share it
 *
 *   variables.c   all variables; looks
 *   optimizers.c  those that an optimizer owns
 *   roots.c       those that root modules hold, and what they are called
 *   seen.c        what a look sees of one
 *   told.c        what of it depends on its content
 *   var_record.c  what is written of it
 */
#ifndef TC_COLLECT_TRACKED_H
#define TC_COLLECT_TRACKED_H

#include "collect/agent/told.h"
#include "collect/agent/variables.h"

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
    struct tc_seen seen;
    struct tc_told *told; /* owned; stays where it is */
};

/* Pointers are valid until the next variable is met. NULL if the serial is no variable's. */
struct tc_tracked *tc_tracked_find(int64_t serial);
/* Found or made; NULL if the tensor takes no weak references. */
struct tc_tracked *tc_tracked_meet(PyObject *tensor, int64_t serial);
/* root is the serial of the root module, 0 while none holds it. */
void tc_tracked_set_name(struct tc_tracked *v, const char *name, int64_t root);

/*
 * See the tensor as it is now. verify: read the content though its version says that nothing was
 * written. False, perhaps with a Python error set, if it cannot be read at all.
 */
bool tc_seen_take(struct tc_tracked *v, PyObject *tensor, struct tc_seen *s, struct tc_news *news,
                  bool verify);
/* Add to the open look (look.h) what seeing it will ask, where it lies elsewhere. */
void tc_seen_ask(const struct tc_tracked *v, PyObject *tensor, bool verify);
void tc_seen_reset(void);

/*
 * A buffer whose tensor is gone, as it was assigned anew (`self.mean = ...`): the tensor that
 * stands in its place, borrowed, which is the variable from here on. NULL if there is none.
 */
PyObject *tc_tracked_take_successor(struct tc_tracked *v);

/* See it, and write a record if there is something new. */
void tc_tracked_look(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                     int64_t cause, bool verify);
/* Before that, within a look at several: what it will ask. */
void tc_tracked_ask(const struct tc_tracked *v, PyObject *tensor, bool verify);
bool tc_variables_may_look(const struct tc_thread *thread);

/* Write a record if the variable is new, renamed or changed; s is what is remembered of it. */
void tc_tracked_record(struct tc_thread *thread, struct tc_tracked *v, PyObject *tensor,
                       const struct tc_seen *s, struct tc_news *news, int64_t cause);

void tc_roots_reset(void);

#endif /* TC_COLLECT_TRACKED_H */
