/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin_nvrtc.c - a libnvrtc.so.13 of our own, whose code standin_cuda.c takes for the kernel
 *
 * STANDIN_FAILS=NAME:1 lets that function fail.
 */
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/look/kernel.h"

#define MAGIC "stand-in's code of " TC_KERNEL_NAME

#define SUCCESS     0
#define INVALID     3
#define COMPILATION 6

#define NVRTC __attribute__((visibility("default"))) int

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
    return n_headers || !strstr(source, TC_KERNEL_NAME) || fails("nvrtcCreateProgram") ? INVALID
                                                                                       : SUCCESS;
}

NVRTC nvrtcCompileProgram(void *program, int n_options, const char *const *options);
NVRTC nvrtcCompileProgram(void *program, int n_options, const char *const *options)
{
    return !program || n_options != 1 || strcmp(options[0], "--gpu-architecture=sm_90") != 0 ||
                   fails("nvrtcCompileProgram")
               ? COMPILATION
               : SUCCESS;
}

NVRTC nvrtcGetCUBINSize(void *program, size_t *size);
NVRTC nvrtcGetCUBINSize(void *program, size_t *size)
{
    *size = sizeof(MAGIC);
    return program && !fails("nvrtcGetCUBINSize") ? SUCCESS : INVALID;
}

NVRTC nvrtcGetCUBIN(void *program, char *code);
NVRTC nvrtcGetCUBIN(void *program, char *code)
{
    memcpy(code, MAGIC, sizeof(MAGIC));
    return program && !fails("nvrtcGetCUBIN") ? SUCCESS : INVALID;
}

NVRTC nvrtcDestroyProgram(void **program);
NVRTC nvrtcDestroyProgram(void **program)
{
    *program = NULL;
    return SUCCESS;
}
