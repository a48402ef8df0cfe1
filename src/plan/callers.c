/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callers.c - which call of a helper is meant, and what reads a value next
 *
 * The line of an operator may be that of a function that the script calls in many places. Then it
 * tells little, and the lines that called it are told, as many as make it one of its kind. Of a
 * backward that a script has written, the line that applied the function is told. What is missing
 * after a line is missing before the next one that reads its value.
 */
#include "plan/program.h"

#include <string.h>

#define MOST 2 /* callers that are told */

/* Has the program another call of the same line, which the first n bytes of the callers do not tell
 * apart? */
static bool is_ambiguous(const struct tc_plan_program *p, const struct tc_plan_op *op, size_t n)
{
    for (size_t i = 0; i < p->ops.n; i++) {
        const struct tc_plan_op *other = &p->ops.items[i];
        if (!strcmp(other->src, op->src) && strcmp(other->via, op->via) != 0 &&
            !strncmp(other->via, op->via, n))
            return true;
    }
    return false;
}

/* Where the line ends that begins at n. */
static size_t end_of_line(const char *via, size_t n)
{
    const char *next = strstr(via + n, TC_PLAN_CALLED_FROM),
               *back = strstr(via + n, TC_PLAN_BACKWARD_OF);

    next = back && (!next || back < next) ? back : next;
    return next ? (size_t)(next - via) : strlen(via);
}

/* A line of another file than the script: the call that the script has of it. */
static size_t call_of_script(const struct tc_plan_op *op)
{
    size_t n = 0, file = strcspn(op->src, ":");

    while (op->via[n]) {
        size_t at = n + (n ? strlen(TC_PLAN_CALLED_FROM) : 0);
        n = end_of_line(op->via, at);
        if (strncmp(op->via + at, op->src, file + 1) != 0)
            return n;
    }
    return 0;
}

/* A line that one device reaches by other calls alone is told with its own, too. */
static size_t callers_told(const struct tc_plan_program *p, const struct tc_plan_program *single,
                           const struct tc_plan_op *op)
{
    const char *back = strstr(op->via, TC_PLAN_BACKWARD_OF);
    size_t n = 0;

    if (back)
        n = end_of_line(op->via, (size_t)(back - op->via) + strlen(TC_PLAN_BACKWARD_OF));
    for (unsigned k = 0;
         k < MOST && op->via[n] && (is_ambiguous(p, op, n) || is_ambiguous(single, op, n)); k++)
        n = end_of_line(op->via, n + (n ? strlen(TC_PLAN_CALLED_FROM) : 0));
    return n || back ? n : call_of_script(op);
}

/* Is a line of the callers that of an operator, or of a caller, of the program? */
static bool has_line(const struct tc_plan_program *p, const char *line, size_t size)
{
    for (size_t i = 0; i < p->ops.n; i++) {
        const char *texts[] = {p->ops.items[i].src, p->ops.items[i].via};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            for (const char *at = texts[k]; (at = strstr(at, line)) != NULL; at += size)
                if (at[size] < '0' || at[size] > '9')
                    return true;
    }
    return false;
}

/* The outermost caller, behind the first n bytes, that one device never comes by: where the two
 * programs part. In a buffer; "" if there is none. */
static const char *parting(const struct tc_plan_program *single, const struct tc_plan_op *op,
                           size_t n, char *line, size_t size)
{
    *line = '\0';
    if (!*op->via || *op->via == ',' || has_line(single, op->src, strcspn(op->src, ",")))
        return line;
    for (size_t at = 0; op->via[at];) {
        size_t end = end_of_line(op->via, at + (at ? strlen(TC_PLAN_CALLED_FROM) : 0));
        const char *text = op->via + at + (at ? strlen(TC_PLAN_CALLED_FROM) : 0);
        size_t length = (size_t)(op->via + end - text);
        char copy[256];
        if (length >= sizeof(copy) || length >= size || strstr(text, TC_PLAN_BACKWARD_OF) == text)
            break;
        memcpy(copy, text, length);
        copy[length] = '\0';
        if (has_line(single, copy, length))
            break;
        if (at >= n)
            memcpy(line, copy, length + 1);
        at = end;
    }
    return line;
}

void tc_plan_add_callers(const struct tc_plan_program *p, const struct tc_plan_program *single,
                         const struct tc_plan_op *op, struct tc_strbuf *out)
{
    size_t n = callers_told(p, single, op);

    char line[256];

    if (n)
        tc_strbuf_addf(out, "%s%.*s", *op->via == ',' ? "" : ", called at ", (int)n, op->via);
    if (*parting(single, op, n, line, sizeof(line)))
        tc_strbuf_addf(out, ", by way of %s", line);
}

size_t tc_plan_next_reader(const struct tc_plan_program *p, size_t op, uint32_t storage)
{
    for (size_t i = op + 1; i < p->ops.n; i++)
        if (tc_plan_reads(&p->ops.items[i], storage))
            return i;
    return p->ops.n;
}

size_t tc_plan_next_line(const struct tc_plan_program *p, size_t op, uint32_t out)
{
    size_t next = tc_plan_next_reader(p, op, p->ops.items[op].outs[out]->storage);

    while (next < p->ops.n && !strcmp(p->ops.items[next].src, p->ops.items[op].src) &&
           p->ops.items[next].n_outs && p->ops.items[next].outs[0])
        next = tc_plan_next_reader(p, next, p->ops.items[next].outs[0]->storage);
    return next;
}
