/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_pack.c - a value as bytes of a pack
 *
 * The walk goes as deep, and along lists as far, as that of operand_facts.c, or classes of calls
 * would mix. The rows of tensors' members stand at the top; what has no row is reported as it is.
 */
#include "fact/operand_pack.h"

#include "fact/tensor_content.h"
#include "relation/form.h"
#include "relation/support.h"

/* Scalars that a trace tells of a tensor, each an attribute. One more is one more row. */
static const struct {
    struct tc_str key;
    enum tc_attribute attribute;
} tensor_rows[] = {
    {TC_FACT_NAME("tensor"),        TC_ATTRIBUTE_TENSOR       },
    {TC_FACT_NAME("array"),         TC_ATTRIBUTE_TENSOR       },
    {TC_FACT_NAME("dtype"),         TC_ATTRIBUTE_DTYPE        },
    {TC_FACT_NAME("requires_grad"), TC_ATTRIBUTE_REQUIRES_GRAD},
};

bool tc_fact_is_tensor(const struct tc_value *v)
{
    return v->kind == TC_VALUE_OBJECT && v->n && v->members[0].value.kind == TC_VALUE_STR &&
           (tc_str_is(v->members[0].key, "tensor") || tc_str_is(v->members[0].key, "array"));
}

bool tc_fact_is_object(const struct tc_value *v)
{
    return v->kind == TC_VALUE_OBJECT && v->n && v->members[0].value.kind == TC_VALUE_STR &&
           tc_str_is(v->members[0].key, "object");
}

enum tc_attribute tc_fact_tensor_attribute(struct tc_str key)
{
    for (size_t i = 0; i < sizeof(tensor_rows) / sizeof(*tensor_rows); i++)
        if (tc_fact_is_name(key, tensor_rows[i].key))
            return tensor_rows[i].attribute;
    return TC_N_ATTRIBUTES;
}

static void pack(struct tc_fact_pack *p, char tag, const void *data, size_t size)
{
    tc_strbuf_addc(&p->bytes, tag);
    tc_strbuf_add(&p->bytes, data, size);
}

static void pack_text(struct tc_fact_pack *p, char tag, struct tc_str text)
{
    pack(p, tag, &text.size, sizeof(text.size));
    tc_strbuf_add(&p->bytes, text.text, text.size);
}

static void pack_number(struct tc_fact_pack *p, const struct tc_value *v)
{
    const int64_t n = tc_value_int(v, 0);

    if (p->has_content && v)
        pack(p, 'i', &n, sizeof(n));
}

static void pack_content(struct tc_fact_pack *p, const struct tc_fact_tensor *t)
{
    for (size_t i = 0; p->has_content && i < TC_N_CONTENT; i++) {
        tc_strbuf_addc(&p->bytes, 'c');
        (void)tc_fact_content(i, t, false, &p->bytes);
    }
    pack_number(p, tc_value_get(t->summary, "min"));
    pack_number(p, tc_value_get(t->summary, "max"));
}

static void keep_tensor(struct tc_fact_pack *p, const struct tc_fact_tensor *t)
{
    const size_t i = p->n_tensors;

    if (i == TC_FACT_TENSORS)
        return;
    p->n_tensors++;
    p->n_elements[i] = t->shape && t->shape->kind == TC_VALUE_ARRAY ? t->n_elements : 1;
    p->is_computed[i] = tc_value_is_true(t->requires_grad);
    p->is_counted[i] = t->summary != NULL;
    p->is_choice[i] = false;
    p->tensors[i] = tc_value_int(t->id, -1);
}

static void pack_tensor(struct tc_fact_pack *p, const struct tc_value *v, unsigned depth)
{
    struct tc_fact_tensor t;

    tc_fact_tensor(&t, v);
    pack(p, 'T', NULL, 0);
    pack_content(p, &t);
    if (t.id)
        keep_tensor(p, &t);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct tc_value *value = &v->members[i].value;
        const bool is_shape = value == t.shape, is_name = tc_str_is(v->members[i].key, "name");
        if (!is_shape && !is_name && tc_fact_tensor_attribute(v->members[i].key) == TC_N_ATTRIBUTES)
            continue;
        tc_strbuf_addc(&p->bytes, is_shape ? 's' : v->members[i].key.text[0]);
        tc_fact_pack_value(p, value, depth + 1);
    }
}

static void pack_members(struct tc_fact_pack *p, const struct tc_value *v, unsigned depth)
{
    bool has_id = tc_fact_is_object(v);

    pack(p, 'O', &v->n, sizeof(v->n));
    for (uint32_t i = 0; i < v->n; i++) {
        if (has_id && tc_str_is(v->members[i].key, "id"))
            continue;
        pack_text(p, 'k', v->members[i].key);
        tc_fact_pack_value(p, &v->members[i].value, depth + 1);
    }
}

int64_t tc_fact_left_out(const struct tc_value *list)
{
    const struct tc_value *last = list->n ? &list->items[list->n - 1] : NULL;

    return last && last->kind == TC_VALUE_OBJECT && last->n == 1
               ? tc_value_int(tc_value_get(last, "more"), -1)
               : -1;
}

static void pack_array(struct tc_fact_pack *p, const struct tc_value *v, unsigned depth)
{
    pack(p, 'A', &v->n, sizeof(v->n));
    for (uint32_t i = 0; i < v->n && v->n <= TC_FACT_LIST; i++)
        tc_fact_pack_value(p, &v->items[i], depth + 1);
    if (v->n > TC_FACT_LIST) {
        const int64_t more = tc_fact_left_out(v);
        pack(p, tc_fact_is_tensor(&v->items[0]) ? 'M' : 'm', &more, sizeof(more));
    }
}

void tc_fact_pack_value(struct tc_fact_pack *p, const struct tc_value *v, unsigned depth)
{
    if (!v || depth > TC_FACT_DEPTH) {
        pack(p, '-', NULL, 0);
        return;
    }
    switch (v->kind) {
    case TC_VALUE_NULL:
        pack(p, 'n', NULL, 0);
        break;
    case TC_VALUE_BOOL:
        pack(p, v->boolean ? 't' : 'f', NULL, 0);
        break;
    case TC_VALUE_INT:
        pack(p, 'i', &v->integer, sizeof(v->integer));
        break;
    case TC_VALUE_FLOAT:
        pack(p, 'd', &v->number, sizeof(v->number));
        break;
    case TC_VALUE_STR:
        pack_text(p, 'S', (struct tc_str){v->text, v->n});
        break;
    case TC_VALUE_ARRAY:
        pack_array(p, v, depth);
        break;
    case TC_VALUE_OBJECT:
        if (tc_fact_is_tensor(v))
            pack_tensor(p, v, depth);
        else
            pack_members(p, v, depth);
        break;
    }
}
