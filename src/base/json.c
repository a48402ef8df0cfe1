/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the one door to cJSON
 *
 * cJSON reads and holds the tree; printing is ours, as cJSON writes integers
 * above 2^31 with an exponent and depends on the locale.
 */
#include "base/json.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/number.h"

#define INDENT 2 /* spaces */

static cJSON *node_of(const struct tc_json *json)
{
    return (cJSON *)(uintptr_t)json;
}

/* cJSON returns NULL for a node only when memory is out. */
static struct tc_json *json_of(cJSON *node)
{
    if (!node)
        tc_out_of_memory();
    return (struct tc_json *)node;
}

static enum tc_status check_rest(const char *text, size_t size, const char *end,
                                 struct tc_error *err)
{
    while (end < text + size && *end && strchr(" \t\r\n", *end))
        end++;
    if (end == text + size)
        return TC_OK;
    return tc_error_set(err, TC_E_FORMAT, "byte %zu: something follows the JSON document",
                        (size_t)(end - text));
}

enum tc_status tc_json_parse(const char *text, size_t size, struct tc_json **out,
                             struct tc_error *err)
{
    const char *end = text;
    cJSON *root;
    enum tc_status status;

    *out = NULL;
    errno = 0;
    root = size ? cJSON_ParseWithLengthOpts(text, size, &end, 0) : NULL;
    if (!root && errno == ENOMEM) /* cJSON itself tells no difference */
        tc_out_of_memory();
    if (!root)
        return tc_error_set(err, TC_E_FORMAT, "byte %zu: not JSON", (size_t)(end - text));
    status = check_rest(text, size, end, err);
    if (status != TC_OK)
        cJSON_Delete(root);
    else
        *out = json_of(root);
    return status;
}

void tc_json_free(struct tc_json *root)
{
    cJSON_Delete(node_of(root));
}

struct tc_json *tc_json_copy(const struct tc_json *node)
{
    return json_of(cJSON_Duplicate(node_of(node), 1));
}

struct tc_json *tc_json_object(void)
{
    return json_of(cJSON_CreateObject());
}

struct tc_json *tc_json_array(void)
{
    return json_of(cJSON_CreateArray());
}

struct tc_json *tc_json_string(const char *text)
{
    return json_of(cJSON_CreateString(text));
}

struct tc_json *tc_json_strings(const char *const *texts, size_t n)
{
    struct tc_json *array = tc_json_array();

    for (size_t i = 0; i < n; i++)
        tc_json_append(array, tc_json_string(texts[i]));
    return array;
}

struct tc_json *tc_json_number(double number)
{
    return json_of(cJSON_CreateNumber(number));
}

struct tc_json *tc_json_bool(bool value)
{
    return json_of(cJSON_CreateBool(value));
}

struct tc_json *tc_json_null(void)
{
    return json_of(cJSON_CreateNull());
}

void tc_json_set(struct tc_json *object, const char *key, struct tc_json *take)
{
    cJSON *parent = node_of(object);

    if (cJSON_GetObjectItemCaseSensitive(parent, key))
        cJSON_ReplaceItemInObjectCaseSensitive(parent, key, node_of(take));
    else if (!cJSON_AddItemToObject(parent, key, node_of(take)))
        tc_out_of_memory();
}

void tc_json_append(struct tc_json *array, struct tc_json *take)
{
    if (!cJSON_AddItemToArray(node_of(array), node_of(take)))
        tc_out_of_memory();
}

void tc_json_set_string(struct tc_json *object, const char *key, const char *text)
{
    tc_json_set(object, key, tc_json_string(text));
}

void tc_json_set_number(struct tc_json *object, const char *key, double number)
{
    tc_json_set(object, key, tc_json_number(number));
}

void tc_json_set_bool(struct tc_json *object, const char *key, bool value)
{
    tc_json_set(object, key, tc_json_bool(value));
}

bool tc_json_is_object(const struct tc_json *node)
{
    return cJSON_IsObject(node_of(node));
}

bool tc_json_is_array(const struct tc_json *node)
{
    return cJSON_IsArray(node_of(node));
}

bool tc_json_is_string(const struct tc_json *node)
{
    return cJSON_IsString(node_of(node));
}

