/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - the stack machine of pickles, as far as it makes plain data
 *
 * Values are nodes of JSON from the start, which their container takes. The memo points at
 * containers, which live until the end; of strings it has its own copies, as keys are freed. What
 * is fetched from the memo is a copy, and all nodes are counted: a pickle of a few bytes may ask
 * for copies of copies.
 */
#include "base/pickle.h"

#include <stdint.h>
#include <string.h>

#include "base/vec.h"

#define MAX_NODES   ((size_t)1 << 21)
#define MAX_MEMBERS ((size_t)1 << 12) /* of a dictionary: its keys are compared one by one */
#define MAX_DEPTH   64

struct slot {
    struct tc_json *node; /* NULL: a mark */
    unsigned depth;       /* of containers, at most: 0 of a number */
};

struct memo {
    const struct tc_json *node;
    struct tc_json *own; /* a string's copy */
};

struct pickle {
    const unsigned char *at, *begin, *end;
    TC_VEC(struct slot) stack;
    TC_VEC(struct memo) memo;
    size_t n_nodes;
    struct tc_error *err;
};

static enum tc_status fail(const struct pickle *p, const char *what)
{
    return tc_error_set(p->err, TC_E_FORMAT, "byte %zu: %s", (size_t)(p->at - p->begin), what);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static enum tc_status take_bytes(struct pickle *p, size_t n, const unsigned char **out)
{
    if (n > (size_t)(p->end - p->at))
        return fail(p, "the pickle ends here");
    *out = p->at;
    p->at += n;
    return TC_OK;
}

/* n <= 8 bytes, the lowest first. */
static enum tc_status take_number(struct pickle *p, size_t n, uint64_t *out)
{
    const unsigned char *bytes = NULL;
    const enum tc_status status = take_bytes(p, n, &bytes);

    *out = 0;
    for (size_t i = 0; i < n && !status; i++)
        *out |= (uint64_t)bytes[i] << (8 * i);
    return status;
}

/* ---- the stack ------------------------------------------------------------------------------ */

static enum tc_status push(struct pickle *p, struct tc_json *take_node, unsigned depth)
{
    tc_vec_push(&p->stack, ((struct slot){take_node, depth}));
    if (++p->n_nodes > MAX_NODES)
        return fail(p, "the pickle holds too much");
    return TC_OK;
}

/* Slots above the last mark begin at *first; the mark is at *first - 1. */
static enum tc_status find_mark(const struct pickle *p, size_t *first)
{
    *first = p->stack.n;
    while (*first && p->stack.items[*first - 1].node)
        (*first)--;
    return *first ? TC_OK : fail(p, "no mark was set");
}

/* The slots from first on belong to the container at i, and the stack ends behind it. */
static enum tc_status deepen(struct pickle *p, size_t i, size_t first)
{
    struct slot *container = &p->stack.items[i];

    for (size_t k = first; k < p->stack.n; k++) {
        if (!p->stack.items[k].node)
            return fail(p, "a mark stands where a value is due");
        if (p->stack.items[k].depth >= container->depth)
            container->depth = p->stack.items[k].depth + 1;
    }
    return container->depth > MAX_DEPTH ? fail(p, "the pickle is nested too deeply") : TC_OK;
}

/* The slots from first on into the list in slot i. */
static enum tc_status append(struct pickle *p, size_t i, size_t first)
{
    if (i >= first || !tc_json_is_array(p->stack.items[i].node))
        return fail(p, "there is no list to append to");
    const enum tc_status status = deepen(p, i, first);
    if (status)
        return status;
    for (size_t k = first; k < p->stack.n; k++)
        tc_json_append(p->stack.items[i].node, p->stack.items[k].node);
    p->stack.n = first;
    return TC_OK;
}

/* The key in slot k and the value behind it. A value that is there stays: the memo may point at it.
 */
static enum tc_status set_item(struct pickle *p, struct tc_json *dictionary, size_t k)
{
    struct slot *key = &p->stack.items[k], *value = key + 1;

    if (!tc_json_is_string(key->node))
        return fail(p, "a key is no string");
    if (tc_json_get(dictionary, tc_json_text(key->node)))
        return fail(p, "a key is there twice");
    if (tc_json_count(dictionary) == MAX_MEMBERS)
        return fail(p, "the dictionary is too large");
    tc_json_set(dictionary, tc_json_text(key->node), value->node);
    value->node = NULL;
    return TC_OK;
}

/* The slots from first on, a key and a value in turn, into the dictionary in slot i. */
static enum tc_status set_items(struct pickle *p, size_t i, size_t first)
{
    if (i >= first || !tc_json_is_object(p->stack.items[i].node) || (p->stack.n - first) % 2 ||
        p->stack.n - first > 2 * MAX_MEMBERS)
        return fail(p, "there is no dictionary for these items");
    enum tc_status status = deepen(p, i, first);
    for (size_t k = first; k < p->stack.n && !status; k += 2)
        status = set_item(p, p->stack.items[i].node, k);
    for (size_t k = first; k < p->stack.n && !status; k += 2)
        tc_json_free(p->stack.items[k].node);
    if (!status)
        p->stack.n = first;
    return status;
}

/* Into the container below the mark, and the mark is gone. */
static enum tc_status add_marked(struct pickle *p,
                                 enum tc_status (*add)(struct pickle *, size_t, size_t))
{
    size_t first;
    enum tc_status status = find_mark(p, &first);

