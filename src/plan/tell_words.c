/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tell_words.c - words that all findings share
 *
 * An operator with its line, the operands of one with their layouts, the lines that chose what it
 * reads. Of several lines those are told that one device does not have.
 */
#include "plan/tell.h"

#include <string.h>

#define MAX_REARRANGED 4 /* operators back to a constant */

void tc_tell_op(struct tc_strbuf *out, const struct tc_plan_op *op)
{
    struct tc_str line = tc_plan_line_of(op);

    tc_strbuf_addf(out, "%.*s", tc_plan_short_name(op), op->name);
    if (line.size)
        tc_strbuf_addf(out, " (%.*s)", (int)line.size, line.text);
}

const char *tc_tell_operands(struct tc_story *s, uint32_t op)
{
    struct tc_strbuf text = TC_STRBUF_INIT;

    for (uint32_t k = 0; k < s->nodes[op].n_deps; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        tc_strbuf_adds(&text, "operand from ");
        tc_tell_op(&text, &s->program->ops.items[dep]);
        tc_strbuf_adds(&text, ": ");
        tc_relate_describe(tc_story_relation(s, dep), &s->grid, &text);
        tc_strbuf_addc(&text, '\n');
    }
    return tc_plan_keep(s->verdict, &text);
}

struct tc_plan_finding tc_tell_new(struct tc_story *s, const struct tc_plan_judged *judged,
                                   uint32_t op)
{
    struct tc_plan_finding f = {
        .hint = "", .src = "", .via = "", .op = "", .mod = "", .axis = "", .details = ""};

    f.name = tc_strtab_text(s->single->names, judged->name);
    f.ranks = judged->ranks.items;
    f.n_ranks = (uint32_t)judged->ranks.n;
    if (op != TC_NO_OP) {
        const struct tc_plan_op *o = &s->program->ops.items[op];
        f.src = o->src;
        f.via = o->via;
        f.mod = o->mod;
        f.op = tc_arena_text(&s->verdict->arena, o->name, (size_t)tc_plan_short_name(o));
    }
    return f;
}

/* With the call of a helper that is meant. */
void tc_tell_keep(struct tc_story *s, struct tc_plan_finding *f, struct tc_strbuf *text)
{
    struct tc_plan_op op = {.src = f->src, .via = f->via};

    tc_plan_add_callers(s->program, s->single->ranks[0].program, &op, text);
    f->text = tc_plan_keep(s->verdict, text);
}

static bool is_rearranged(const struct tc_story *s, const struct tc_related *r)
{
    bool found = r->is_mixed || r->is_joined;

    for (unsigned a = 0; a < s->grid.n_axes && r->is_found; a++)
        found = found || r->axes[a].kind == TC_PIECES;
    return found;
}

/* Of lines with ", " between them: is this one among them? */
static bool is_among(const char *lines, const char *line, size_t size)
{
    for (const char *at = lines; *at; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ",");
        if (n == size && !memcmp(at, line, n))
            return true;
        at += n;
    }
    return false;
}

static void add_lines(struct tc_strbuf *out, const char *lines)
{
    for (const char *at = lines; *at; at += strspn(at, ", ")) {
        size_t size = strcspn(at, ",");
        if (!is_among(out->size ? out->text : "", at, size))
            tc_strbuf_addf(out, "%s%.*s", out->size ? ", " : "", (int)size, at);
        at += size;
    }
}

/* The lines that made the constants and views that an operator reads, and those of an operand whose
 * elements are in another order than on one device; if there are none, those of an operand of the
 * same line. */
static void add_made(struct tc_story *s, uint32_t op, unsigned depth, struct tc_strbuf *out)
{
    const struct tc_plan_op *ops = s->program->ops.items;

    add_lines(out, ops[op].made);
    for (uint32_t k = 0; k < s->nodes[op].n_deps && depth; k++) {
        uint32_t dep = s->nodes[op].deps[k];
        bool is_of_line = !out->size && !strcmp(ops[dep].src, ops[op].src);
        if (dep < op && (is_of_line || is_rearranged(s, tc_story_relation(s, dep))))
            add_made(s, dep, depth - 1, out);
    }
}

/* Of lines with ", " between them: does the line that begins there stand in the plan of one device?
 */
bool tc_tell_is_single_line(const struct tc_story *s, const char *line, size_t size)
{
    const struct tc_plan_program *single = s->single->ranks[0].program;

    for (size_t i = 0; i < single->ops.n; i++) {
        const struct tc_plan_op *op = &single->ops.items[i];
        const char *texts[] = {op->src, op->via, op->made};
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            for (const char *at = texts[k]; (at = strstr(at, line)) != NULL; at += size)
                if (at[size] < '0' || at[size] > '9')
                    return true;
    }
    return false;
}

/* Of the lines those that one device does not have; all if it has each of them. */
const char *tc_tell_own_lines(struct tc_story *s, const char *lines)
{
    struct tc_strbuf own = TC_STRBUF_INIT;

    for (const char *at = lines; *at;) {
        size_t size = strcspn(at, ",");
        const char *line = tc_arena_text(&s->arena, at, size);
        if (!tc_tell_is_single_line(s, line, size))
            tc_strbuf_addf(&own, "%s%s", own.size ? ", " : "", line);
        at += size;
        at += strspn(at, ", ");
    }
    const char *kept = own.size ? tc_plan_keep(s->verdict, &own) : lines;
    tc_strbuf_release(&own);
    return kept;
}

void tc_tell_made_of(struct tc_story *s, const uint32_t *ops, uint32_t n, struct tc_strbuf *text)
{
    struct tc_strbuf made = TC_STRBUF_INIT;

    for (uint32_t k = 0; k < n; k++)
        add_made(s, ops[k], MAX_REARRANGED, &made);
    if (made.size)
        tc_strbuf_addf(text, "; it reads what was chosen at %s", tc_tell_own_lines(s, made.text));
    tc_strbuf_release(&made);
}

void tc_tell_made(struct tc_story *s, uint32_t op, struct tc_strbuf *text)
{
    tc_tell_made_of(s, &op, 1, text);
}
