/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - the kernel of looks, by the driver of the devices that torch calls "cuda" (driver.h)
 *
 * A look is one job: a table in pinned memory that the device reads itself, one launch, one copy of
 * the answers into the same memory, and an event behind it. Nothing here waits for the device but
 * tc_cuda_wait(). Jobs are used again, so that in steady state nothing is allocated.
 *
 * With the interpreter's lock, unless said otherwise. What may wait lets go of it: to compile, to
 * allocate and to launch.
 */
#ifndef TC_COLLECT_CUDA_H
#define TC_COLLECT_CUDA_H

#include "collect/agent/look/driver.h"

struct tc_cuda_job {
    unsigned char *host;  /* answer_size bytes of answers, then the table; 16-byte aligned */
    uint64_t device_host; /* the same, as the device sees it */
    size_t answer_size;
    /* The rest is cuda.c's. */
    struct tc_cuda_job *next;
    size_t host_size, device_size; /* allocated */
    uint64_t answers;              /* the device's memory */
    void *event;
    int device;
    bool is_busy; /* given back before its answers had come */
};

/* Has this device the kernel? Compiles it when it is first asked for; where that fails a note says
 * so once, and the answer stays no. */
bool tc_cuda_has_kernel(int device);

/* A job with room for so many bytes, or NULL, as where the device's memory is full. *is_captured:
 * NULL as somebody captures a graph, while which the driver gives no memory. */
struct tc_cuda_job *tc_cuda_take(int device, size_t answer_size, size_t table_size,
                                 bool *is_captured);

/*
 * Launch for that table: items and tiles are offsets in host, clear says that answers have to begin
 * as zero. On the stream of the driver that `stream` is. False: nothing will come, the job is gone
 * and the device has no kernel from now on. *is_captured: neither false nor started, as the stream
 * is being captured; the job is given back.
 */
bool tc_cuda_start(struct tc_cuda_job *job, uint64_t stream, size_t items, size_t tiles,
                   size_t n_tiles, bool clear, bool *is_captured);

/* Have the answers come? Negative: the driver cannot say. Needs no lock of the interpreter. */
int tc_cuda_ask(const struct tc_cuda_job *job);
/* Wait until they have. False: the device has failed. */
bool tc_cuda_wait(const struct tc_cuda_job *job);
/* The driver could not say: no more jobs for this device. */
void tc_cuda_distrust(const struct tc_cuda_job *job);
/* is_done: the answers have come; else it is not taken again before they have. */
void tc_cuda_give_back(struct tc_cuda_job *job, bool is_done);

/* In a forked child, which has none of the devices that its parent has used. */
void tc_cuda_abandon(void);

/* ---- events of torch's own ---- */

/* Is the driver loaded, so that it can be asked? */
bool tc_cuda_is_loaded(void);
/* As tc_cuda_ask, of an event that torch has made. Needs no lock of the interpreter. */
int tc_cuda_ask_event(void *event);

#endif /* TC_COLLECT_CUDA_H */
