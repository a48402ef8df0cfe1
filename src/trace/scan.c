/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - JSON text to a tree of values, in one pass
 *
 * The children of an open array or object are gathered on one stack shared by
 * all levels and copied to the arena when it closes, so that they lie side by
 * side there and nothing is scanned twice. A value is written where it will
 * stand on the stack: copied from elsewhere right after, it would have to wait
 * for its own parts to be stored.
 */
#include "trace/scan.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "trace/scan_text.h"

#define FEW_MEMBERS 64 /* a stack of this size covers nearly every trace line */

struct scanner {
    struct tc_text text;
    struct tc_arena *arena;
    struct tc_member *stack; /* few, or from the heap */
    size_t n, cap;
    unsigned depth;
    struct tc_member few[FEW_MEMBERS];
};

/* Into the value of stack[slot]; the stack may move meanwhile. */
static bool scan_value(struct scanner *s, size_t slot);

static inline void skip_space(struct tc_text *t)
{
    if (t->p < t->end && (unsigned char)*t->p > ' ')
        return; /* nearly always */
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\r' || *t->p == '\n'))
        t->p++;
}

static inline bool skip_char(struct tc_text *t, char c)
{
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static void grow_stack(struct scanner *s)
{
    struct tc_member *more = tc_malloc(2 * s->cap * sizeof(*more));

    memcpy(more, s->stack, s->n * sizeof(*more));
    if (s->stack != s->few)
        tc_free(s->stack);
    s->stack = more;
    s->cap *= 2;
}

static inline size_t push(struct scanner *s)
{
    if (s->n == s->cap)
        grow_stack(s);
    return s->n++;
}

static inline void put(struct scanner *s, size_t slot, enum tc_value_kind kind, uint32_t n)
{
    s->stack[slot].value.kind = kind;
    s->stack[slot].value.n = n;
}

static void close_array(struct scanner *s, size_t first, size_t slot)
{
    size_t n = s->n - first;
    struct tc_value *items = n ? tc_arena_alloc(s->arena, n * sizeof(*items)) : NULL;

    for (size_t i = 0; i < n; i++)
        items[i] = s->stack[first + i].value;
    s->n = first;
    put(s, slot, TC_VALUE_ARRAY, (uint32_t)n);
    s->stack[slot].value.items = items;
}

static void close_object(struct scanner *s, size_t first, size_t slot)
{
    size_t n = s->n - first;
    const struct tc_member *members = NULL;

    if (n)
        members = tc_arena_copy(s->arena, s->stack + first, n * sizeof(*members));
    s->n = first;
    put(s, slot, TC_VALUE_OBJECT, (uint32_t)n);
    s->stack[slot].value.members = members;
}

static bool scan_array(struct scanner *s, size_t slot)
{
    struct tc_text *t = &s->text;
    size_t first = s->n;

    t->p++;
    skip_space(t);
    if (skip_char(t, ']')) {
        close_array(s, first, slot);
        return true;
    }
    do {
        if (!scan_value(s, push(s)))
            return false;
        skip_space(t);
    } while (skip_char(t, ','));
    if (!skip_char(t, ']'))
        return tc_text_fail(t, "',' or ']'");
    close_array(s, first, slot);
    return true;
}

static bool scan_member(struct scanner *s)
{
    struct tc_text *t = &s->text;
    size_t slot = push(s);

    skip_space(t);
    if (!skip_char(t, '"'))
        return tc_text_fail(t, "a key in quotes");
    if (!tc_text_string(t, s->arena, &s->stack[slot].key))
        return false;
    skip_space(t);
    if (!skip_char(t, ':'))
        return tc_text_fail(t, "':'");
    if (!scan_value(s, slot))
        return false;
    skip_space(t);
    return true;
}

static bool scan_object(struct scanner *s, size_t slot)
{
    struct tc_text *t = &s->text;
    size_t first = s->n;

    t->p++;
    skip_space(t);
    if (skip_char(t, '}')) {
        close_object(s, first, slot);
        return true;
    }
    do {
        if (!scan_member(s))
            return false;
    } while (skip_char(t, ','));
    if (!skip_char(t, '}'))
        return tc_text_fail(t, "',' or '}'");
    close_object(s, first, slot);
    return true;
}

static bool scan_container(struct scanner *s, size_t slot)
{
    bool ok;

    if (s->depth == TC_SCAN_MAX_DEPTH)
        return tc_text_fail(&s->text, "at most " TC_TEXT_OF(TC_SCAN_MAX_DEPTH) " levels");
    s->depth++;
    ok = *s->text.p == '[' ? scan_array(s, slot) : scan_object(s, slot);
    s->depth--;
    return ok;
}

static bool scan_word(struct scanner *s, const char *word, struct tc_value value, size_t slot)
{
    size_t size = strlen(word);

    if ((size_t)(s->text.end - s->text.p) < size || memcmp(s->text.p, word, size) != 0)
        return tc_text_fail(&s->text, "a value");
    s->text.p += size;
    s->stack[slot].value = value;
    return true;
}

static struct tc_value bool_value(bool b)
{
    return (struct tc_value){.kind = TC_VALUE_BOOL, .boolean = b};
}

static struct tc_value float_value(double number)
{
    return (struct tc_value){.kind = TC_VALUE_FLOAT, .number = number};
}

static bool scan_string(struct scanner *s, size_t slot)
{
    struct tc_str str;

    s->text.p++;
    if (!tc_text_string(&s->text, s->arena, &str))
        return false;
    put(s, slot, TC_VALUE_STR, str.size);
    s->stack[slot].value.text = str.text;
    return true;
}

static bool scan_minus(struct scanner *s, size_t slot)
{
    if (s->text.end - s->text.p > 1 && s->text.p[1] == 'I')
        return scan_word(s, "-Infinity", float_value(-INFINITY), slot);
    return tc_text_number(&s->text, &s->stack[slot].value);
}

static bool scan_value(struct scanner *s, size_t slot)
{
    skip_space(&s->text);
    if (s->text.p == s->text.end)
        return tc_text_fail(&s->text, "a value");
    switch (*s->text.p) {
    case '"':
        return scan_string(s, slot);
    case '{':
    case '[':
        return scan_container(s, slot);
    case 't':
        return scan_word(s, "true", bool_value(true), slot);
    case 'f':
        return scan_word(s, "false", bool_value(false), slot);
    case 'n':
        return scan_word(s, "null", (struct tc_value){.kind = TC_VALUE_NULL}, slot);
    case 'N':
        return scan_word(s, "NaN", float_value(NAN), slot);
    case 'I':
        return scan_word(s, "Infinity", float_value(INFINITY), slot);
    case '-':
        return scan_minus(s, slot);
    default:
        return tc_text_number(&s->text, &s->stack[slot].value);
    }
}

enum tc_status tc_scan(const char *line, size_t size, struct tc_arena *arena, struct tc_value *out,
                       struct tc_error *err)
{
    struct scanner s; /* not cleared: few is 2 KiB */
    bool ok;

    if (size > UINT32_MAX)
        return tc_error_set(err, TC_E_FORMAT, "a line of %zu bytes is too long", size);
    s.text = (struct tc_text){line, line, line + size, err};
    s.arena = arena;
    s.stack = s.few;
    s.n = 1;
    s.cap = FEW_MEMBERS;
    s.depth = 0;
    ok = scan_value(&s, 0);
    skip_space(&s.text);
    if (ok && s.text.p != s.text.end)
        ok = tc_text_fail(&s.text, "the end of the line");
    *out = s.stack[0].value;
    if (s.stack != s.few)
        tc_free(s.stack);
    return ok ? TC_OK : TC_E_FORMAT;
}
