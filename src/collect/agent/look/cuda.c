/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.c - the state of each device, and its jobs
 *
 * A device is unknown, getting ready, ready or off; while one thread prepares it the others ask
 * torch's operators. It goes off for good when the driver fails, but not when a graph was being
 * captured. Idle jobs are a list, of which the first that has room is used again. When memory is
 * full only each 64th job tries again. The memory of a job that may still be written to is never
 * freed.
 */
#include "collect/agent/look/cuda.h"

#include <limits.h>
#include <time.h>

#include "collect/agent/look/compiler.h"
#include "collect/agent/look/kernel.h"

/* Of memory and events, in both vendors' interfaces. */
#define HOST_PORTABLE 0x1u
#define HOST_MAPPED   0x2u
#define HOST_COHERENT 0x40000000u /* of HIP: the environment can make it another kind */
#define EVENT_BLOCKS  0x1u        /* a thread that waits for it sleeps */
#define EVENT_UNTIMED 0x2u
#define MIN_JOB       ((size_t)4096)
#define TRY_AGAIN     64     /* of so many jobs that need new memory, after it was full */
#define PATIENCE      100000 /* pauses of 100 us */

enum device_state {
    UNKNOWN,
    GETTING_READY, /* by a thread that has let go of the interpreter's lock */
    READY,
    OFF,
};

static struct {
    enum device_state state;
    void *kernel;
    struct tc_cuda_job *idle;
    unsigned n_denied; /* jobs since its memory was full; 0: it is not */
} devices[TC_CUDA_MAX_DEVICES];

/* ---- the kernel ---- */

static bool load_kernel(int device, const char *code)
{
    struct tc_entry entry;
    void *module;
    bool is_loaded;

    if (!code || !tc_driver_enter(device, &entry))
        return false;
    is_loaded = tc_driver_ok(tc_driver.load(&module, code), TC_CALL_load) &&
                tc_driver_ok(tc_driver.function(&devices[device].kernel, module, TC_KERNEL_NAME),
                             TC_CALL_function);
    tc_driver_leave(&entry);
    return is_loaded;
}

static bool load_and_free(int device, char *code)
{
    const bool is_loaded = load_kernel(device, code);

    tc_free(code);
    return is_loaded;
}

/* What failed first is told. */
static bool compile_and_load(int device, const struct tc_target *target)
{
    struct tc_failure first;

    if (load_and_free(device, tc_compile_kernel(target)))
        return true;
    first = tc_driver_failure();
    if ((first.call == TC_CALL_compile || first.call == TC_CALL_load) &&
        load_and_free(device, tc_compile_portable(target)))
        return true;
    tc_driver_ok(first.code, first.call);
    return false;
}

static bool prepare(int device)
{
    struct tc_target target;
    bool is_ready;

    if (!tc_driver_find(false) || !tc_compiler_find() || !tc_driver_open(device) ||
        !tc_target_find(device, &target))
        return false;
    Py_BEGIN_ALLOW_THREADS;
    is_ready = compile_and_load(device, &target);
    Py_END_ALLOW_THREADS;
    return is_ready;
}

static void switch_off(int device)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (devices[device].state == OFF)
        return;
    devices[device].state = OFF;
    tc_strbuf_addf(&text, "cuda:%d is asked by operators of torch: ", device);
    tc_failure_describe(tc_driver_failure(), &text);
    tc_agent_note("no-kernel", text.text, 0);
    tc_strbuf_release(&text);
}

bool tc_cuda_has_kernel(int device)
{
    if (device < 0 || device >= TC_CUDA_MAX_DEVICES)
        return false;
    if (devices[device].state == UNKNOWN) {
        devices[device].state = GETTING_READY;
        if (prepare(device))
            devices[device].state = READY;
        else if (tc_driver_is_captured(tc_driver_failure().code))
            devices[device].state = UNKNOWN; /* asked again when the graph is done */
        else
            switch_off(device);
    }
    return devices[device].state == READY;
}

/* ---- jobs ---- */

static size_t room_for(size_t size)
{
    size_t room = MIN_JOB;

    while (room < size)
        room *= 2;
    return room;
}

