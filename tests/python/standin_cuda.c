/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin_cuda.c - a libcuda.so.1 of our own, on the CPU: what the agent calls of CUDA's driver
 *
 * standin_hip.c has the same by the names of HIP.
 *
 * The kernel is kernel.c compiled as C. It runs on a thread of the stand-in and is done when the
 * launch returns, as the CPU, whose memory it reads, keeps to no stream. What it wrote is memory of
 * the device, which is garbage at first and which nobody reads but copies. These come after random
 * delays, one after the other, and events pass behind them: what a copy is to bring is there once
 * its event has passed, and not a moment before.
 *
 * There are two devices. What belongs to one, as a context, a kernel, an event, memory or a stream
 * (16, 17), is refused while a thread works on the other.
 *
 * A launch takes STANDIN_BLOCKS microseconds, as where the device has a thousand others to do.
 * With STANDIN_PTX it takes no machine code, as CUDA_FORCE_PTX_JIT has it.
 * STANDIN_FAILS=NAME:N lets calls of that function fail from number N on. STANDIN_FULL=N:M has its
 * memory full from allocation number N on, for M of them.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/look/kernel.h"

#define SUCCESS          0
#define INVALID_VALUE    1
#define OUT_OF_MEMORY    2
#define INVALID_CONTEXT  201
#define NO_BINARY        209
#define INVALID_HANDLE   400
#define NOT_READY        600
#define ILLEGAL_ADDRESS  700
#define LAUNCH_FAILED    719
#define CAPTURE_IMPLICIT 906

#define N_DEVICES    2
#define FIRST_STREAM 16

#define MAJOR 75
#define MAGIC "stand-in's code of " TC_KERNEL_NAME
#define PTX   "stand-in's text of " TC_KERNEL_NAME

#define EXPORT __attribute__((visibility("default")))

/* What does the same has one number. */
#define CALLS(X)                                                               \
    X(cuInit, "hipInit")                                                       \
    X(cuGetErrorName, "hipGetErrorName")                                       \
    X(cuDeviceGet, "hipGetDevice")                                             \
    X(cuDeviceGetAttribute, "")                                                \
    X(cuDevicePrimaryCtxRetain, "")                                            \
    X(cuCtxPushCurrent_v2, "hipSetDevice")                                     \
    X(cuCtxPopCurrent_v2, "")                                                  \
    X(cuThreadExchangeStreamCaptureMode, "hipThreadExchangeStreamCaptureMode") \
    X(cuStreamIsCapturing, "hipStreamIsCapturing")                             \
    X(cuModuleLoadData, "hipModuleLoadData")                                   \
    X(cuModuleGetFunction, "hipModuleGetFunction")                             \
    X(cuMemAlloc_v2, "hipMalloc")                                              \
    X(cuMemHostAlloc, "hipHostMalloc")                                         \
    X(cuMemHostGetDevicePointer_v2, "hipHostGetDevicePointer")                 \
    X(cuMemsetD8Async, "hipMemsetD8Async")                                     \
    X(cuLaunchKernel, "hipModuleLaunchKernel")                                 \
    X(cuMemcpyDtoHAsync_v2, "hipMemcpyDtoHAsync")                              \
    X(cuEventCreate, "hipEventCreateWithFlags")                                \
    X(cuEventRecord, "hipEventRecord")                                         \
    X(cuEventQuery, "hipEventQuery")                                           \
    X(cuEventSynchronize, "hipEventSynchronize")

enum call {
#define X(name, hip) OF_##name,
    CALLS(X)
#undef X
    N_CALLS
};

static const char *const names[][2] = {
#define X(name, hip) {#name, hip},
    CALLS(X)
#undef X
};

/* Something that is done in its turn. */
struct task {
    struct task *next;
    void *to;
    const void *from;
    size_t size;
    unsigned delay_us;
    struct event *event; /* passes behind it, or NULL */
};

struct event {
    atomic_uint n_open; /* tasks that it stands behind */
    int device;
};

