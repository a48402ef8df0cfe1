/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands.c - each pair of a call's tensors: equal, different, sharing memory
 *
 * At most TC_MAX_OPERANDS, so the pairs are few and lie on the stack. Two that lie on one device
 * are asked of it, in holes of the record; two that lie here are compared up to the first
 * difference. Where nothing was comparable nothing is told, which is not the same as an empty
 * list.
 */
#include "collect/agent/say/operands.h"

#include <string.h>

#include "collect/agent/look/look.h"
#include "collect/agent/say/anew.h"
#include "collect/agent/say/line.h"

#define EQUAL_KEY ",\"equal\":["
#define ALIAS_KEY ",\"alias\":["

enum relation {
    UNKNOWN, /* not comparable */
    DIFFERENT,
    EQUAL,
    ASKED, /* of the device on which both lie */
    ALIAS,
};

void tc_operands_put(struct tc_operands *operands, PyObject *tensor, const struct tc_tensor *as,
                     const char *name, size_t n_name)
{
    struct tc_call_operand *operand = &operands->items[operands->n];
    char *const kept = operands->names + operands->n_names;

    if (operands->n == TC_MAX_OPERANDS || as->n == 0)
        return;
    operands->n++;
    operand->tensor = Py_NewRef(tensor);
    operand->as = *as;
    operand->name = memcpy(kept, name, n_name);
    kept[n_name] = '\0';
    operands->n_names += n_name + 1;
}

static bool is_like(const struct tc_tensor *a, const struct tc_tensor *b)
{
    return a->dtype == b->dtype && a->n_dims == b->n_dims &&
           memcmp(a->shape, b->shape, a->n_dims * sizeof(a->shape[0])) == 0;
}

/* Where elements lie apart, those of two tensors may alternate: what overlaps need not be shared.
 */
static bool is_shared(const struct tc_tensor *a, const struct tc_tensor *b)
{
    const char *p = a->address, *q = b->address;

    if (!p || !q || strcmp(a->device, b->device) != 0)
        return false;
    if (p == q)
        return true;
    return a->is_contiguous && b->is_contiguous && p < q + b->n * b->dtype->item_size &&
           q < p + a->n * a->dtype->item_size;
}

static bool is_asked(const struct tc_call_operand *a, const struct tc_call_operand *b)
{
    return strcmp(a->as.device, b->as.device) == 0 &&
           tc_look_is_asked(a->tensor, &a->as, TC_REACH_PLACE) &&
           tc_look_is_asked(b->tensor, &b->as, TC_REACH_PLACE);
}

static enum relation compare(const struct tc_call_operand *a, const struct tc_call_operand *b)
{
    struct tc_memory p, q;
    enum relation found = UNKNOWN;

    if (a->tensor == b->tensor || is_shared(&a->as, &b->as))
        return ALIAS;
    if (!is_like(&a->as, &b->as) || !a->as.is_contiguous || !b->as.is_contiguous ||
        a->as.n > TC_MAX_COMPARED)
        return UNKNOWN;
    if (tc_look_is_elsewhere(&a->as) || tc_look_is_elsewhere(&b->as))
        return is_asked(a, b) ? ASKED : UNKNOWN;
    tc_look_memory(a->tensor, &a->as, TC_REACH_PLACE, &p);
    tc_look_memory(b->tensor, &b->as, TC_REACH_PLACE, &q);
    if (p.data && q.data)
        found = memcmp(p.data, q.data, p.size) == 0 ? EQUAL : DIFFERENT;
    tc_memory_release(&p);
    tc_memory_release(&q);
    return found;
}

static void add_pair(struct tc_strbuf *out, const struct tc_call_operand *a,
                     const struct tc_call_operand *b)
{
    tc_strbuf_addc(out, '[');
    tc_strbuf_add_json(out, a->name, strlen(a->name));
    tc_strbuf_addc(out, ',');
    tc_strbuf_add_json(out, b->name, strlen(b->name));
    tc_strbuf_addc(out, ']');
}

/* The pairs of one relation; an empty list is told where may_be_empty. */
static void add_pairs(struct tc_strbuf *out, const char *key, const struct tc_operands *operands,
                      const unsigned char *found, enum relation wanted, bool may_be_empty)
{
    size_t n = 0, at = 0, start = out->size;

    tc_strbuf_adds(out, key);
    for (size_t i = 0; i < operands->n; i++)
        for (size_t k = i + 1; k < operands->n; k++) {
            if (found[at++] != wanted)
                continue;
            if (n++)
                tc_strbuf_addc(out, ',');
            add_pair(out, &operands->items[i], &operands->items[k]);
        }
    if (n || may_be_empty)
        tc_strbuf_addc(out, ']');
    else
        out->size = start;
}