/* Some of these wait until the device has done what it has. */
static bool allocate(struct tc_cuda_job *job, size_t host_size, size_t device_size)
{
    const unsigned flags = HOST_PORTABLE | HOST_MAPPED | (tc_driver_is_hip() ? HOST_COHERENT : 0);
    void *host = NULL;

    job->host_size = room_for(host_size);
    job->device_size = room_for(device_size);
    if (!tc_driver_ok(tc_driver.allocate(&job->answers, job->device_size), TC_CALL_allocate) ||
        !tc_driver_ok(tc_driver.allocate_host(&host, job->host_size, flags),
                      TC_CALL_allocate_host) ||
        !tc_driver_ok(tc_driver.address_of(&job->device_host, host, 0), TC_CALL_address_of) ||
        !tc_driver_ok(tc_driver.event(&job->event, EVENT_BLOCKS | EVENT_UNTIMED), TC_CALL_event))
        return false;
    job->host = host;
    return true;
}

/* torch may have taken all memory of the device, and give some of it back later. Until then
 * operators are asked, which have torch make room. */
static bool is_denied(int device)
{
    return devices[device].n_denied && devices[device].n_denied++ % TRY_AGAIN;
}

static void deny(int device, struct tc_failure failure)
{
    if (!tc_driver_is_full(failure)) {
        switch_off(device);
        return;
    }
    if (!devices[device].n_denied)
        tc_agent_note("no-memory", "an accelerator has no memory for answers: torch is asked", 0);
    devices[device].n_denied = 1;
}

static bool allocate_there(struct tc_cuda_job *job, size_t host_size, size_t device_size)
{
    struct tc_entry entry;
    bool is_allocated = false;

    Py_BEGIN_ALLOW_THREADS;
    if (tc_driver_enter(job->device, &entry)) {
        is_allocated = allocate(job, host_size, device_size);
        tc_driver_leave(&entry);
    }
    Py_END_ALLOW_THREADS;
    return is_allocated;
}

static struct tc_cuda_job *new_job(int device, size_t host_size, size_t device_size,
                                   bool *is_captured)
{
    struct tc_cuda_job *job;
    struct tc_failure failure;

    if (is_denied(device))
        return NULL;
    job = tc_calloc(1, sizeof(*job));
    job->device = device;
    if (allocate_there(job, host_size, device_size)) {
        devices[device].n_denied = 0;
        return job;
    }
    tc_free(job); /* what it has of the device is not worth another call that may fail */
    failure = tc_driver_failure();
    *is_captured = tc_driver_is_captured(failure.code);
    if (!*is_captured)
        deny(device, failure);
    return NULL;
}

static bool has_room(struct tc_cuda_job *job, size_t answer_size, size_t table_size)
{
    if (job->host_size < answer_size + table_size || job->device_size < answer_size)
        return false;
    if (job->is_busy)
        job->is_busy = tc_cuda_ask(job) <= 0;
    return !job->is_busy;
}

struct tc_cuda_job *tc_cuda_take(int device, size_t answer_size, size_t table_size,
                                 bool *is_captured)
{
    struct tc_cuda_job *job, **from = &devices[device].idle;

    *is_captured = false;
    while (*from && !has_room(*from, answer_size, table_size))
        from = &(*from)->next;
    job = *from;
    if (job)
        *from = job->next;
    else
        job = new_job(device, answer_size + table_size, answer_size, is_captured);
    if (job)
        job->answer_size = answer_size;
    return job;
}

static bool start(const struct tc_cuda_job *job, void *stream, void **parameters, size_t n_tiles,
                  bool clear)
{
    return (!clear || tc_driver_ok(tc_driver.clear(job->answers, 0, job->answer_size, stream),
                                   TC_CALL_clear)) &&
           tc_driver_ok(tc_driver.launch(devices[job->device].kernel, (unsigned)n_tiles, 1, 1,
                                         TC_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL),
                        TC_CALL_launch) &&
           tc_driver_ok(tc_driver.copy(job->host, job->answers, job->answer_size, stream),
                        TC_CALL_copy) &&
           tc_driver_ok(tc_driver.record(job->event, stream), TC_CALL_record);
}

