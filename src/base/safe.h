/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe.h - text of others made safe for where it is shown
 *
 * Names in traces and invariant files are whatever a script, or an attacker, made of them. Shown as
 * they are, they could steer a terminal, reorder what a person reads, give commands to the service
 * that runs a CI job, or end an element of a page. Every report passes them through here.
 */
#ifndef TC_BASE_SAFE_H
#define TC_BASE_SAFE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum tc_safe {
    TC_SAFE_LINE,            /* a part of one line in a terminal or a log */
    TC_SAFE_GITHUB,          /* the message of a workflow command; newlines stay, escaped */
    TC_SAFE_GITHUB_PROPERTY, /* the value of one of its properties */
    TC_SAFE_XML,             /* text or a quoted attribute; newlines stay, escaped */
    TC_SAFE_JSON,            /* a JSON string with its quotes; nothing of the text is lost */
    TC_SAFE_SCRIPT,          /* of a JSON document: the same, for inside of a script element */
};

/*
 * Append text. What is promised of the result, whatever the text:
 *  - it is UTF-8 without control characters (C0, DEL, C1) and without those that reorder text
 *    (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069, U+061C);
 *  - LINE and GITHUB: no "::" begins it or stands after a blank, and there is no "##", with which
 *    services that run CI jobs mark commands, nor U+2028 and U+2029;
 *  - XML, GITHUB_PROPERTY, JSON, SCRIPT: nothing ends the place that they speak of; JSON has no
 *    "##" either.
 * LINE and GITHUB put '?' for what may not stand, XML U+FFFD; JSON and SCRIPT escape.
 */
void tc_safe_add(struct tc_strbuf *out, enum tc_safe sink, const char *text, size_t size);
void tc_safe_adds(struct tc_strbuf *out, enum tc_safe sink, const char *text);

#endif /* TC_BASE_SAFE_H */
