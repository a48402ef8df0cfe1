/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/agent/look/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/agent/embedded.h"
#include "collect/agent/look/kernel.h"

#define DRIVER "libcuda.so.1"

/* Numbers of the driver's interface. */
#define NO_MEMORY        2
#define NOT_READY        600
#define CAPTURE_IMPLICIT 906
#define MAJOR            75 /* of the version of machine code, an attribute of a device */
#define MINOR            76
#define HOST_PORTABLE    0x1u
#define HOST_MAPPED      0x2u
#define EVENT_UNTIMED    0x2u
#define CAPTURE_RELAXED  2 /* what the thread does is no part of any capture */
#define MIN_JOB          ((size_t)4096)
#define TRY_AGAIN        64 /* of so many jobs that need new memory, after it was full */

/* Handles are pointers, addresses of the device numbers. */
static struct {
    int (*init)(unsigned flags);
    int (*error_name)(int error, const char **name);
    int (*device)(int *device, int ordinal);
    int (*attribute)(int *value, int attribute, int device);
    int (*retain)(void **context, int device);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*exchange_capture_mode)(int *mode);
    int (*is_capturing)(void *stream, int *status);
    int (*load)(void **module, const void *image);
    int (*function)(void **function, void *module, const char *name);
    int (*allocate)(uint64_t *address, size_t size);
    int (*allocate_host)(void **address, size_t size, unsigned flags);
    int (*address_of)(uint64_t *address, void *host, unsigned flags);
    int (*clear)(uint64_t address, unsigned char value, size_t n, void *stream);
    int (*launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                  unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                  void **parameters, void **extra);
    int (*copy)(void *to, uint64_t from, size_t size, void *stream);
    int (*event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*query)(void *event);
    int (*wait)(void *event);
} cu;

static struct {
    int (*create)(void **program, const char *source, const char *name, int n_headers,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int n_options, const char *const *options);
    int (*size)(void *program, size_t *size);
    int (*code)(void *program, char *code);
    int (*destroy)(void **program);
} nvrtc;

static const struct {
    const char *name;
    void *to; /* a pointer to a function */
} of_driver[] =
    {
        {"cuInit",                            &cu.init                 },
        {"cuGetErrorName",                    &cu.error_name           },
        {"cuDeviceGet",                       &cu.device               },
        {"cuDeviceGetAttribute",              &cu.attribute            },
        {"cuDevicePrimaryCtxRetain",          &cu.retain               },
        {"cuCtxPushCurrent_v2",               &cu.push                 },
        {"cuCtxPopCurrent_v2",                &cu.pop                  },
        {"cuThreadExchangeStreamCaptureMode", &cu.exchange_capture_mode},
        {"cuStreamIsCapturing",               &cu.is_capturing         },
        {"cuModuleLoadData",                  &cu.load                 },
        {"cuModuleGetFunction",               &cu.function             },
        {"cuMemAlloc_v2",                     &cu.allocate             },
        {"cuMemHostAlloc",                    &cu.allocate_host        },
        {"cuMemHostGetDevicePointer_v2",      &cu.address_of           },
        {"cuMemsetD8Async",                   &cu.clear                },
        {"cuLaunchKernel",                    &cu.launch               },
        {"cuMemcpyDtoHAsync_v2",              &cu.copy                 },
        {"cuEventCreate",                     &cu.event                },
        {"cuEventRecord",                     &cu.record               },
        {"cuEventQuery",                      &cu.query                },
        {"cuEventSynchronize",                &cu.wait                 },
},
  of_nvrtc[] = {
      {"nvrtcCreateProgram", &nvrtc.create},   {"nvrtcCompileProgram", &nvrtc.compile},
      {"nvrtcGetCUBINSize", &nvrtc.size},      {"nvrtcGetCUBIN", &nvrtc.code},
      {"nvrtcDestroyProgram", &nvrtc.destroy},
};

enum state {
    UNKNOWN,
    GETTING_READY, /* by a thread that has let go of the interpreter's lock */
    READY,
    OFF,
};

