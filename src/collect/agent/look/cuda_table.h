/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_table.h - the questions of a look, as the table that the kernel works off
 *
 * With the interpreter's lock.
 */
#ifndef TC_COLLECT_CUDA_TABLE_H
#define TC_COLLECT_CUDA_TABLE_H

#include "collect/agent/look/cuda.h"
#include "collect/agent/look/kernel.h"
#include "collect/agent/look/question.h"

/* Tests have what lies on the CPU asked as if it lay on any device, or, by a value that
 * cuda_table.c knows, on one of CUDA. */
#define TC_TEST_ELSEWHERE "TRAINCHECK_TEST_ELSEWHERE"

/* A question that is in a table. */
struct tc_in_table {
    size_t number; /* as the asker counts */
    size_t item;
    tc_u32 flag; /* of kernel.h */
};

/* Those of one device. */
struct tc_table {
    TC_VEC(struct tc_kernel_item) items;
    TC_VEC(struct tc_kernel_tile) tiles;
    TC_VEC(struct tc_in_table) asked;
    TC_VEC(PyObject *) tensors; /* that are read, borrowed */
};

/* The number of a device of CUDA by its name in torch, -1: it is none. */
int tc_table_device(const char *name);

/* Tensors of which the kernel answers this are in the table of their device from now on, one of
 * TC_CUDA_MAX_DEVICES tables. False, without a Python error, where it does not. */
bool tc_table_add(struct tc_table *tables, const struct tc_question *question, size_t number);

/* Launch for a table that has questions. NULL: there will be no answers; *is_captured where a
 * capture forbids it: nobody is to be asked. */
struct tc_cuda_job *tc_table_start(struct tc_table *table, int device, bool *is_captured);

/* Where the answer lies in the job, once started. */
size_t tc_table_place(const struct tc_table *table, const struct tc_in_table *asked);

void tc_table_clear(struct tc_table *table);
void tc_table_release(struct tc_table *table);

#endif /* TC_COLLECT_CUDA_TABLE_H */
