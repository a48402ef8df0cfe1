/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covered_size.c - whether the indices that a call is given cover another operand
 *
 * Edges of a graph name its nodes, segments the rows they are summed into, positions the elements
 * of a sequence: the largest index is that of the last. Graphs that are put into one batch without
 * an offset all name the nodes of the first.
 */
#include "fact/covered_size.h"

#include "base/hash.h"
#include "fact/occasion.h"
#include "fact/operand_facts.h"
#include "fact/table.h"

/* A smaller index may be the last by chance, as a class. */
#define MIN_LAST 8
/* And so is that of a size that never changes, as of a vocabulary: in one run there were so many.
 */
#define MIN_SIZES 4

/* Adds ".shape[0]" of the first of its sizes that ends with this index. */
static bool print_size(const struct tc_value *tensor, int64_t last, struct tc_str name,
                       struct tc_strbuf *out)
{
    const struct tc_value *shape = tc_value_get(tensor, "shape");

    for (uint32_t d = 0; shape && shape->kind == TC_VALUE_ARRAY && d < shape->n; d++)
        if (tc_value_int(&shape->items[d], 0) - 1 == last) {
            tc_strbuf_addf(out, "%.*s.shape[%u]", (int)name.size, name.text, d);
            return true;
        }
    return false;
}

static int64_t last_of(const struct tc_value *tensor)
{
    return tc_value_int(tc_value_get(tc_value_get(tensor, "summary"), "max"), -1);
}

/* Of an operand, as "h.shape[0]"; nothing where there is no such size. */
static void print_covered(const struct tc_call *call, uint32_t member, struct tc_strbuf *out)
{
    const int64_t last = last_of(&call->args->members[member].value);

    if (call->self && print_size(call->self, last, (struct tc_str){"self", 4}, out))
        return;
    for (uint32_t i = 0; i < call->args->n; i++)
        if (i != member &&
            print_size(&call->args->members[i].value, last, call->args->members[i].key, out))
            return;
}

/* Is the largest element of that operand one to ask of? */
static bool is_asked(const struct tc_call *call, uint32_t member)
{
    return last_of(&call->args->members[member].value) >= MIN_LAST;
}

static uint32_t n_operands(const struct tc_call *call)
{
    return call->args && call->args->kind == TC_VALUE_OBJECT ? call->args->n : 0;
}

static void print_path(const struct tc_call *call, uint32_t member, struct tc_strbuf *out)
{
    const struct tc_str name = call->args->members[member].key;

    tc_strbuf_addf(out, "args.%.*s", (int)name.size, name.text);
}

void tc_fact_pack_covered(struct tc_fact_pack *pack, const struct tc_call *call)
{
    for (uint32_t i = 0; i < n_operands(call); i++) {
        tc_strbuf_addc(&pack->bytes, is_asked(call, i) ? 'c' : '-');
        if (is_asked(call, i))
            print_covered(call, i, &pack->bytes);
    }
}

void tc_fact_read_covered(struct tc_fact_reader *reader, const struct tc_call *call)
{
    struct tc_strbuf path = TC_STRBUF_INIT, size = TC_STRBUF_INIT;

    for (uint32_t i = 0; i < n_operands(call); i++) {
        if (!is_asked(call, i))
            continue;
        tc_strbuf_reset(&path);
        tc_strbuf_reset(&size);
        print_path(call, i, &path);
        print_covered(call, i, &size);
        tc_fact_add_text(reader, path.text, TC_ATTRIBUTE_COVERS,
                         (struct tc_str){size.text ? size.text : "", (uint32_t)size.size});
    }
    tc_strbuf_release(&path);
    tc_strbuf_release(&size);
}

void tc_fact_meet_covered(struct tc_facts *facts, struct tc_fact_watch *w, uint32_t subject,
                          const struct tc_call *call)
{
    struct tc_strbuf path = TC_STRBUF_INIT;
    bool is_new;

    for (uint32_t i = 0; i < n_operands(call); i++) {
        if (!is_asked(call, i))
            continue;
        tc_strbuf_reset(&path);
        print_path(call, i, &path);
        const tc_sym sym = tc_strtab_intern(facts->table.symbols, path.text, path.size);
        uint64_t *place = tc_map_at(&w->covered_places, tc_hash_mix(subject, sym, 0), &is_new);
        if (is_new) {
            *place = w->covered.n;
            tc_vec_push(&w->covered, ((struct tc_fact_covered){subject, sym, 0}));
        }
        w->covered.items[*place].lasts |= UINT64_C(1)
                                          << (last_of(&call->args->members[i].value) & 63);
    }
    tc_strbuf_release(&path);
}

void tc_fact_doubt_covered(struct tc_facts *facts, struct tc_fact_watch *w)
{
    for (size_t i = 0; i < w->covered.n; i++) {
        const struct tc_fact_covered *c = &w->covered.items[i];
        const struct tc_subject subject = tc_fact_table_subject_at(&facts->table, c->subject);

        if (__builtin_popcountll(c->lasts) >= MIN_SIZES)
            continue;
        tc_fact_say(facts, &subject, c->path, TC_ATTRIBUTE_COVERS, "\"\"");
        tc_fact_settle_said(facts, 1, 0, NULL);
    }
}