    if (status)
        return status;
    status = first < 2 ? fail(p, "the mark is below everything") : add(p, first - 2, first);
    if (!status)
        p->stack.n--;
    return status;
}

/* The last n slots, which hold no mark, into one array. */
static enum tc_status make_tuple(struct pickle *p, size_t n, bool has_mark)
{
    struct tc_json *array;
    unsigned depth = 1;

    if (n > p->stack.n)
        return fail(p, "a tuple lacks elements");
    const size_t first = p->stack.n - n;
    for (size_t i = first; i < p->stack.n; i++) {
        if (!p->stack.items[i].node)
            return fail(p, "a mark stands in a tuple");
        if (p->stack.items[i].depth >= depth)
            depth = p->stack.items[i].depth + 1;
    }
    if (depth > MAX_DEPTH)
        return fail(p, "the pickle is nested too deeply");
    array = tc_json_array();
    for (size_t i = first; i < p->stack.n; i++)
        tc_json_append(array, p->stack.items[i].node);
    p->stack.n = first - has_mark;
    return push(p, array, depth);
}

static enum tc_status make_marked_tuple(struct pickle *p)
{
    size_t first;
    const enum tc_status status = find_mark(p, &first);

    return status ? status : make_tuple(p, p->stack.n - first, true);
}

/* ---- the memo ------------------------------------------------------------------------------- */

static enum tc_status memoize(struct pickle *p, uint64_t i)
{
    const struct slot *top = p->stack.n ? &p->stack.items[p->stack.n - 1] : NULL;

