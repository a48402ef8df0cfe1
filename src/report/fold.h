/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h - texts of traces in a terminal of 80 columns
 */
#ifndef TC_REPORT_FOLD_H
#define TC_REPORT_FOLD_H

#include "base/strbuf.h"

#define TC_FOLD_WIDTH  80
#define TC_FOLD_INDENT 2

/* Characters, as columns. */
size_t tc_fold_columns(const char *text, size_t size);
/* Texts come from traces: TC_SAFE_LINE. */
void tc_fold_add(struct tc_strbuf *out, const char *text, size_t size);
/* Words of text, folded between the indent and the width; label stands before the first line. */
void tc_fold(struct tc_strbuf *out, const char *label, const char *text);
/* The same with the label at the begin of the first line, and so many blanks before the others. */
void tc_fold_behind(struct tc_strbuf *out, const char *label, size_t indent, const char *text);

#endif /* TC_REPORT_FOLD_H */
