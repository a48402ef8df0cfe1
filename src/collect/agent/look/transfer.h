/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - questions to devices, and the one copy in which the answers of a look come
 *
 * A device of CUDA is asked by one launch of the kernel (cuda_table.h); any other, and all that the
 * kernel does not answer, by operators of torch in device.py of the policy.
 */
#ifndef TC_COLLECT_TRANSFER_H
#define TC_COLLECT_TRANSFER_H

#include "collect/agent/look/question.h"

/* What one device sends: bytes in this process's memory, once they have come. */
struct tc_transfer;

/* Where an answer lies. */
struct tc_piece {
    struct tc_transfer *transfer; /* NULL: there is none */
    size_t at;                    /* a multiple of 8, but for magnitudes */
};

/*
 * Pieces hold nothing by themselves. These need no lock of the interpreter. give_up: what has not
 * come never will, as at the end.
 */
void tc_piece_hold(const struct tc_piece *piece);
void tc_piece_let_go(const struct tc_piece *piece);
void tc_piece_give_up(const struct tc_piece *piece);
/* Has its transfer come, or is there none to come? */
bool tc_piece_has_come(const struct tc_piece *piece);
bool tc_pieces_have_come(const struct tc_piece *pieces, size_t n);
/* Does the kernel answer, or torch? */
bool tc_piece_is_of_kernel(const struct tc_piece *piece);
/* Of one that has come: NULL where there is no answer. */
const unsigned char *tc_piece_data(const struct tc_piece *piece);

/* The same of a transfer, or NULL. */
struct tc_transfer *tc_transfer_hold(struct tc_transfer *transfer);
void tc_transfer_let_go(struct tc_transfer *transfer);
/* With the interpreter's lock, which may be let go of: has it come by now? A driver that can be
 * asked without it (tc_piece_has_come) is not asked again. And wait until it has. */
bool tc_transfer_ask(struct tc_transfer *transfer);
void tc_transfer_wait(struct tc_transfer *transfer);

/* Bytes of all that are held. */
size_t tc_transfers_size(void);
/* In a forked child: those of the parent are never asked. */
void tc_transfers_abandon(void);

/* Of one look. */
struct tc_questions {
    TC_VEC(struct tc_question) all;
    TC_VEC(struct tc_piece) pieces;         /* once submitted, one of each */
    TC_VEC(struct tc_transfer *) transfers; /* held */
    TC_VEC(size_t) left;                    /* numbers of those that torch is asked */
};

/* Returns the number of the question. other: NULL but for SAME. */
size_t tc_questions_add(struct tc_questions *questions, enum tc_what what, PyObject *tensor,
                        PyObject *other);
/* Leaves no Python error. What no device answers has no piece. */
void tc_questions_submit(struct tc_questions *questions);
/* Forget all of them, and what came. */
void tc_questions_clear(struct tc_questions *questions);
/* The memory of what holds none. Needs no lock of the interpreter. */
void tc_questions_release(struct tc_questions *questions);

#endif /* TC_COLLECT_TRANSFER_H */