EXPORT void *standin_copy(void *to, const void *from, size_t size, unsigned delay_us);
EXPORT void standin_wait(struct event *event);
EXPORT void standin_fail_at(unsigned n);
EXPORT void standin_delays(bool are_on);
EXPORT void standin_stall(void);
EXPORT void standin_hold(void);
EXPORT void standin_capture(void *stream, bool is_on);
EXPORT unsigned standin_early(void);
EXPORT unsigned standin_calls(const char *name);
EXPORT size_t standin_bytes(void);
EXPORT unsigned standin_tensors(void);
EXPORT size_t standin_answers(unsigned flag);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct task *first, **last = &first;
static atomic_uint n_calls[N_CALLS], n_early, fails_at[N_CALLS]; /* fails_at 0: none does */
static atomic_size_t n_bytes, n_answers[TC_KERNEL_BYTES + 1];    /* bytes, by flag */
static atomic_uint n_tensors;
static atomic_bool has_delays = true, is_held;
static void *_Atomic captured;
static atomic_bool is_capturing;
static _Thread_local int stack[8], n_stack; /* of devices whose contexts are a thread's */
static pthread_once_t started = PTHREAD_ONCE_INIT;

/* ---- what is done in its turn ---- */

static void do_all(void)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        struct task *task;

        while (!first || atomic_load(&is_held))
            pthread_cond_wait(&work, &lock);
        task = first;
        first = task->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        if (task->delay_us)
            usleep(task->delay_us);
        if (task->size)
            memcpy(task->to, task->from, task->size);
        pthread_mutex_lock(&lock);
        if (task->event)
            atomic_fetch_sub(&task->event->n_open, 1);
        free(task);
        pthread_cond_broadcast(&done);
    }
}

static void *run(void *unused)
{
    (void)unused;
    do_all();
    return NULL;
}

static bool is_called(int call, const char *name, size_t n)
{
    for (int i = 0; i < 2; i++)
        if (strlen(names[call][i]) == n && strncmp(names[call][i], name, n) == 0)
            return true;
    return false;
}

static void start(void)
{
    const char *fails = getenv("STANDIN_FAILS");
    const char *colon = fails ? strchr(fails, ':') : NULL;
    pthread_t thread;

    for (int i = 0; colon && i < N_CALLS; i++)
        if (is_called(i, fails, (size_t)(colon - fails)))
            atomic_store(&fails_at[i], (unsigned)strtoul(colon + 1, NULL, 10));
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        abort();
    pthread_detach(thread);
}

static void add(const struct task *task)
{
    struct task *copy = malloc(sizeof(*copy));

    pthread_once(&started, start);
    if (!copy)
        abort();
    *copy = *task;
    copy->next = NULL;
    if (copy->event)
        atomic_fetch_add(&copy->event->n_open, 1);
    pthread_mutex_lock(&lock);
    *last = copy;
    last = &copy->next;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&lock);
}

static unsigned some_delay(void)
{
    static const unsigned delays[] = {0, 0, 0, 100, 3000};
    static atomic_uint state = 12345;
    unsigned x = atomic_load(&state);

    x = x * 1664525u + 1013904223u;
    atomic_store(&state, x);
    return atomic_load(&has_delays) ? delays[(x >> 16) % (sizeof(delays) / sizeof(delays[0]))] : 0;
}

/* ---- for tests ---- */

/* Copy after so many microseconds; the event is the caller's, and stays for ever. */
EXPORT void *standin_copy(void *to, const void *from, size_t size, unsigned delay_us)
{
    struct event *event = calloc(1, sizeof(*event));

    if (!event)
        abort();
    add(&(struct task){.to = to, .from = from, .size = size, .delay_us = delay_us, .event = event});
    return event;
}

