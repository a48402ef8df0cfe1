/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin_nvrtc.c - a libnvrtc.so.13 of our own, whose code standin_cuda.c takes for the kernel
 *
 * With STANDIN_HIP defined it is a libhiprtc.so. STANDIN_FAILS=NAME:1 lets that function fail. With
 * STANDIN_OLD it does not know the device, but older ones.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/look/kernel.h"

#define MAGIC "stand-in's code of " TC_KERNEL_NAME
#define PTX   "stand-in's text of " TC_KERNEL_NAME

#define SUCCESS        0
#define INVALID        3
#define INVALID_OPTION 5
#define COMPILATION    6

#define NVRTC __attribute__((visibility("default"))) int

#ifdef STANDIN_HIP
#    define nvrtcCreateProgram  hiprtcCreateProgram
#    define nvrtcCompileProgram hiprtcCompileProgram
#    define nvrtcGetCUBINSize   hiprtcGetCodeSize
#    define nvrtcGetCUBIN       hiprtcGetCode
#    define nvrtcDestroyProgram hiprtcDestroyProgram
#endif
#define TEXT(name)  #name
#define FAILS(name) fails(TEXT(name))

static int fails(const char *name)
{
    const char *set = getenv("STANDIN_FAILS");

    return set && strncmp(set, name, strlen(name)) == 0 && set[strlen(name)] == ':';
}

NVRTC nvrtcCreateProgram(void **program, const char *source, const char *name, int n_headers,
                         const char *const *headers, const char *const *names);
NVRTC nvrtcCreateProgram(void **program, const char *source, const char *name, int n_headers,
                         const char *const *headers, const char *const *names)
{
    static char programs;

    (void)name;
    (void)headers;
    (void)names;
    *program = &programs;
    return n_headers || !strstr(source, TC_KERNEL_NAME) || FAILS(nvrtcCreateProgram) ? INVALID
                                                                                     : SUCCESS;
}

#ifndef STANDIN_HIP
static int is_portable; /* what was compiled last: the driver makes machine code of it */
#endif

NVRTC nvrtcCompileProgram(void *program, int n_options, const char *const *options);
NVRTC nvrtcCompileProgram(void *program, int n_options, const char *const *options)
{
    if (!program || FAILS(nvrtcCompileProgram))
        return COMPILATION;
#ifdef STANDIN_HIP
    return n_options == 2 && strcmp(options[0], "--offload-arch=gfx90a:sramecc+:xnack-") == 0 &&
                   strcmp(options[1], "-ffp-contract=off") == 0
               ? SUCCESS
               : COMPILATION;
#else
    is_portable = strcmp(options[0], "--gpu-architecture=compute_86") == 0;
    return n_options == 1 && (is_portable || (strcmp(options[0], "--gpu-architecture=sm_90") == 0 &&
                                              !getenv("STANDIN_OLD")))
               ? SUCCESS
               : INVALID_OPTION;
#endif
}

NVRTC nvrtcGetCUBINSize(void *program, size_t *size);
NVRTC nvrtcGetCUBINSize(void *program, size_t *size)
{
    *size = sizeof(MAGIC);
    return program && !FAILS(nvrtcGetCUBINSize) ? SUCCESS : INVALID;
}

NVRTC nvrtcGetCUBIN(void *program, char *code);
NVRTC nvrtcGetCUBIN(void *program, char *code)
{
    memcpy(code, MAGIC, sizeof(MAGIC));
    return program && !FAILS(nvrtcGetCUBIN) ? SUCCESS : INVALID;
}

NVRTC nvrtcDestroyProgram(void **program);
NVRTC nvrtcDestroyProgram(void **program)
{
    *program = NULL;
    return FAILS(nvrtcDestroyProgram) ? INVALID : SUCCESS;
}

#ifndef STANDIN_HIP
NVRTC nvrtcGetPTXSize(void *program, size_t *size);
NVRTC nvrtcGetPTXSize(void *program, size_t *size)
{
    *size = sizeof(PTX);
    return program && is_portable && !FAILS(nvrtcGetPTXSize) ? SUCCESS : INVALID;
}

NVRTC nvrtcGetPTX(void *program, char *code);
NVRTC nvrtcGetPTX(void *program, char *code)
{
    memcpy(code, PTX, sizeof(PTX));
    return program && is_portable && !FAILS(nvrtcGetPTX) ? SUCCESS : INVALID;
}

NVRTC nvrtcGetNumSupportedArchs(int *n);
NVRTC nvrtcGetNumSupportedArchs(int *n)
{
    *n = 4;
    return FAILS(nvrtcGetNumSupportedArchs) ? INVALID : SUCCESS;
}

NVRTC nvrtcGetSupportedArchs(int *architectures);
NVRTC nvrtcGetSupportedArchs(int *architectures)
{
    static const int known[] = {75, 80, 86, 100};

    memcpy(architectures, known, sizeof(known));
    return FAILS(nvrtcGetSupportedArchs) ? INVALID : SUCCESS;
}
#endif
