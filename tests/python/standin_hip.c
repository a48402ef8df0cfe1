/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin_hip.c - a libamdhip64.so of our own, on the CPU: standin_cuda.c by the names of HIP
 *
 * It differs as HIP does. A thread has a current device, which is one of the user's own, number 7,
 * until somebody sets another. What a call says other than success stays the thread's last error
 * until that is asked for. While anybody captures a graph no event is asked and no memory given, as
 * by releases before 7.2.
 */
#define DRIVER __attribute__((unused)) static int
#include "standin_cuda.c"

#define USERS_OWN           7
#define CAPTURE_UNSUPPORTED 900

#define HIP EXPORT int

static _Thread_local int device = USERS_OWN, last_error;

/* Before and after a call: contexts are what the other one works on. */
static void begin(void)
{
    n_stack = device < N_DEVICES;
    stack[0] = device;
}

static int end(int said)
{
    if (said)
        last_error = said;
    return said;
}

HIP hipInit(unsigned flags);
HIP hipInit(unsigned flags)
{
    return end(cuInit(flags));
}

EXPORT const char *hipGetErrorName(int error);
EXPORT const char *hipGetErrorName(int error)
{
    const char *name;

    cuGetErrorName(error, &name);
    return name;
}

HIP hipGetLastError(void);
HIP hipGetLastError(void)
{
    const int was = last_error;

    last_error = SUCCESS;
    return was;
}

HIP hipPeekAtLastError(void);
HIP hipPeekAtLastError(void)
{
    return last_error;
}

HIP hipGetDevice(int *out);
HIP hipGetDevice(int *out)
{
    *out = device;
    return end(called(OF_cuDeviceGet));
}

HIP hipSetDevice(int number);
HIP hipSetDevice(int number)
{
    const int failed = called(OF_cuCtxPushCurrent_v2);

    if (failed || number < 0 || (number >= N_DEVICES && number != USERS_OWN))
        return end(failed ? failed : INVALID_VALUE);
    device = number;
    return SUCCESS;
}

HIP hipThreadExchangeStreamCaptureMode(int *mode);
HIP hipThreadExchangeStreamCaptureMode(int *mode)
{
    return end(cuThreadExchangeStreamCaptureMode(mode));
}

HIP hipStreamIsCapturing(void *stream, int *status);
HIP hipStreamIsCapturing(void *stream, int *status)
{
    begin();
    return end(cuStreamIsCapturing(stream, status));
}

HIP hipModuleLoadData(void **module, const void *image);
HIP hipModuleLoadData(void **module, const void *image)
{
    begin();
    return end(cuModuleLoadData(module, image));
}

HIP hipModuleGetFunction(void **function, void *module, const char *name);
HIP hipModuleGetFunction(void **function, void *module, const char *name)
{
    begin();
    return end(cuModuleGetFunction(function, module, name));
}

HIP hipMalloc(void **address, size_t size);
HIP hipMalloc(void **address, size_t size)
{
    uint64_t number = 0;
    int said;

    if (atomic_load(&is_capturing))
        return end(CAPTURE_UNSUPPORTED);
    begin();
    said = cuMemAlloc_v2(&number, size);
    *address = (void *)(uintptr_t)number;
    return end(said);
}

HIP hipHostMalloc(void **address, size_t size, unsigned flags);
HIP hipHostMalloc(void **address, size_t size, unsigned flags)
{
    begin();
    return end(cuMemHostAlloc(address, size, flags));
}

HIP hipHostGetDevicePointer(void **address, void *host, unsigned flags);
HIP hipHostGetDevicePointer(void **address, void *host, unsigned flags)
{
    uint64_t number;
    int said;

    begin();
    said = cuMemHostGetDevicePointer_v2(&number, host, flags);
    *address = (void *)(uintptr_t)number;
    return end(said);
}

HIP hipMemsetD8Async(void *address, unsigned char value, size_t n, void *stream);
HIP hipMemsetD8Async(void *address, unsigned char value, size_t n, void *stream)
{
    begin();
    return end(cuMemsetD8Async((uint64_t)(uintptr_t)address, value, n, stream));
}

HIP hipModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                          void **parameters, void **extra);
HIP hipModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                          void **parameters, void **extra)
{
    begin();
    return end(cuLaunchKernel(function, x, y, z, threads_x, threads_y, threads_z, shared, stream,
                              parameters, extra));
}

HIP hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream);
HIP hipMemcpyDtoHAsync(void *to, void *from, size_t size, void *stream)
{
    begin();
    return end(cuMemcpyDtoHAsync_v2(to, (uint64_t)(uintptr_t)from, size, stream));
}

HIP hipEventCreateWithFlags(struct event **event, unsigned flags);
HIP hipEventCreateWithFlags(struct event **event, unsigned flags)
{
    begin();
    return end(cuEventCreate(event, flags));
}

HIP hipEventRecord(struct event *event, void *stream);
HIP hipEventRecord(struct event *event, void *stream)
{
    begin();
    return end(cuEventRecord(event, stream));
}

HIP hipEventQuery(struct event *event);
HIP hipEventQuery(struct event *event)
{
    return end(atomic_load(&is_capturing) ? CAPTURE_UNSUPPORTED : cuEventQuery(event));
}

HIP hipEventSynchronize(struct event *event);
HIP hipEventSynchronize(struct event *event)
{
    begin();
    return end(cuEventSynchronize(event));
}