EXPORT void standin_wait(struct event *event)
{
    pthread_mutex_lock(&lock);
    atomic_store(&is_held, false);
    pthread_cond_signal(&work);
    while (atomic_load(&event->n_open))
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

/* From query number n on, the driver fails. */
EXPORT void standin_fail_at(unsigned n)
{
    atomic_store(&fails_at[OF_cuEventQuery], n);
}

EXPORT void standin_delays(bool are_on)
{
    atomic_store(&has_delays, are_on);
}

/* What is launched from now on never comes. */
EXPORT void standin_stall(void)
{
    add(&(struct task){.delay_us = 3600000000u});
}

/* Nothing more comes until somebody waits for an event. */
EXPORT void standin_hold(void)
{
    atomic_store(&is_held, true);
}

/* From now on this stream is being captured, or is not. */
EXPORT void standin_capture(void *stream, bool is_on)
{
    atomic_store(&captured, stream);
    atomic_store(&is_capturing, is_on);
}

/* Queries that came before the event had passed. */
EXPORT unsigned standin_early(void)
{
    return atomic_load(&n_early);
}

EXPORT unsigned standin_calls(const char *name)
{
    for (int i = 0; i < N_CALLS; i++)
        if (is_called(i, name, strlen(name)))
            return atomic_load(&n_calls[i]);
    return 0;
}

/* That copies have brought to the host. */
EXPORT size_t standin_bytes(void)
{
    return atomic_load(&n_bytes);
}

/* Rows of the tables of all launches. */
EXPORT unsigned standin_tensors(void)
{
    return atomic_load(&n_tensors);
}

/* Bytes of the answers to one of kernel.h's questions. */
EXPORT size_t standin_answers(unsigned flag)
{
    return flag <= TC_KERNEL_BYTES ? atomic_load(&n_answers[flag]) : 0;
}

/* ---- the driver ---- */

/* Count the call: does it fail? */
static int called(enum call call)
{
    const unsigned n = atomic_fetch_add(&n_calls[call], 1) + 1;
    unsigned fails;

    pthread_once(&started, start);
    fails = atomic_load(&fails_at[call]);
    return fails && n >= fails ? call == OF_cuEventQuery ? ILLEGAL_ADDRESS : LAUNCH_FAILED
                               : SUCCESS;
}

/* On which a thread works, -1: on none. */
static int current(void)
{
    return n_stack ? stack[n_stack - 1] : -1;
}

/* The same of a call that needs a context. */
static int called_inside(enum call call)
{
    const int failed = called(call);

    return failed ? failed : current() >= 0 ? SUCCESS : INVALID_CONTEXT;
}

/* And of one that puts something on a stream. */
static int called_on(enum call call, void *stream)
{
    const int failed = called_inside(call);

    if (!failed && stream && (uintptr_t)stream != (uintptr_t)(FIRST_STREAM + current()))
        return INVALID_HANDLE;
    if (!failed && atomic_load(&is_capturing) && atomic_load(&captured) == stream)
        return CAPTURE_IMPLICIT;
    return failed;
}

#ifndef DRIVER
#    define DRIVER EXPORT int
#endif

DRIVER cuInit(unsigned flags);
DRIVER cuInit(unsigned flags)
{
    (void)flags;
    return called(OF_cuInit);
}

DRIVER cuGetErrorName(int error, const char **name);
DRIVER cuGetErrorName(int error, const char **name)
{
    *name = error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_OF_THE_STANDIN";
    return called(OF_cuGetErrorName);
}

DRIVER cuDeviceGet(int *device, int ordinal);
DRIVER cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal + 100;
    return ordinal < 0 || ordinal >= N_DEVICES ? INVALID_VALUE : called(OF_cuDeviceGet);
}

DRIVER cuDeviceGetAttribute(int *value, int attribute, int device);
DRIVER cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == MAJOR ? 9 : 0;
    return device < 100 ? INVALID_VALUE : called(OF_cuDeviceGetAttribute);
}

static char contexts[N_DEVICES];

DRIVER cuDevicePrimaryCtxRetain(void **context, int device);
DRIVER cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &contexts[device - 100];
    return called(OF_cuDevicePrimaryCtxRetain);
}

DRIVER cuCtxPushCurrent_v2(void *context);
DRIVER cuCtxPushCurrent_v2(void *context)
{
    const int failed = called(OF_cuCtxPushCurrent_v2);

    if (failed || !context || n_stack == sizeof(stack) / sizeof(stack[0]))
        return failed ? failed : INVALID_CONTEXT;
    stack[n_stack++] = (int)((char *)context - contexts);
    return SUCCESS;
}

