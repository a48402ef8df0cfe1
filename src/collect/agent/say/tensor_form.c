/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_form.c - the last forms of tensors, by what torch keeps of them
 *
 * A line of the script mostly computes what it computed the last time, of the same shape, dtype and
 * flags at another address. Such a tensor is neither read nor written anew: where the words that
 * torch keeps of it are those of a tensor that was read, it is one of that form.
 */
#include "collect/agent/say/tensor_form.h"

#include "collect/agent/say/anew.h"

#define N_FORMS  64
#define MAX_TEXT 128

struct form {
    size_t size; /* of the text; 0: none yet */
    struct tc_layout_print print;
    struct tc_tensor as;
    char text[MAX_TEXT];
};

void tc_form_add_shape(struct tc_strbuf *out, const struct tc_tensor *as)
{
    tc_strbuf_addc(out, '[');
    for (size_t i = 0; i < as->n_dims; i++) {
        if (i)
            tc_strbuf_addc(out, ',');
        tc_strbuf_add_int(out, as->shape[i]);
    }
    tc_strbuf_addc(out, ']');
}

static void write_form(struct tc_strbuf *out, const struct tc_tensor *as)
{
    tc_strbuf_adds(out, ",\"shape\":");
    tc_form_add_shape(out, as);
    tc_strbuf_adds(out, ",\"dtype\":\"");
    tc_strbuf_adds(out, as->dtype->name);
    tc_strbuf_adds(out, "\",\"device\":\"");
    tc_strbuf_adds(out, as->device);
    tc_strbuf_adds(out,
                   as->requires_grad ? "\",\"requires_grad\":true" : "\",\"requires_grad\":false");
}

/* Of a tensor with a print, which has memory: where it is empty torch says what it likes. */
static void keep(struct form *form, const struct tc_layout_print *print, const struct tc_tensor *as,
                 const char *text, size_t size)
{
    if (!as->on_cpu || !as->address || !as->n || size > MAX_TEXT || tc_anew_always())
        return;
    form->size = size;
    form->print = *print;
    form->as = *as;
    memcpy(form->text, text, size);
}

bool tc_form_add(struct tc_strbuf *out, PyObject *tensor, struct tc_tensor *as,
                 struct tc_layout_print *print)
{
    static struct form forms[N_FORMS];
    struct form *form = NULL;
    const size_t at = out->size;

    if (!tc_tensor_print(tensor, print))
        print->impl = NULL;
    else
        form = &forms[tc_layout_hash(print) % N_FORMS];
    if (form && form->size && tc_layout_is_like(&form->print, print)) {
        *as = form->as;
        as->address = (const char *)print->data +
                      ((const char *)form->as.address - (const char *)form->print.data);
        tc_strbuf_add(out, form->text, form->size);
        return true;
    }
    if (!tc_tensor_read(tensor, as))
        return false;
    write_form(out, as);
    if (form)
        keep(form, print, as, out->text + at, out->size - at);
    return true;
}
