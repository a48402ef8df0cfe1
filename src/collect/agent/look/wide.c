/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.c - asks the processor for AVX2, and the system whether it keeps the registers
 *
 * Asked once, as an answer costs microseconds in a virtual machine; two threads that ask at once
 * get the same. Without TC_WIDE, on other machines, the answer is no.
 */
#include "collect/agent/look/wide.h"

#if TC_WIDE
#    include <cpuid.h>
#endif

/* Not __builtin_cpu_supports: it needs a part of the compiler's library that not all can link into
 * a shared object. */
static bool find_wide_registers(void)
{
#if TC_WIDE
    unsigned a, b, c, d, kept;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2))
        return false;
    __asm__("xgetbv" : "=a"(kept) : "c"(0) : "edx");
    return (kept & 6) == 6;
#else
    return false;
#endif
}

/* The question takes microseconds in a virtual machine. */
bool tc_has_wide_registers(void)
{
    static _Atomic int known; /* 0: not asked yet, 1: no, 2: yes */

    if (!known)
        known = 1 + find_wide_registers();
    return known == 2;
}