static struct {
    enum state state;
    void *context, *kernel;
    struct tc_cuda_job *idle;
    unsigned n_denied; /* jobs since its memory was full; 0: it is not */
} devices[TC_CUDA_MAX_DEVICES];

/* What failed last, of the thread's calls: some are made without the interpreter's lock. */
static __thread struct {
    const char *call;
    int code;
} failure;

static bool ok(int code, const char *call)
{
    if (code) {
        failure.call = call;
        failure.code = code;
    }
    return !code;
}

/* ---- libraries ---- */

static bool find_driver(int flags)
{
    void *library = cu.wait ? NULL : dlopen(DRIVER, RTLD_NOW | flags);

    for (size_t i = 0; library && i < sizeof(of_driver) / sizeof(of_driver[0]); i++)
        *(void **)of_driver[i].to = dlsym(library, of_driver[i].name);
    return cu.query && cu.exchange_capture_mode;
}

static bool has_all_of_driver(void)
{
    for (size_t i = 0; i < sizeof(of_driver) / sizeof(of_driver[0]); i++)
        if (!*(void **)of_driver[i].to)
            return ok(-1, of_driver[i].name);
    return true;
}

static bool take_nvrtc(const char *path)
{
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;

    for (size_t i = 0; library && i < sizeof(of_nvrtc) / sizeof(of_nvrtc[0]); i++)
        if (!(*(void **)of_nvrtc[i].to = dlsym(library, of_nvrtc[i].name)))
            library = NULL;
    return library;
}

/* The policy knows where Python's packages have it. */
static bool find_nvrtc(void)
{
    PyObject *paths;
    bool found = nvrtc.destroy;

    if (found)
        return true;
    paths = tc_policy_call("nvrtc_paths", NULL);
    for (Py_ssize_t i = 0; !found && paths && i < PyList_GET_SIZE(paths); i++)
        found = take_nvrtc(PyUnicode_AsUTF8(PyList_GET_ITEM(paths, i)));
    Py_XDECREF(paths);
    PyErr_Clear();
    return found || ok(-1, "libnvrtc");
}

/* ---- the kernel ---- */

/* Machine code, or NULL; the caller's. */
static char *code_of(void *program)
{
    size_t size = 0;
    char *code;

    if (!ok(nvrtc.size(program, &size), "nvrtcGetCUBINSize") || !size)
        return NULL;
    code = tc_malloc(size);
    if (ok(nvrtc.code(program, code), "nvrtcGetCUBIN"))
        return code;
    tc_free(code);
    return NULL;
}

static char *compile(int major, int minor)
{
    struct tc_strbuf source = TC_STRBUF_INIT;
    char option[48], *code = NULL;
    const char *options[] = {option};
    void *program = NULL;

    snprintf(option, sizeof(option), "--gpu-architecture=sm_%d%d", major, minor);
    for (size_t i = 0; tc_kernel_source[i]; i++)
        tc_strbuf_adds(&source, tc_kernel_source[i]);
    if (ok(nvrtc.create(&program, source.text, "kernel.c", 0, NULL, NULL), "nvrtcCreateProgram") &&
        ok(nvrtc.compile(program, 1, options), "nvrtcCompileProgram"))
        code = code_of(program);
    if (program)
        nvrtc.destroy(&program);
    tc_strbuf_release(&source);
    return code;
}

/* Work in the device's context, whatever the thread's own is, and outside of all captures. */
static bool enter(int device, int *mode)
{
    *mode = CAPTURE_RELAXED;
    cu.exchange_capture_mode(mode);
    if (ok(cu.push(devices[device].context), "cuCtxPushCurrent"))
        return true;
    cu.exchange_capture_mode(mode);
    return false;
}

static void leave(int *mode)
{
    void *context;

    cu.pop(&context);
    cu.exchange_capture_mode(mode);
}

