/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h - machine code of the kernel for a device
 */
#ifndef TC_COLLECT_COMPILER_H
#define TC_COLLECT_COMPILER_H

#include "collect/agent/look/driver.h"

/* Options for a device that is open: the most that one has. */
struct tc_target {
    char option[96];
    int major, minor; /* of CUDA */
};

/* With the interpreter's lock: torch knows which device of HIP it is. */
bool tc_target_find(int device, struct tc_target *out);
/* The kernel (kernel.c), or NULL; the caller's. Takes a second or two, and no lock of the
 * interpreter. */
char *tc_compile_kernel(const struct tc_target *target);
/* The same as PTX, of which CUDA's driver makes machine code itself: for a device that is newer
 * than the compiler, or a driver that is told to take nothing else. NULL with HIP. */
char *tc_compile_portable(const struct tc_target *target);

#endif /* TC_COLLECT_COMPILER_H */