/* The same of pairs that are equal, where a device is asked. */
static void ask_pairs(struct tc_strbuf *out, const struct tc_operands *operands,
                      const unsigned char *found)
{
    size_t at = 0;

    tc_line_open_list(EQUAL_KEY);
    for (size_t i = 0; i < operands->n; i++)
        for (size_t k = i + 1; k < operands->n; k++, at++) {
            if (found[at] != EQUAL && found[at] != ASKED)
                continue;
            add_pair(out, &operands->items[i], &operands->items[k]);
            tc_line_end_item(operands->items[i].tensor,
                             found[at] == ASKED ? operands->items[k].tensor : NULL);
        }
    tc_line_close_list();
}

/* What was told last of operands of these names, of which the same was found. */
#define N_TOLD_PAIRS   64
#define MAX_KEY        112
#define MAX_PAIRS_TEXT 128
#define MAX_FOUND      16

struct told_pairs {
    size_t n_names, n_found, size; /* n_found 0: none yet */
    unsigned char found[MAX_FOUND];
    char names[MAX_KEY], text[MAX_PAIRS_TEXT];
};

static struct told_pairs *told_of(const struct tc_operands *operands, const unsigned char *found,
                                  size_t n_found)
{
    static struct told_pairs all[N_TOLD_PAIRS];
    size_t hash = operands->n_names;

    for (size_t i = 0; i < n_found; i++)
        hash = hash * 5 + found[i];
    return &all[(hash ^ hash >> 6) % N_TOLD_PAIRS];
}

static bool is_told(const struct told_pairs *told, const struct tc_operands *operands,
                    const unsigned char *found, size_t n_found)
{
    return told->n_found == n_found && told->n_names == operands->n_names &&
           memcmp(told->found, found, n_found) == 0 &&
           memcmp(told->names, operands->names, operands->n_names) == 0;
}

static void keep_told(struct told_pairs *told, const struct tc_operands *operands,
                      const unsigned char *found, size_t n_found, const char *text, size_t size)
{
    if (n_found > MAX_FOUND || operands->n_names > MAX_KEY || size > MAX_PAIRS_TEXT ||
        tc_anew_always())
        return;
    told->n_found = n_found;
    told->n_names = operands->n_names;
    told->size = size;
    memcpy(told->found, found, n_found);
    memcpy(told->names, operands->names, operands->n_names);
    memcpy(told->text, text, size);
}

static bool has(const unsigned char *found, size_t n, enum relation wanted)
{
    return memchr(found, (int)wanted, n) != NULL;
}

/* Of operands that no device is asked of. */
static void add_found(struct tc_strbuf *out, const struct tc_operands *operands,
                      const unsigned char *found, size_t n)
{
    struct told_pairs *told = told_of(operands, found, n);
    const size_t at = out->size;

    if (is_told(told, operands, found, n)) {
        tc_strbuf_add(out, told->text, told->size);
        return;
    }
    if (has(found, n, DIFFERENT) || has(found, n, EQUAL))
        add_pairs(out, EQUAL_KEY, operands, found, EQUAL, true);
    add_pairs(out, ALIAS_KEY, operands, found, ALIAS, false);
    keep_told(told, operands, found, n, out->text + at, out->size - at);
}

void tc_operands_add(struct tc_strbuf *out, struct tc_operands *operands)
{
    unsigned char found[TC_MAX_OPERANDS * (TC_MAX_OPERANDS - 1) / 2];
    size_t n = 0;
    bool has_questions = false;

    for (size_t i = 0; i < operands->n; i++)
        for (size_t k = i + 1; k < operands->n; k++) {
            found[n] = (unsigned char)compare(&operands->items[i], &operands->items[k]);
            has_questions |= found[n++] == ASKED;
        }
    if (has_questions) {
        ask_pairs(out, operands, found);
        add_pairs(out, ALIAS_KEY, operands, found, ALIAS, false);
    } else if (n) {
        add_found(out, operands, found, n);
    }
    while (operands->n)
        Py_DECREF(operands->items[--operands->n].tensor);
}