static bool load(int device, const char *code)
{
    void *module;
    int mode;
    bool is_loaded;

    if (!code || !enter(device, &mode))
        return false;
    is_loaded =
        ok(cu.load(&module, code), "cuModuleLoadData") &&
        ok(cu.function(&devices[device].kernel, module, TC_KERNEL_NAME), "cuModuleGetFunction");
    leave(&mode);
    return is_loaded;
}

/* Takes a second or two. */
static bool compile_and_load(int device)
{
    int handle, major, minor;
    char *code;
    bool is_loaded;

    if (!ok(cu.init(0), "cuInit") || !ok(cu.device(&handle, device), "cuDeviceGet") ||
        !ok(cu.attribute(&major, MAJOR, handle), "cuDeviceGetAttribute") ||
        !ok(cu.attribute(&minor, MINOR, handle), "cuDeviceGetAttribute") ||
        !ok(cu.retain(&devices[device].context, handle), "cuDevicePrimaryCtxRetain"))
        return false;
    code = compile(major, minor);
    is_loaded = load(device, code);
    tc_free(code);
    return is_loaded;
}

static bool prepare(int device)
{
    bool is_ready;

    if (!find_driver(0) && !ok(-1, DRIVER))
        return false;
    if (!has_all_of_driver() || !find_nvrtc())
        return false;
    Py_BEGIN_ALLOW_THREADS;
    is_ready = compile_and_load(device);
    Py_END_ALLOW_THREADS;
    return is_ready;
}

