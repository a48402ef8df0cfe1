/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - the version of the library and of the formats it writes
 */
#ifndef TRAINCHECK_VERSION_H
#define TRAINCHECK_VERSION_H

#include <traincheck/export.h>

#define TC_VERSION "0.1.0"

/*
 * Version of the interface, MAJOR.MINOR. MAJOR is that of the soname: it rises when a program that
 * was built before could break, as after a change of a struct or of what a function means. MINOR
 * rises when functions are added.
 */
#define TC_ABI_MAJOR 2
#define TC_ABI_MINOR 2

#define TC_TRACE_SCHEMA      6 /* docs/trace-format.md */
#define TC_INVARIANT_SCHEMA  5 /* docs/invariant-format.md */
#define TC_EVIDENCE_SCHEMA   3 /* docs/evidence-format.md */
#define TC_COMPARISON_SCHEMA 1 /* docs/comparison-format.md */
#define TC_VIOLATION_SCHEMA  3 /* docs/violation-format.md */

/* Of the library that is loaded, in the form of TC_VERSION. */
TC_API const char *tc_version(void);

#endif /* TRAINCHECK_VERSION_H */