/* Of the stream for all threads that nobody captures, the driver says so by an error while another
 * stream is captured. */
static bool is_captured_by(void *stream, bool *is_captured)
{
    int status = 0, code = tc_driver_said(tc_driver.is_capturing(stream, &status));

    *is_captured = tc_driver_is_captured(code) || status != 0;
    return *is_captured || tc_driver_ok(code, TC_CALL_is_capturing);
}

bool tc_cuda_start(struct tc_cuda_job *job, uint64_t stream, size_t items, size_t tiles,
                   size_t n_tiles, bool clear, bool *is_captured)
{
    uint64_t table[] = {job->device_host + items, job->device_host + tiles, job->answers};
    void *parameters[] = {&table[0], &table[1], &table[2]};
    void *on = (void *)(uintptr_t)stream;
    struct tc_entry entry;
    bool is_started = false;

    *is_captured = false;
    Py_BEGIN_ALLOW_THREADS; /* a launch waits where a thousand others do, as torch's own */
    if (tc_driver_enter(job->device, &entry)) {
        is_started = is_captured_by(on, is_captured) &&
                     (*is_captured || start(job, on, parameters, n_tiles, clear));
        tc_driver_leave(&entry);
    }
    Py_END_ALLOW_THREADS;
    if (*is_captured) {
        tc_cuda_give_back(job, true);
        return true;
    }
    if (!is_started) {
        switch_off(job->device);
        tc_free(job); /* its memory is left alone: the device may still write to it */
    }
    return is_started;
}

void tc_cuda_give_back(struct tc_cuda_job *job, bool is_done)
{
    job->is_busy = !is_done;
    job->next = devices[job->device].idle;
    devices[job->device].idle = job;
}

void tc_cuda_abandon(void)
{
    for (int i = 0; i < TC_CUDA_MAX_DEVICES; i++) {
        struct tc_cuda_job *next;

        for (struct tc_cuda_job *job = devices[i].idle; job; job = next) {
            next = job->next;
            tc_free(job);
        }
        devices[i].idle = NULL;
        if (devices[i].state == READY)
            devices[i].state = OFF;
    }
}

/* ---- events ---- */

int tc_cuda_ask(const struct tc_cuda_job *job)
{
    struct tc_entry entry;
    int said;

    if (!tc_driver_enter(job->device, &entry))
        return -1;
    said = tc_driver_ask(job->event);
    tc_driver_leave(&entry);
    return said;
}

/* For a driver that cannot wait, or must not while this thread captures a graph. */
static bool wait_by_asking(const struct tc_cuda_job *job, int patience)
{
    const struct timespec pause = {0, 100000};
    int said = 0;

    for (int i = 0; i < patience && (said = tc_driver_ask(job->event)) == 0; i++)
        nanosleep(&pause, NULL);
    return said > 0;
}

bool tc_cuda_wait(const struct tc_cuda_job *job)
{
    struct tc_entry entry;
    bool has_come = false;
    int said = -1;

    Py_BEGIN_ALLOW_THREADS;
    if (tc_driver_enter(job->device, &entry)) {
        said = tc_driver_said(tc_driver.wait(job->event));
        tc_driver_leave(&entry);
    }
    has_come = said == 0 || wait_by_asking(job, tc_driver_is_captured(said) ? PATIENCE : INT_MAX);
    Py_END_ALLOW_THREADS;
    return has_come;
}

void tc_cuda_distrust(const struct tc_cuda_job *job)
{
    struct tc_entry entry;

    if (tc_driver_enter(job->device, &entry)) { /* else that is what failed */
        tc_driver_ok(tc_driver.query(job->event), TC_CALL_query);
        tc_driver_leave(&entry);
    }
    switch_off(job->device);
}

int tc_cuda_ask_event(void *event)
{
    return tc_driver_ask(event);
}

bool tc_cuda_is_loaded(void)
{
    return tc_driver_find(true);
}