DRIVER cuCtxPopCurrent_v2(void **context);
DRIVER cuCtxPopCurrent_v2(void **context)
{
    const int failed = called_inside(OF_cuCtxPopCurrent_v2);

    *context = NULL;
    if (n_stack)
        n_stack--;
    return failed;
}

DRIVER cuThreadExchangeStreamCaptureMode(int *mode);
DRIVER cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int current;
    const int old = current;

    current = *mode;
    *mode = old;
    return called(OF_cuThreadExchangeStreamCaptureMode);
}

DRIVER cuStreamIsCapturing(void *stream, int *status);
DRIVER cuStreamIsCapturing(void *stream, int *status)
{
    *status = atomic_load(&is_capturing) && atomic_load(&captured) == stream;
    return called_inside(OF_cuStreamIsCapturing);
}

DRIVER cuModuleLoadData(void **module, const void *image);
DRIVER cuModuleLoadData(void **module, const void *image)
{
    static char modules[N_DEVICES];

    *module = current() < 0 ? NULL : &modules[current()];
    if (strcmp(image, PTX) != 0 && (strcmp(image, MAGIC) != 0 || getenv("STANDIN_PTX")))
        return NO_BINARY;
    return called_inside(OF_cuModuleLoadData);
}

static char functions[N_DEVICES];

DRIVER cuModuleGetFunction(void **function, void *module, const char *name);
DRIVER cuModuleGetFunction(void **function, void *module, const char *name)
{
    *function = current() < 0 ? NULL : &functions[current()];
    return !module || strcmp(name, TC_KERNEL_NAME) != 0 ? INVALID_VALUE
                                                        : called_inside(OF_cuModuleGetFunction);
}

static void *garbage(size_t size)
{
    void *memory = malloc(size);

    if (!memory)
        abort();
    return memset(memory, 0xaa, size);
}

DRIVER cuMemAlloc_v2(uint64_t *address, size_t size);
/* Before the allocation is counted. */
static bool is_full(void)
{
    const char *full = getenv("STANDIN_FULL"), *colon = full ? strchr(full, ':') : NULL;
    const unsigned n = atomic_load(&n_calls[OF_cuMemAlloc_v2]) + 1;
    const unsigned from = colon ? (unsigned)strtoul(full, NULL, 10) : 0;

    return colon && n >= from && n < from + (unsigned)strtoul(colon + 1, NULL, 10);
}

DRIVER cuMemAlloc_v2(uint64_t *address, size_t size)
{
    const int denied = is_full() ? OUT_OF_MEMORY : SUCCESS;
    const int called = called_inside(OF_cuMemAlloc_v2), failed = called ? called : denied;

    *address = failed ? 0 : (uint64_t)(uintptr_t)garbage(size);
    return failed;
}

DRIVER cuMemHostAlloc(void **address, size_t size, unsigned flags);
DRIVER cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    const int failed = called_inside(OF_cuMemHostAlloc);

    (void)flags;
    *address = failed ? NULL : garbage(size);
    return failed;
}

DRIVER cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags);
DRIVER cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags)
{
    (void)flags;
    *address = (uint64_t)(uintptr_t)host;
    return called_inside(OF_cuMemHostGetDevicePointer_v2);
}

DRIVER cuMemsetD8Async(uint64_t address, unsigned char value, size_t n, void *stream);
DRIVER cuMemsetD8Async(uint64_t address, unsigned char value, size_t n, void *stream)
{
    const int failed = called_on(OF_cuMemsetD8Async, stream);

    if (!failed)
        memset((void *)(uintptr_t)address, value, n);
    return failed;
}

struct launch {
    uint64_t items, tiles, answers;
    unsigned n_blocks, first;
};

static void *run_blocks(void *argument)
{
    const struct launch *l = argument;

    for (unsigned block = l->first; block < l->n_blocks; block += 2)
        tc_kernel_block((const void *)(uintptr_t)l->items, (const void *)(uintptr_t)l->tiles,
                        (void *)(uintptr_t)l->answers, block);
    return NULL;
}