bool tc_json_is_number(const struct tc_json *node)
{
    return cJSON_IsNumber(node_of(node));
}

bool tc_json_is_bool(const struct tc_json *node)
{
    return cJSON_IsBool(node_of(node));
}

bool tc_json_is_null(const struct tc_json *node)
{
    return cJSON_IsNull(node_of(node));
}

const struct tc_json *tc_json_get(const struct tc_json *object, const char *key)
{
    if (!tc_json_is_object(object))
        return NULL;
    return (const struct tc_json *)cJSON_GetObjectItemCaseSensitive(node_of(object), key);
}

const char *tc_json_text(const struct tc_json *node)
{
    return cJSON_GetStringValue(node_of(node));
}

double tc_json_to_number(const struct tc_json *node, double fallback)
{
    return tc_json_is_number(node) ? node_of(node)->valuedouble : fallback;
}

bool tc_json_to_bool(const struct tc_json *node, bool fallback)
{
    return tc_json_is_bool(node) ? cJSON_IsTrue(node_of(node)) : fallback;
}

static bool is_container(const struct tc_json *node)
{
    return tc_json_is_object(node) || tc_json_is_array(node);
}

size_t tc_json_count(const struct tc_json *node)
{
    return is_container(node) ? (size_t)cJSON_GetArraySize(node_of(node)) : 0;
}

const struct tc_json *tc_json_first(const struct tc_json *node)
{
    return is_container(node) ? (const struct tc_json *)node_of(node)->child : NULL;
}

const struct tc_json *tc_json_next(const struct tc_json *child)
{
    return child ? (const struct tc_json *)node_of(child)->next : NULL;
}

const char *tc_json_key(const struct tc_json *member)
{
    return member ? node_of(member)->string : NULL;
}

/* depth < 0: everything on one line. */
static void add_break(struct tc_strbuf *out, int depth)
{
    if (depth < 0)
        return;
    tc_strbuf_addc(out, '\n');
    for (int i = 0; i < depth * INDENT; i++)
        tc_strbuf_addc(out, ' ');
}

static void print_text(const char *text, struct tc_strbuf *out)
{
    tc_strbuf_add_json(out, text ? text : "", text ? strlen(text) : 0);
}

static void print_node(const cJSON *node, int depth, struct tc_strbuf *out);

static void print_children(const cJSON *node, int depth, struct tc_strbuf *out)
{
    bool is_object = cJSON_IsObject(node);
    int inner = depth < 0 ? depth : depth + 1;

    tc_strbuf_addc(out, is_object ? '{' : '[');
    for (const cJSON *child = node->child; child; child = child->next) {
        if (child != node->child)
            tc_strbuf_addc(out, ',');
        add_break(out, inner);
        if (is_object) {
            print_text(child->string, out);
            tc_strbuf_adds(out, depth < 0 ? ":" : ": ");
        }
        print_node(child, inner, out);
    }
    if (node->child)
        add_break(out, depth);
    tc_strbuf_addc(out, is_object ? '}' : ']');
}

static void print_node(const cJSON *node, int depth, struct tc_strbuf *out)
{
    if (cJSON_IsObject(node) || cJSON_IsArray(node))
        print_children(node, depth, out);
    else if (cJSON_IsString(node))
        print_text(node->valuestring, out);
    else if (cJSON_IsBool(node))
        tc_strbuf_adds(out, cJSON_IsTrue(node) ? "true" : "false");
    else if (cJSON_IsNumber(node) && node->valuedouble - node->valuedouble == 0) /* finite */
        tc_strbuf_add_number(out, node->valuedouble);
    else
        tc_strbuf_adds(out, "null");
}

void tc_json_print(const struct tc_json *node, struct tc_strbuf *out)
{
    print_node(node_of(node), -1, out);
}

void tc_json_print_line(struct tc_json *take, struct tc_strbuf *out)
{
    tc_json_print(take, out);
    tc_strbuf_addc(out, '\n');
    tc_json_free(take);
}

void tc_json_print_pretty(const struct tc_json *node, struct tc_strbuf *out)
{
    print_node(node_of(node), 0, out);
}
