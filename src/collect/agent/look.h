/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.h - the one door to the content of tensors
 *
 * Nothing else in the agent knows where a tensor lies. What lies in this process's memory is read
 * there. What lies elsewhere is asked by operators of torch, for all tensors of a look together, so
 * that their results come in one copy from each device.
 */
#ifndef TC_COLLECT_LOOK_H
#define TC_COLLECT_LOOK_H

#include "collect/agent/tensor.h"

/* Questions, each with what of an answer it fills. */
#define TC_ASK_DIGEST    0x1u /* digest: of all bytes */
#define TC_ASK_STRIPES   0x2u /* stripes: of the pieces that stand for large data */
#define TC_ASK_MAGNITUDE 0x4u /* magnitude */
#define TC_ASK_VALUE     0x8u /* value: of one floating point number */

struct tc_answer {
    unsigned answered; /* which questions were; of a wrapper (tensor.h) no number is known */
    uint64_t digest, stripes;
    double magnitude; /* the largest one; INFINITY where a number is NaN or infinite */
    double value;
};

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
 * The answers for a tensor, as it has just been read. seed: of its digests. What was not added to
 * the open look is asked for itself, which waits for the device. Leaves no Python error. May let go
 * of the interpreter's lock while it reads.
 */
void tc_look_at(PyObject *tensor, const struct tc_tensor *as, unsigned asked, uint64_t seed,
                struct tc_answer *out);

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

/* Numbers as a device sends them: the first is at data. */
double tc_look_number(const unsigned char *data, const struct tc_dtype *dtype, size_t i);

#endif /* TC_COLLECT_LOOK_H */
