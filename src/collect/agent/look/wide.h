/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - may the wide registers be used that the rest of the build does not assume?
 */
#ifndef TC_COLLECT_WIDE_H
#define TC_COLLECT_WIDE_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    define TC_WIDE 1
#else
#    define TC_WIDE 0
#endif

/* The processor has AVX2, and the system keeps its registers. */
bool tc_has_wide_registers(void);

#endif /* TC_COLLECT_WIDE_H */
