/*
 * scan.c - JSON text to a tree of values, in one pass
 *
 * The children of an open array or object are gathered on one stack shared by
 * all levels and copied to the arena when it closes, so that they lie side by
 * side there and nothing is scanned twice.
 */
#include "trace/scan.h"

#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "trace/scan_text.h"

#include "base/banned.h"

#define FEW_MEMBERS 64 /* a stack of this size covers nearly every trace line */

struct scanner {
    struct tc_text text;
    struct tc_arena *arena;
    struct tc_member *stack; /* few, or from the heap */
    size_t n, cap;
    unsigned depth;
    struct tc_member few[FEW_MEMBERS];
};

static bool scan_value(struct scanner *s, struct tc_value *out);

static inline void skip_space(struct tc_text *t)
{
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

static inline void push(struct scanner *s, struct tc_member member)
{
    if (s->n == s->cap)
        grow_stack(s);
    s->stack[s->n++] = member;
}

static void close_array(struct scanner *s, size_t first, struct tc_value *out)
{
    size_t n = s->n - first;
    struct tc_value *items = n ? tc_arena_alloc(s->arena, n * sizeof(*items)) : NULL;

    for (size_t i = 0; i < n; i++)
        items[i] = s->stack[first + i].value;
    s->n = first;
    *out = (struct tc_value){.kind = TC_VALUE_ARRAY, .n = (uint32_t)n, .items = items};
}

static void close_object(struct scanner *s, size_t first, struct tc_value *out)
{
    size_t n = s->n - first;
    const struct tc_member *members = NULL;

    if (n)
        members = tc_arena_copy(s->arena, s->stack + first, n * sizeof(*members));
    s->n = first;
    *out = (struct tc_value){.kind = TC_VALUE_OBJECT, .n = (uint32_t)n, .members = members};
}

static bool scan_array(struct scanner *s, struct tc_value *out)
{
    struct tc_text *t = &s->text;
    size_t first = s->n;

    t->p++;
    skip_space(t);
    if (skip_char(t, ']')) {
        close_array(s, first, out);
        return true;
    }
    do {
        struct tc_member item = {
            {NULL, 0},
            {.kind = TC_VALUE_NULL   }
        };

        if (!scan_value(s, &item.value))
            return false;
        push(s, item);
        skip_space(t);
    } while (skip_char(t, ','));
    if (!skip_char(t, ']'))
        return tc_text_fail(t, "',' or ']'");
    close_array(s, first, out);
    return true;
}

static bool scan_member(struct scanner *s)
{
    struct tc_text *t = &s->text;
    struct tc_member member;

    skip_space(t);
    if (!skip_char(t, '"'))
        return tc_text_fail(t, "a key in quotes");
    if (!tc_text_string(t, s->arena, &member.key))
        return false;
    skip_space(t);
    if (!skip_char(t, ':'))
        return tc_text_fail(t, "':'");
    if (!scan_value(s, &member.value))
        return false;
    push(s, member);
    skip_space(t);
    return true;
}

static bool scan_object(struct scanner *s, struct tc_value *out)
{
    struct tc_text *t = &s->text;
    size_t first = s->n;

    t->p++;
    skip_space(t);
    if (skip_char(t, '}')) {
        close_object(s, first, out);
        return true;
    }
    do {
        if (!scan_member(s))
            return false;
    } while (skip_char(t, ','));
    if (!skip_char(t, '}'))
        return tc_text_fail(t, "',' or '}'");
    close_object(s, first, out);
    return true;
}

static bool scan_container(struct scanner *s, struct tc_value *out)
{
    bool ok;

    if (s->depth == TC_SCAN_MAX_DEPTH)
        return tc_text_fail(&s->text, "at most " TC_TEXT_OF(TC_SCAN_MAX_DEPTH) " levels");
    s->depth++;
    ok = *s->text.p == '[' ? scan_array(s, out) : scan_object(s, out);
    s->depth--;
    return ok;
}

static bool scan_word(struct scanner *s, const char *word, struct tc_value value,
                      struct tc_value *out)
{
    size_t size = strlen(word);

    if ((size_t)(s->text.end - s->text.p) < size || memcmp(s->text.p, word, size) != 0)
        return tc_text_fail(&s->text, "a value");
    s->text.p += size;
    *out = value;
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

static bool scan_string(struct scanner *s, struct tc_value *out)
{
    struct tc_str str;

    s->text.p++;
    if (!tc_text_string(&s->text, s->arena, &str))
        return false;
    *out = (struct tc_value){.kind = TC_VALUE_STR, .n = str.size, .text = str.text};
    return true;
}

static bool scan_minus(struct scanner *s, struct tc_value *out)
{
    if (s->text.end - s->text.p > 1 && s->text.p[1] == 'I')
        return scan_word(s, "-Infinity", float_value(-INFINITY), out);
    return tc_text_number(&s->text, out);
}

static bool scan_value(struct scanner *s, struct tc_value *out)
{
    skip_space(&s->text);
    if (s->text.p == s->text.end)
        return tc_text_fail(&s->text, "a value");
    switch (*s->text.p) {
    case '"':
        return scan_string(s, out);
    case '{':
    case '[':
        return scan_container(s, out);
    case 't':
        return scan_word(s, "true", bool_value(true), out);
    case 'f':
        return scan_word(s, "false", bool_value(false), out);
    case 'n':
        return scan_word(s, "null", (struct tc_value){.kind = TC_VALUE_NULL}, out);
    case 'N':
        return scan_word(s, "NaN", float_value(NAN), out);
    case 'I':
        return scan_word(s, "Infinity", float_value(INFINITY), out);
    case '-':
        return scan_minus(s, out);
    default:
        return tc_text_number(&s->text, out);
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
    s.n = 0;
    s.cap = FEW_MEMBERS;
    s.depth = 0;
    ok = scan_value(&s, out);
    skip_space(&s.text);
    if (ok && s.text.p != s.text.end)
        ok = tc_text_fail(&s.text, "the end of the line");
    if (s.stack != s.few)
        tc_free(s.stack);
    return ok ? TC_OK : TC_E_FORMAT;
}