static void count_answers(const struct launch *l)
{
    const struct tc_kernel_item *items = (const void *)(uintptr_t)l->items;
    const struct tc_kernel_tile *tiles = (const void *)(uintptr_t)l->tiles;

    for (unsigned block = 0; block < l->n_blocks; block++) {
        const struct tc_kernel_item *item = &items[tiles[block].item];

        if (tiles[block].number)
            continue;
        atomic_fetch_add(&n_tensors, 1);
        for (unsigned flag = 1; flag <= TC_KERNEL_BYTES; flag *= 2)
            if (item->what & flag)
                atomic_fetch_add(&n_answers[flag], 8 * tc_kernel_words(item, flag));
    }
}

/* Every second block on a thread of its own. */
static void run_kernel(const struct launch *launch)
{
    struct launch other = *launch;
    pthread_t thread;

    other.first = 1;
    if (launch->n_blocks > 1 && pthread_create(&thread, NULL, run_blocks, &other) != 0)
        abort();
    run_blocks((void *)launch);
    if (launch->n_blocks > 1)
        pthread_join(thread, NULL);
}

DRIVER cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                      unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                      void **parameters, void **extra);
DRIVER cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                      unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                      void **parameters, void **extra)
{
    const int failed = called_on(OF_cuLaunchKernel, stream);
    struct launch launch = {.n_blocks = x};

    if (failed)
        return failed;
    if (function != &functions[current()] || !x || y != 1 || z != 1 ||
        threads_x != TC_KERNEL_THREADS || threads_y != 1 || threads_z != 1 || shared || extra)
        return INVALID_VALUE;
    if (getenv("STANDIN_BLOCKS"))
        usleep((unsigned)strtoul(getenv("STANDIN_BLOCKS"), NULL, 10));
    memcpy(&launch.items, parameters[0], sizeof(launch.items));
    memcpy(&launch.tiles, parameters[1], sizeof(launch.tiles));
    memcpy(&launch.answers, parameters[2], sizeof(launch.answers));
    run_kernel(&launch);
    count_answers(&launch);
    return SUCCESS;
}

DRIVER cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream);
DRIVER cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    const int failed = called_on(OF_cuMemcpyDtoHAsync_v2, stream);

    if (failed)
        return failed;
    memset(to, 0xaa, size); /* whoever reads it too early, learns so */
    atomic_fetch_add(&n_bytes, size);
    add(&(struct task){
        .to = to, .from = (const void *)(uintptr_t)from, .size = size, .delay_us = some_delay()});
    return SUCCESS;
}

DRIVER cuEventCreate(struct event **event, unsigned flags);
DRIVER cuEventCreate(struct event **event, unsigned flags)
{
    const int failed = called_inside(OF_cuEventCreate);

    (void)flags;
    *event = failed ? NULL : calloc(1, sizeof(**event));
    if (*event)
        (*event)->device = current();
    return failed;
}

DRIVER cuEventRecord(struct event *event, void *stream);
DRIVER cuEventRecord(struct event *event, void *stream)
{
    const int failed = called_on(OF_cuEventRecord, stream);

    if (!failed && event->device != current())
        return INVALID_HANDLE;
    if (!failed)
        add(&(struct task){.event = event});
    return failed;
}

DRIVER cuEventQuery(struct event *event);
DRIVER cuEventQuery(struct event *event)
{
    const int failed = called(OF_cuEventQuery);

    if (failed)
        return failed;
    if (!event)
        return INVALID_HANDLE;
    if (atomic_load(&event->n_open) == 0)
        return SUCCESS;
    atomic_fetch_add(&n_early, 1);
    return NOT_READY;
}

DRIVER cuEventSynchronize(struct event *event);
DRIVER cuEventSynchronize(struct event *event)
{
    const int failed = called_inside(OF_cuEventSynchronize);

    if (!failed)
        standin_wait(event);
    return failed;
}
