/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - the one door to cJSON: documents, not traces
 *
 * Numbers are doubles here: 64-bit integers that must be exact belong in
 * strings. Object members keep the order in which they were added.
 */
#ifndef TC_BASE_JSON_H
#define TC_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include <traincheck/error.h>

struct tc_json; /* a node; owned by its parent once added to one */

/* Errors say the byte offset at which the text stops being JSON, or that something follows the
 * document. */
enum tc_status tc_json_parse(const char *text, size_t size, struct tc_json **out,
                             struct tc_error *err);
void tc_json_free(struct tc_json *root);
struct tc_json *tc_json_copy(const struct tc_json *node);

struct tc_json *tc_json_object(void);
struct tc_json *tc_json_array(void);
struct tc_json *tc_json_string(const char *text);
struct tc_json *tc_json_number(double number);
struct tc_json *tc_json_bool(bool value);
struct tc_json *tc_json_null(void);

/* An array of the n texts. */
struct tc_json *tc_json_strings(const char *const *texts, size_t n);

/* Take the child. A member of that name is replaced in place. */
void tc_json_set(struct tc_json *object, const char *key, struct tc_json *take);
void tc_json_append(struct tc_json *array, struct tc_json *take);
/* Shorthands. */
void tc_json_set_string(struct tc_json *object, const char *key, const char *text);
void tc_json_set_number(struct tc_json *object, const char *key, double number);
void tc_json_set_bool(struct tc_json *object, const char *key, bool value);

bool tc_json_is_object(const struct tc_json *node);
bool tc_json_is_array(const struct tc_json *node);
bool tc_json_is_string(const struct tc_json *node);
bool tc_json_is_number(const struct tc_json *node);
bool tc_json_is_bool(const struct tc_json *node);
bool tc_json_is_null(const struct tc_json *node);
/* NULL, fallback or 0 when the node is absent or of another kind; node may be NULL. */
const struct tc_json *tc_json_get(const struct tc_json *object, const char *key);
const char *tc_json_text(const struct tc_json *node);
double tc_json_to_number(const struct tc_json *node, double fallback);
bool tc_json_to_bool(const struct tc_json *node, bool fallback);
/* Members or elements, in order. */
size_t tc_json_count(const struct tc_json *node);
const struct tc_json *tc_json_first(const struct tc_json *node);
const struct tc_json *tc_json_next(const struct tc_json *child);
const char *tc_json_key(const struct tc_json *member);

/* One line without spaces; integral doubles up to 2^53 are printed as integers. */
void tc_json_print(const struct tc_json *node, struct tc_strbuf *out);
/* That, and a newline behind it; the node is freed. */
void tc_json_print_line(struct tc_json *take, struct tc_strbuf *out);
/* Indented, for people. */
void tc_json_print_pretty(const struct tc_json *node, struct tc_strbuf *out);

#endif /* TC_BASE_JSON_H */
