/*
 * version.h - the version of the library and of the formats it writes
 */
#ifndef TRAINCHECK_VERSION_H
#define TRAINCHECK_VERSION_H

#define TC_VERSION          "0.1.0"
#define TC_TRACE_SCHEMA     3 /* docs/trace-format.md */
#define TC_INVARIANT_SCHEMA 1 /* docs/invariant-format.md */
#define TC_EVIDENCE_SCHEMA  1 /* docs/evidence-format.md */
#define TC_VIOLATION_SCHEMA 1 /* docs/violation-format.md */

#endif /* TRAINCHECK_VERSION_H */