static void switch_off(int device)
{
    const char *name = NULL;
    struct tc_strbuf text = TC_STRBUF_INIT;

    if (devices[device].state == OFF)
        return;
    devices[device].state = OFF;
    if (failure.code > 0 && strncmp(failure.call, "cu", 2) == 0 && cu.error_name)
        cu.error_name(failure.code, &name);
    tc_strbuf_addf(&text, "cuda:%d is asked by operators of torch: %s", device, failure.call);
    if (name)
        tc_strbuf_addf(&text, " said %s", name);
    else if (failure.code > 0)
        tc_strbuf_addf(&text, " said %d", failure.code);
    else
        tc_strbuf_adds(&text, " was not found");
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
    void *host = NULL;

    job->host_size = room_for(host_size);
    job->device_size = room_for(device_size);
    if (!ok(cu.allocate(&job->answers, job->device_size), "cuMemAlloc") ||
        !ok(cu.allocate_host(&host, job->host_size, HOST_PORTABLE | HOST_MAPPED),
            "cuMemHostAlloc") ||
        !ok(cu.address_of(&job->device_host, host, 0), "cuMemHostGetDevicePointer") ||
        !ok(cu.event(&job->event, EVENT_UNTIMED), "cuEventCreate"))
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

static void deny(int device)
{
    if (failure.code != NO_MEMORY || strcmp(failure.call, "cuMemAlloc") != 0) {
        switch_off(device);
        return;
    }
    if (!devices[device].n_denied)
        tc_agent_note("no-memory", "an accelerator has no memory for answers: torch is asked", 0);
    devices[device].n_denied = 1;
}

static bool allocate_there(struct tc_cuda_job *job, size_t host_size, size_t device_size)
{
    int mode;
    bool is_allocated = false;

    Py_BEGIN_ALLOW_THREADS;
    if (enter(job->device, &mode)) {
        is_allocated = allocate(job, host_size, device_size);
        leave(&mode);
    }
    Py_END_ALLOW_THREADS;
    return is_allocated;
}

static struct tc_cuda_job *new_job(int device, size_t host_size, size_t device_size)
{
    struct tc_cuda_job *job;

    if (is_denied(device))
        return NULL;
    job = tc_calloc(1, sizeof(*job));
    job->device = device;
    if (allocate_there(job, host_size, device_size)) {
        devices[device].n_denied = 0;
        return job;
    }
    tc_free(job); /* what it has of the device is not worth another call that may fail */
    deny(device);
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

struct tc_cuda_job *tc_cuda_take(int device, size_t answer_size, size_t table_size)
{
    struct tc_cuda_job *job, **from = &devices[device].idle;

    while (*from && !has_room(*from, answer_size, table_size))
        from = &(*from)->next;
    job = *from;
    if (job)
        *from = job->next;
    else
        job = new_job(device, answer_size + table_size, answer_size);
    if (job)
        job->answer_size = answer_size;
    return job;
}

static bool start(const struct tc_cuda_job *job, void *stream, void **parameters, size_t n_tiles,
                  bool clear)
{
    return (!clear || ok(cu.clear(job->answers, 0, job->answer_size, stream), "cuMemsetD8Async")) &&
           ok(cu.launch(devices[job->device].kernel, (unsigned)n_tiles, 1, 1, TC_KERNEL_THREADS, 1,
                        1, 0, stream, parameters, NULL),
              "cuLaunchKernel") &&
           ok(cu.copy(job->host, job->answers, job->answer_size, stream), "cuMemcpyDtoHAsync") &&
           ok(cu.record(job->event, stream), "cuEventRecord");
}

static bool is_captured_by(void *stream, bool *is_captured)
{
    int status = 0, code = cu.is_capturing(stream, &status);

    *is_captured = code == CAPTURE_IMPLICIT || status != 0;
    return *is_captured || ok(code, "cuStreamIsCapturing");
}

bool tc_cuda_start(struct tc_cuda_job *job, uint64_t stream, size_t items, size_t tiles,
                   size_t n_tiles, bool clear, bool *is_captured)
{
    uint64_t table[] = {job->device_host + items, job->device_host + tiles, job->answers};
    void *parameters[] = {&table[0], &table[1], &table[2]};
    void *on = (void *)(uintptr_t)stream;
    bool is_started = false;
    int mode;

    *is_captured = false;
    Py_BEGIN_ALLOW_THREADS; /* a launch waits where a thousand others do, as torch's own */
    if (enter(job->device, &mode)) {
        is_started = is_captured_by(on, is_captured) &&
                     (*is_captured || start(job, on, parameters, n_tiles, clear));
        leave(&mode);
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

static int answer_of(int said)
{
    return said == 0 ? 1 : said == NOT_READY ? 0 : -1;
}

int tc_cuda_ask(const struct tc_cuda_job *job)
{
    void *context;
    int mode = CAPTURE_RELAXED, said;

    cu.exchange_capture_mode(&mode);
    if (cu.push(devices[job->device].context) != 0) {
        cu.exchange_capture_mode(&mode);
        return -1;
    }
    said = cu.query(job->event);
    cu.pop(&context);
    cu.exchange_capture_mode(&mode);
    return answer_of(said);
}

/* For a driver that cannot wait. */
static bool wait_by_asking(const struct tc_cuda_job *job)
{
    const struct timespec pause = {0, 100000};
    int said;

    while ((said = answer_of(cu.query(job->event))) == 0)
        nanosleep(&pause, NULL);
    return said > 0;
}

bool tc_cuda_wait(const struct tc_cuda_job *job)
{
    bool has_come = false;
    int mode, said = -1;

    Py_BEGIN_ALLOW_THREADS;
    mode = CAPTURE_RELAXED;
    cu.exchange_capture_mode(&mode);
    if (cu.push(devices[job->device].context) == 0) {
        said = cu.wait(job->event);
        leave(&mode);
    } else {
        cu.exchange_capture_mode(&mode);
    }
    has_come = said == 0 || wait_by_asking(job);
    Py_END_ALLOW_THREADS;
    return has_come;
}

void tc_cuda_distrust(const struct tc_cuda_job *job)
{
    int mode;

    if (enter(job->device, &mode)) { /* else that is what failed */
        failure.call = "cuEventQuery";
        failure.code = cu.query(job->event);
        leave(&mode);
    }
    switch_off(job->device);
}

int tc_cuda_ask_event(void *event)
{
    int mode = CAPTURE_RELAXED, said;

    cu.exchange_capture_mode(&mode);
    said = cu.query(event);
    cu.exchange_capture_mode(&mode);
    return answer_of(said);
}

bool tc_cuda_is_loaded(void)
{
    return find_driver(RTLD_NOLOAD);
}