    if (!top || !top->node || i > p->memo.n)
        return fail(p, "there is nothing to remember, or its number is not the next");
    if (i == p->memo.n)
        tc_vec_push(&p->memo, (struct memo){0});
    struct memo *memo = &p->memo.items[i];
    tc_json_free(memo->own);
    memo->own = tc_json_is_string(top->node) ? tc_json_copy(top->node) : NULL;
    memo->node = memo->own ? memo->own : top->node;
    return TC_OK;
}

/* How deep the containers are; the nodes are counted. */
static unsigned measure(const struct tc_json *node, size_t *n_nodes)
{
    unsigned deepest = 0;

    ++*n_nodes;
    if (!tc_json_is_array(node) && !tc_json_is_object(node))
        return 0;
    for (const struct tc_json *c = tc_json_first(node); c; c = tc_json_next(c)) {
        const unsigned depth = measure(c, n_nodes);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static enum tc_status fetch(struct pickle *p, uint64_t i)
{
    if (i >= p->memo.n)
        return fail(p, "what is to be fetched was not remembered");
    const unsigned depth = measure(p->memo.items[i].node, &p->n_nodes);
    if (p->n_nodes > MAX_NODES)
        return fail(p, "the pickle holds too much");
    return push(p, tc_json_copy(p->memo.items[i].node), depth);
}

/* ---- values --------------------------------------------------------------------------------- */

static enum tc_status push_string(struct pickle *p, size_t size_bytes)
{
    uint64_t size;
    const unsigned char *text = NULL;
    enum tc_status status = take_number(p, size_bytes, &size);

    if (!status)
        status = take_bytes(p, size, &text);
    if (status)
        return status;
    if (memchr(text, '\0', size))
        return fail(p, "a string holds a NUL");
    struct tc_strbuf copy = TC_STRBUF_INIT;
    tc_strbuf_add(&copy, text, size);
    struct tc_json *node = tc_json_string(copy.text);
    tc_strbuf_release(&copy);
    return push(p, node, 0);
}

/* Two's complement of so many bytes. */
static enum tc_status push_signed(struct pickle *p, size_t bytes)
{
    uint64_t bits;
    const enum tc_status status = take_number(p, bytes, &bits);

    if (status)
        return status;
    if (bytes && bytes < 8 && bits >> (8 * bytes - 1))
        bits |= UINT64_MAX << (8 * bytes);
    return push(p, tc_json_number((double)(int64_t)bits), 0);
}

static enum tc_status push_unsigned(struct pickle *p, size_t bytes)
{
    uint64_t bits;
    const enum tc_status status = take_number(p, bytes, &bits);

    return status ? status : push(p, tc_json_number((double)bits), 0);
}

static enum tc_status push_long(struct pickle *p)
{
    uint64_t bytes;
    const enum tc_status status = take_number(p, 1, &bytes);

    if (status)
        return status;
    return bytes <= 8 ? push_signed(p, bytes) : fail(p, "an integer is too large");
}

/* A double, the highest byte first. */
static enum tc_status push_float(struct pickle *p)
{
    const unsigned char *bytes = NULL;
    const enum tc_status status = take_bytes(p, 8, &bytes);
    uint64_t bits = 0;
    double number;

    if (status)
        return status;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&number, &bits, sizeof(number));
    return push(p, tc_json_number(number), 0);
}

/* ---- opcodes -------------------------------------------------------------------------------- */

enum {
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2,
    TUPLE3,
    NEWTRUE,
    NEWFALSE,
    LONG1,
    SHORT_BINUNICODE = 0x8c,
    MEMOIZE = 0x94,
    FRAME
};

static enum tc_status run_value(struct pickle *p, unsigned char opcode)
{
    switch (opcode) {
    case 'N':
        return push(p, tc_json_null(), 0);
    case NEWTRUE:
        return push(p, tc_json_bool(true), 0);
    case NEWFALSE:
        return push(p, tc_json_bool(false), 0);
    case 'J':
        return push_signed(p, 4);
    case 'K':
        return push_unsigned(p, 1);
    case 'M':
        return push_unsigned(p, 2);
    case LONG1:
        return push_long(p);
    case 'G':
        return push_float(p);
    case 'X':
        return push_string(p, 4);
    case SHORT_BINUNICODE:
        return push_string(p, 1);
    case ']':
        return push(p, tc_json_array(), 1);
    case ')':
        return push(p, tc_json_array(), 1);
    case '}':
        return push(p, tc_json_object(), 1);
    default:
        p->at--;
        return fail(p, "an opcode that plain data has no need of");
    }
}

static enum tc_status run_memo(struct pickle *p, size_t bytes, bool is_fetch)
{
    uint64_t i;
    const enum tc_status status = take_number(p, bytes, &i);

    return status ? status : is_fetch ? fetch(p, i) : memoize(p, i);
}

static enum tc_status skip(struct pickle *p, size_t bytes)
{
    const unsigned char *ignored;

    return take_bytes(p, bytes, &ignored);
}

static enum tc_status run(struct pickle *p, unsigned char opcode)
{
    switch (opcode) {
    case PROTO:
        return skip(p, 1);
    case FRAME:
        return skip(p, 8);
    case '(':
        tc_vec_push(&p->stack, (struct slot){0});
        return TC_OK;
    case 'q':
        return run_memo(p, 1, false);
    case 'r':
        return run_memo(p, 4, false);
    case MEMOIZE:
        return memoize(p, p->memo.n);
    case 'h':
        return run_memo(p, 1, true);
    case 'j':
        return run_memo(p, 4, true);
    case 'a':
        return p->stack.n < 2 ? fail(p, "no list") : append(p, p->stack.n - 2, p->stack.n - 1);
    case 's':
        return p->stack.n < 3 ? fail(p, "no dictionary")
                              : set_items(p, p->stack.n - 3, p->stack.n - 2);
    case 'e':
        return add_marked(p, append);
    case 'u':
        return add_marked(p, set_items);
    case 't':
        return make_marked_tuple(p);
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        return make_tuple(p, (size_t)(opcode - TUPLE1) + 1, false);
    default:
        return run_value(p, opcode);
    }
}

static enum tc_status run_all(struct pickle *p)
{
    enum tc_status status = TC_OK;
    const unsigned char *opcode = NULL;

    while (!status && !(status = take_bytes(p, 1, &opcode)) && *opcode != '.')
        status = run(p, *opcode);
    if (!status && (p->stack.n != 1 || !p->stack.items[0].node))
        status = fail(p, "the pickle holds no single value");
    return status;
}

enum tc_status tc_pickle_parse(const void *data, size_t size, struct tc_json **out,
                               struct tc_error *err)
{
    const unsigned char *bytes = data;
    struct pickle p = {.at = bytes, .begin = bytes, .end = bytes + size, .err = err};
    const enum tc_status status = run_all(&p);

    *out = status ? NULL : p.stack.items[0].node;
    for (size_t i = 0; i < p.stack.n && status; i++)
        tc_json_free(p.stack.items[i].node);
    for (size_t i = 0; i < p.memo.n; i++)
        tc_json_free(p.memo.items[i].own);
    tc_vec_release(&p.stack);
    tc_vec_release(&p.memo);
    return status;
}
