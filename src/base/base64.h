/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.h - bytes as text (RFC 4648, with padding)
 */
#ifndef TC_BASE_BASE64_H
#define TC_BASE_BASE64_H

#include "base/strbuf.h"

void tc_base64_add(struct tc_strbuf *out, const void *data, size_t size);
/* Append the bytes that the text stands for; TC_E_FORMAT if it is none. */
enum tc_status tc_base64_decode(const char *text, size_t size, struct tc_strbuf *out,
                                struct tc_error *err);

#endif /* TC_BASE_BASE64_H */
