/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.h - the one door to the content of tensors
 *
 * The room look reads what tensors hold, here or on a device, and remembers what it saw of
 * variables; it may depend on torch.
 *
 * Nothing else in the agent knows where a tensor lies. What lies in this process's memory is read
 * there. What lies elsewhere is asked by operators of torch, for all tensors of a look together, so
 * that their results come in one copy from each device.
 */
#ifndef TC_COLLECT_LOOK_H
#define TC_COLLECT_LOOK_H

#include "collect/agent/look/sketch.h"
#include "collect/agent/look/transfer.h"
#include "collect/agent/torch/tensor.h"

/* Questions about variables. No device is asked for stripes or values. */
#define TC_ASK_DIGEST    0x1u /* of all bytes */
#define TC_ASK_STRIPES   0x2u /* of the pieces that stand for large data */
#define TC_ASK_MAGNITUDE 0x4u /* the largest one; INFINITY where a number is NaN or infinite */
#define TC_ASK_VALUE     0x8u /* of one floating point number */

/* Is its memory what tc_look_memory() would give, whatever the reach? */
bool tc_look_is_here(const struct tc_tensor *as);

/* The answer to one of them: known, or still to come. */
struct tc_figure {
    struct tc_piece piece; /* transfer NULL: it is known */
    bool is_known; /* else nothing can be read, as where a wrapper (tensor.h) has no number */
    union {
        uint64_t digest; /* or stripes */
        double number;
    } value;
    const struct tc_dtype *dtype;
    uint64_t seed, size; /* of a digest that is to come */
};

/* Once it has come; false where it is not known. Need no lock of the interpreter. */
bool tc_figure_digest(const struct tc_figure *figure, uint64_t *out);
bool tc_figure_number(const struct tc_figure *figure, double *out);

/*
 * Between begin and end a look gathers questions: add those that lie elsewhere, then submit. The
 * answers are what tc_look_at gives until the end. No code of the user may run in between, and
 * looks do not nest.
 */
void tc_look_begin(void);
void tc_look_add(PyObject *tensor, const struct tc_tensor *as, unsigned asked);
void tc_look_submit(void);
void tc_look_end(void);

/*
 * The answer for a tensor, as it has just been read. seed: of its digests. What was not added to
 * the open look is asked for itself, which waits for the device. Leaves no Python error. May let go
 * of the interpreter's lock while it reads. The piece is not held.
 */
void tc_look_at(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                struct tc_figure *out);

/* Its sketch, false where there is none: of what lies elsewhere no device is asked. begin: where it
 * begins in the tensor that it is a part of. */
bool tc_look_sketch(PyObject *tensor, const struct tc_tensor *as, uint64_t begin,
                    struct tc_sketch *out);

/* Does the tensor lie where only a device reads it? Then it is worth adding to a look. */
bool tc_look_is_elsewhere(const struct tc_tensor *as);

/* How far one goes to have bytes in this process's memory. Nothing but COPY waits for a device. */
enum tc_reach {
    TC_REACH_PLACE, /* those that lie there, in one piece */
    TC_REACH_APART, /* and those that lie there apart, if they are few: valid until the next call */
    TC_REACH_COPY,  /* and a copy of all others */
};

/* The bytes themselves, for what no device is asked; release them with tc_memory_release. data is
 * NULL where they lie beyond reach. */
void tc_look_memory(PyObject *tensor, const struct tc_tensor *as, enum tc_reach reach,
                    struct tc_memory *out);

/* Does it lie elsewhere, where its device can be asked all that this process's memory would be at
 * this reach? Then it is asked with transfer.h. */
bool tc_look_is_asked(PyObject *tensor, const struct tc_tensor *as, enum tc_reach reach);

/* Is its device one whose answers cost less than bytes? */
bool tc_look_has_kernel(const struct tc_tensor *as);

/* Numbers as a device sends them: the first is at data. */
double tc_look_number(const unsigned char *data, const struct tc_dtype *dtype, size_t i);

#endif /* TC_COLLECT_LOOK_H */
