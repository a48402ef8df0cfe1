/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.h - the driver of accelerators and its compiler, by the names that either vendor has
 *
 * torch calls the devices of both "cuda". A table names each function of CUDA's driver and NVRTC,
 * and that of HIP and hipRTC which does the same. They are looked up where a tensor lies on such a
 * device: nothing of either is needed to build the agent, or where there is none.
 *
 * HIP is no driver but a runtime. It has no contexts, but a device that is a thread's current one;
 * and what a call says is the thread's last error, which torch takes for its own: here it is
 * forgotten at once.
 */
#ifndef TC_COLLECT_DRIVER_H
#define TC_COLLECT_DRIVER_H

#include "collect/agent/agent.h"

#define TC_CUDA_MAX_DEVICES 64

/* Member, name in CUDA, name in HIP, parameters. NULL: that vendor needs none. Handles are
 * pointers, addresses of the device numbers. */
#define TC_DRIVER_MAP(X)                                                                           \
    X(init, "cuInit", "hipInit", (unsigned flags))                                                 \
    X(device_of, "cuDeviceGet", NULL, (int *device, int ordinal))                                  \
    X(attribute, "cuDeviceGetAttribute", NULL, (int *value, int attribute, int device))            \
    X(retain, "cuDevicePrimaryCtxRetain", NULL, (void **context, int device))                      \
    X(push, "cuCtxPushCurrent_v2", NULL, (void *context))                                          \
    X(pop, "cuCtxPopCurrent_v2", NULL, (void **context))                                           \
    X(get_device, NULL, "hipGetDevice", (int *device))                                             \
    X(set_device, NULL, "hipSetDevice", (int device))                                              \
    X(last_error, NULL, "hipGetLastError", (void))                                                 \
    X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode",                                  \
      "hipThreadExchangeStreamCaptureMode", (int *mode))                                           \
    X(is_capturing, "cuStreamIsCapturing", "hipStreamIsCapturing", (void *stream, int *status))    \
    X(load, "cuModuleLoadData", "hipModuleLoadData", (void **module, const void *image))           \
    X(function, "cuModuleGetFunction", "hipModuleGetFunction",                                     \
      (void **function, void *module, const char *name))                                           \
    X(allocate, "cuMemAlloc_v2", "hipMalloc", (uint64_t * address, size_t size))                   \
    X(allocate_host, "cuMemHostAlloc", "hipHostMalloc",                                            \
      (void **address, size_t size, unsigned flags))                                               \
    X(address_of, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer",                       \
      (uint64_t * address, void *host, unsigned flags))                                            \
    X(clear, "cuMemsetD8Async", "hipMemsetD8Async",                                                \
      (uint64_t address, unsigned char value, size_t n, void *stream))                             \
    X(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                           \
      (void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, \
       unsigned threads_z, unsigned shared, void *stream, void **parameters, void **extra))        \
    X(copy, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                                          \
      (void *to, uint64_t from, size_t size, void *stream))                                        \
    X(event, "cuEventCreate", "hipEventCreateWithFlags", (void **event, unsigned flags))           \
    X(record, "cuEventRecord", "hipEventRecord", (void *event, void *stream))                      \
    X(wait, "cuEventSynchronize", "hipEventSynchronize", (void *event))                            \
    X(query, "cuEventQuery", "hipEventQuery", (void *event))

/* The same of the compiler. */
#define TC_COMPILER_MAP(X)                                                                \
    X(create, "nvrtcCreateProgram", "hiprtcCreateProgram",                                \
      (void **program, const char *source, const char *name, int n_headers,               \
       const char *const *headers, const char *const *names))                             \
    X(compile, "nvrtcCompileProgram", "hiprtcCompileProgram",                             \
      (void *program, int n_options, const char *const *options))                         \
    X(code_size, "nvrtcGetCUBINSize", "hiprtcGetCodeSize", (void *program, size_t *size)) \
    X(code, "nvrtcGetCUBIN", "hiprtcGetCode", (void *program, char *code))                \
    X(ptx_size, "nvrtcGetPTXSize", NULL, (void *program, size_t *size))                   \
    X(ptx, "nvrtcGetPTX", NULL, (void *program, char *code))                              \
    X(n_known, "nvrtcGetNumSupportedArchs", NULL, (int *n))                               \
    X(known, "nvrtcGetSupportedArchs", NULL, (int *architectures))                        \
    X(destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram", (void **program))

enum tc_driver_call {
#define X(member, cuda, hip, parameters) TC_CALL_##member,
    TC_DRIVER_MAP(X)
    TC_COMPILER_MAP(X)
#undef X
        /* Not calls, but what may be missing. */
        TC_LACKS_DRIVER,
    TC_LACKS_COMPILER,
    TC_LACKS_ARCHITECTURE,
};

#define X(member, cuda, hip, parameters) int(*member) parameters;
struct tc_driver {
    TC_DRIVER_MAP(X)
};
struct tc_compiler {
    TC_COMPILER_MAP(X)
};
#undef X

/* All NULL until they are found. */
extern struct tc_driver tc_driver;
extern struct tc_compiler tc_compiler;

/* With the interpreter's lock: the policy knows where libraries are. False: tc_failure says which
 * function or library is missing. is_loaded: only where the process has the driver already. */
bool tc_driver_find(bool is_loaded);
bool tc_compiler_find(void);
bool tc_driver_is_hip(void);

/* ---- failures ---- */

/* What failed last, of the thread's calls: some are made without the interpreter's lock. */
struct tc_failure {
    enum tc_driver_call call;
    int code; /* negative: it is missing */
};

/* What a call said; HIP forgets it. */
int tc_driver_said(int code);
/* Was it no failure? Else it is the thread's last. */
bool tc_driver_ok(int code, enum tc_driver_call call);
struct tc_failure tc_driver_failure(void);
/* "cuMemAlloc said CUDA_ERROR_...", as text. */
void tc_failure_describe(struct tc_failure failure, struct tc_strbuf *out);
/* Is this said of what must not be done while somebody captures a graph? */
bool tc_driver_is_captured(int code);
bool tc_driver_is_full(struct tc_failure failure);

/* ---- where a thread works ---- */

struct tc_entry {
    int mode, device; /* of the thread before */
};

/* Before a device's first use. */
bool tc_driver_open(int device);
/* Work on the device, whatever the thread's own is, and outside of all captures. */
bool tc_driver_enter(int device, struct tc_entry *entry);
void tc_driver_leave(const struct tc_entry *entry);

/* Has the event passed? Negative: the driver cannot say. Needs no lock of the interpreter. */
int tc_driver_ask(void *event);

#endif /* TC_COLLECT_DRIVER_H */
