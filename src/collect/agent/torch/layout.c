/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - finds the places in samples, and reads there
 *
 * A place is the only word of an object that holds what is known, in all samples. No more of an
 * object is looked at than its allocator gave it. Of a kind, the words behind the number of
 * elements, which hold dtype, device, flags and dispatch keys, the first tensor is read by DLPack
 * and compared: one difference, and no tensor is read here any more. With the interpreter's lock.
 */
#include "collect/agent/torch/layout.h"

#include <malloc.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "collect/agent/torch/torch.h"

#define MAX_WORDS   32
#define MAX_SAMPLES 16
#define MAX_DIMS    8
/* Sizes and strides of more dimensions lie apart. */
#define N_INLINE 5
#define N_KINDS  256

struct sample {
    const void *object;
    uint64_t tensor, storage, data, offset, n;
    uint64_t sizes[MAX_DIMS], strides[MAX_DIMS];
    size_t n_dims;
    uint64_t grad_fn; /* 0: none */
};

/* The places, in words from the begin of what they are in. */
static struct {
    bool is_known;
    size_t tensor;          /* of a torch.Tensor: its TensorImpl */
    size_t storage;         /* of that: its StorageImpl */
    size_t autograd;        /* its AutogradMeta, or NULL */
    size_t dims, offset, n; /* behind dims stand sizes and strides, behind n what makes the kind */
    size_t data;            /* of a StorageImpl */
    size_t grad_fn;         /* of an AutogradMeta */
    size_t flag;      /* the byte of it that says whether a leaf wants a gradient, 0: unknown */
    size_t n_printed; /* words from dims to those of the kind, 0: the offset lies elsewhere */
} words_at;

struct kind {
    uint64_t words[2]; /* all zero: none */
    uint32_t type;
    size_t item_size;
    bool on_cpu, is_literal;
    int cuda;
};

/* By their words; what falls onto another takes its place. */
static struct kind kinds[N_KINDS];

/* ---- the search ---- */

static uint64_t word_of(const void *object, size_t i)
{
    uint64_t word;

    memcpy(&word, (const char *)object + i * sizeof(word), sizeof(word));
    return word;
}

static const void *pointer_at(const void *object, size_t i)
{
    return (const void *)(uintptr_t)word_of(object, i);
}

static void read_kind(const void *impl, uint64_t words[2])
{
    words[0] = word_of(impl, words_at.n + 1);
    words[1] = word_of(impl, words_at.n + 2);
}

/* Of what operator new gave. */
static size_t n_words(uint64_t object)
{
    const size_t n = malloc_usable_size((void *)(uintptr_t)object) / sizeof(uint64_t);

    return n < MAX_WORDS ? n : MAX_WORDS;
}

static size_t n_words_of_tensor(const struct sample *s)
{
    const Py_ssize_t size = Py_TYPE((PyObject *)(uintptr_t)s->object)->tp_basicsize;

    return (size_t)size / sizeof(uint64_t);
}

/* Is what a place is searched for at word i of the sample? */
typedef bool is_at_fn(const struct sample *sample, size_t i);

static bool is_tensor_at(const struct sample *s, size_t i)
{
    return i < n_words_of_tensor(s) && word_of(s->object, i) == s->tensor;
}

static uint64_t word_of_tensor(const struct sample *s, size_t i)
{
    return word_of((const void *)(uintptr_t)s->tensor, i);
}

static bool is_storage_at(const struct sample *s, size_t i)
{
    return i < n_words(s->tensor) && word_of_tensor(s, i) == s->storage;
}

static bool is_offset_at(const struct sample *s, size_t i)
{
    return i < n_words(s->tensor) && word_of_tensor(s, i) == s->offset;
}

/* With two words of the kind behind it. */
static bool is_number_at(const struct sample *s, size_t i)
{
    return i + 2 < n_words(s->tensor) && word_of_tensor(s, i) == s->n;
}

static bool is_data_at(const struct sample *s, size_t i)
{
    return i < n_words(s->storage) && word_of((const void *)(uintptr_t)s->storage, i) == s->data;
}

static bool are_dims_at(const struct sample *s, size_t i)
{
    const size_t size = s->n_dims * sizeof(uint64_t);
    const char *inside = (const char *)(uintptr_t)s->tensor + (i + 1) * sizeof(uint64_t);

    if (i + 2 * N_INLINE >= n_words(s->tensor) || word_of_tensor(s, i) != s->n_dims)
        return false;
    if (s->n_dims > N_INLINE) { /* the sample before has told that these are dims */
        const char *apart = pointer_at(inside, 0);
        return memcmp(apart, s->sizes, size) == 0 && memcmp(apart + size, s->strides, size) == 0;
    }
    return memcmp(inside, s->sizes, size) == 0 &&
           memcmp(inside + N_INLINE * sizeof(uint64_t), s->strides, size) == 0;
}

/* What has a grad_fn has autograd's data, and what never saw autograd has none. */
static bool is_autograd_at(const struct sample *s, size_t i)
{
    return i < n_words(s->tensor) && i != words_at.storage &&
           (word_of_tensor(s, i) != 0) == (s->grad_fn != 0);
}

/* Is it the address of a block as an allocator gives it, whose head may be read? */
static bool is_block(uint64_t word)
{
    uint64_t head[2];
    struct iovec to = {head, sizeof(head)},
                 from = {(void *)(uintptr_t)(word - sizeof(head)), sizeof(head)};

    return word % sizeof(head) == 0 &&
           process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof(head);
}

static bool is_grad_fn_at(const struct sample *s, size_t i)
{
    const uint64_t autograd = word_of_tensor(s, words_at.autograd);

    if (!autograd)
        return true;
    return is_block(autograd) && i < n_words(autograd) &&
           word_of((const void *)(uintptr_t)autograd, i) == s->grad_fn;
}

/* Is it 1 in the first n_yes tensors, and 0 in all others? */
static bool is_flag_at(PyObject *tensors, Py_ssize_t n_yes, size_t i)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tensors); k++) {
        const void *impl = pointer_at(PyTuple_GET_ITEM(tensors, k), words_at.tensor);
        const uint64_t autograd = word_of(impl, words_at.autograd);

        if (!is_block(autograd) || i >= n_words(autograd) * sizeof(uint64_t) ||
            *((const unsigned char *)(uintptr_t)autograd + i) != (k < n_yes))
            return false;
    }
    return true;
}

/* The first place behind `from` in all samples. */
static bool find_next(const struct sample *samples, size_t n, is_at_fn *is_at, size_t from,
                      size_t *place)
{
    for (size_t i = from; i < MAX_WORDS; i++) {
        size_t n_met = 0;

        while (n_met < n && is_at(&samples[n_met], i))
            n_met++;
        if (n_met == n) {
            *place = i;
            return true;
        }
    }
    return false;
}

/* The only one. */
static bool find_place(const struct sample *samples, size_t n, is_at_fn *is_at, size_t *place)
{
    size_t other;

    return find_next(samples, n, is_at, 1, place) &&
           !find_next(samples, n, is_at, *place + 1, &other);
}

static bool find_all(const struct sample *samples, size_t n)
{
    return find_place(samples, n, is_tensor_at, &words_at.tensor) &&
           find_place(samples, n, is_storage_at, &words_at.storage) &&
           find_place(samples, n, is_offset_at, &words_at.offset) &&
           find_place(samples, n, is_number_at, &words_at.n) &&
           find_place(samples, n, are_dims_at, &words_at.dims) &&
           find_place(samples, n, is_data_at, &words_at.data) &&
           find_place(samples, n, is_autograd_at, &words_at.autograd) &&
           find_place(samples, n, is_grad_fn_at, &words_at.grad_fn);
}

/* ---- samples ---- */

static bool take_ints(PyObject *tuple, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
    return !PyErr_Occurred();
}

/* The Node of a grad_fn is the first thing in it; a function of Python's own has none there. */
static bool take_sample(PyObject *told, struct sample *out)
{
    PyObject *object, *sizes, *strides, *grad_fn;
    unsigned long long tensor, storage, data, offset, n;

    if (!PyArg_ParseTuple(told, "OKKKKKO!O!O", &object, &tensor, &storage, &data, &offset, &n,
                          &PyTuple_Type, &sizes, &PyTuple_Type, &strides, &grad_fn))
        return false;
    *out = (struct sample){object, tensor, storage, data, offset, n, {0}, {0}, 0, 0};
    out->n_dims = (size_t)PyTuple_GET_SIZE(sizes);
    if (grad_fn != Py_None)
        out->grad_fn = word_of(grad_fn, sizeof(PyObject) / sizeof(uint64_t));
    return out->n_dims <= MAX_DIMS && PyTuple_GET_SIZE(strides) == PyTuple_GET_SIZE(sizes) &&
           take_ints(sizes, out->sizes, out->n_dims) &&
           take_ints(strides, out->strides, out->n_dims);
}

static bool take_samples(PyObject *told, struct sample *out)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(told);
    bool is_taken = n > 0 && n <= MAX_SAMPLES && sizeof(void *) == sizeof(uint64_t);

    for (Py_ssize_t i = 0; is_taken && i < n; i++)
        is_taken = take_sample(PyTuple_GET_ITEM(told, i), &out[i]);
    PyErr_Clear();
    return is_taken;
}

/* Do all differ in their kinds? */
static bool are_unlike(PyObject *tensors)
{
    uint64_t words[MAX_SAMPLES][2];
    const Py_ssize_t n = PyTuple_GET_SIZE(tensors);

    for (Py_ssize_t i = 0; i < n && n <= MAX_SAMPLES; i++) {
        read_kind(pointer_at(PyTuple_GET_ITEM(tensors, i), words_at.tensor), words[i]);
        for (Py_ssize_t k = 0; k < i; k++)
            if (memcmp(words[i], words[k], sizeof(words[i])) == 0)
                return false;
    }
    return n <= MAX_SAMPLES;
}

static size_t n_printed(void)
{
    const bool is_printed = words_at.dims <= words_at.offset && words_at.offset < words_at.n;

    return is_printed && words_at.n + 3 - words_at.dims <= TC_LAYOUT_WORDS
               ? words_at.n + 3 - words_at.dims
               : 0;
}

bool tc_layout_find(PyObject *told, PyObject *unlike)
{
    struct sample samples[MAX_SAMPLES];

    memset(kinds, 0, sizeof(kinds));
    words_at.is_known = take_samples(told, samples) &&
                        find_all(samples, (size_t)PyTuple_GET_SIZE(told)) && are_unlike(unlike);
    words_at.n_printed = words_at.is_known ? n_printed() : 0;
    return words_at.is_known;
}

bool tc_layout_find_flag(PyObject *tensors, Py_ssize_t n_yes)
{
    size_t n = 0, flag = 0;

    words_at.flag = 0;
    for (size_t i = 1; words_at.is_known && i < MAX_WORDS * sizeof(uint64_t); i++)
        if (is_flag_at(tensors, n_yes, i)) {
            flag = i;
            n++;
        }
    words_at.flag = n == 1 ? flag : 0;
    return n == 1;
}

/* ---- reading ---- */

static const void *impl_of(PyObject *tensor)
{
    return words_at.is_known ? pointer_at(tensor, words_at.tensor) : NULL;
}

static struct kind *slot_of(const uint64_t words[2])
{
    const uint64_t mixed = (words[0] ^ words[1] << 7) * UINT64_C(0x9e3779b97f4a7c15);

    return &kinds[mixed >> 56];
}

static const struct kind *kind_of(const void *impl)
{
    uint64_t words[2];
    const struct kind *kind;

    read_kind(impl, words);
    kind = slot_of(words);
    return memcmp(kind->words, words, sizeof(words)) == 0 ? kind : NULL;
}

static void read_dims(const void *impl, struct tc_dlpack_view *out)
{
    const char *sizes = (const char *)impl + (words_at.dims + 1) * sizeof(uint64_t);

    out->n_dims = (size_t)word_of(impl, words_at.dims);
    if (out->n_dims > N_INLINE)
        sizes = pointer_at(sizes, 0);
    out->shape = (const int64_t *)(const void *)sizes;
    out->strides = out->shape + (out->n_dims > N_INLINE ? out->n_dims : N_INLINE);
}

/* The grad_fn of a view that was written to is made when torch is asked: none is no answer. */
static enum tc_answer has_grad_fn(const void *impl)
{
    const void *autograd = pointer_at(impl, words_at.autograd);

    if (!autograd)
        return TC_ANSWER_NO;
    return word_of(autograd, words_at.grad_fn) ? TC_ANSWER_YES : TC_ANSWER_UNKNOWN;
}

/* Where the flag says no it may be a view, which wants what its base wants. */
static enum tc_answer impl_requires_grad(const void *impl)
{
    const enum tc_answer has = has_grad_fn(impl);
    const unsigned char *autograd = pointer_at(impl, words_at.autograd);

    return has == TC_ANSWER_UNKNOWN && words_at.flag && autograd[words_at.flag] ? TC_ANSWER_YES
                                                                                : has;
}

/* Of what is empty, or has no memory, torch says what it likes. */
static bool read_view_of_impl(const void *impl, const struct kind *kind, struct tc_dlpack_view *out)
{
    const void *storage = pointer_at(impl, words_at.storage);
    const char *data = storage ? pointer_at(storage, words_at.data) : NULL;

    if (!data || !word_of(impl, words_at.n))
        return false;
    read_dims(impl, out);
    out->data = data + (int64_t)word_of(impl, words_at.offset) * (int64_t)kind->item_size;
    out->type = kind->type;
    out->on_cpu = kind->on_cpu;
    out->is_literal = kind->is_literal;
    out->cuda = kind->cuda;
    out->requires_grad = impl_requires_grad(impl);
    return true;
}

bool tc_layout_view(PyObject *tensor, struct tc_dlpack_view *out)
{
    const void *impl = impl_of(tensor);
    const struct kind *kind = impl ? kind_of(impl) : NULL;

    return kind && read_view_of_impl(impl, kind, out);
}

bool tc_layout_take(PyObject *tensor, struct tc_layout_print *out)
{
    const void *impl = impl_of(tensor);
    enum tc_answer grad;

    if (!impl || !words_at.n_printed || !kind_of(impl) || word_of(impl, words_at.dims) > N_INLINE ||
        !pointer_at(impl, words_at.storage))
        return false;
    grad = impl_requires_grad(impl);
    out->impl = impl;
    out->storage = pointer_at(impl, words_at.storage);
    out->data = pointer_at(out->storage, words_at.data);
    out->requires_grad = grad;
    memcpy(out->words, (const char *)impl + words_at.dims * sizeof(uint64_t),
           words_at.n_printed * sizeof(uint64_t));
    return grad != TC_ANSWER_UNKNOWN && out->data;
}

bool tc_layout_is_as(PyObject *tensor, const struct tc_layout_print *print)
{
    const void *impl = impl_of(tensor);

    return impl && impl == print->impl && pointer_at(impl, words_at.storage) == print->storage &&
           pointer_at(print->storage, words_at.data) == print->data &&
           memcmp((const char *)impl + words_at.dims * sizeof(uint64_t), print->words,
                  words_at.n_printed * sizeof(uint64_t)) == 0 &&
           impl_requires_grad(impl) == print->requires_grad;
}

bool tc_layout_is_like(const struct tc_layout_print *a, const struct tc_layout_print *b)
{
    return a->requires_grad == b->requires_grad &&
           memcmp(a->words, b->words, words_at.n_printed * sizeof(uint64_t)) == 0;
}

/* Of the sizes, the number of elements and the kind. */
uint64_t tc_layout_hash(const struct tc_layout_print *print)
{
    const uint64_t *end = print->words + words_at.n_printed;
    const uint64_t of_kind = end[-3] ^ end[-2] ^ end[-1] << 7 ^ print->requires_grad;

    return tc_hash_mix(of_kind, print->words[1], print->words[2] ^ print->words[3] << 32);
}

/* DLPack may call the stride of a dimension of one element otherwise. */
static bool is_same(const struct tc_dlpack_view *a, const struct tc_dlpack_view *b)
{
    if (a->data != b->data || a->n_dims != b->n_dims)
        return false;
    for (size_t i = 0; i < a->n_dims; i++)
        if (a->shape[i] != b->shape[i] || (a->shape[i] != 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

static bool is_method_told(PyObject *tensor, enum tc_tensor_attribute method)
{
    PyObject *answer = tc_tensor_call(tensor, method);

    PyErr_Clear();
    Py_XDECREF(answer); /* a singleton */
    return answer != Py_False;
}

void tc_layout_meet(PyObject *tensor, const struct tc_dlpack_view *view)
{
    const void *impl = impl_of(tensor);
    const uint32_t bits = view->type >> 16 & 0xff, lanes = view->type & 0xffff;
    struct tc_dlpack_view read;
    struct kind kind = {.type = view->type,
                        .item_size = bits / 8 * lanes,
                        .on_cpu = view->on_cpu,
                        .cuda = view->cuda};

    if (!impl || bits % 8 || !read_view_of_impl(impl, &kind, &read))
        return;
    read_kind(impl, kind.words);
    /* Before torch is asked anything: it may change then. */
    words_at.is_known = is_same(&read, view);
    kind.is_literal = !is_method_told(tensor, TC_ATTRIBUTE_is_conj) &&
                      !is_method_told(tensor, TC_ATTRIBUTE_is_neg);
    *slot_of(kind.words) = kind;
}

enum tc_answer tc_layout_is_literal(PyObject *tensor)
{
    const void *impl = impl_of(tensor);
    const struct kind *kind = impl ? kind_of(impl) : NULL;

    if (!kind)
        return TC_ANSWER_UNKNOWN;
    return kind->is_literal ? TC_ANSWER_YES : TC_ANSWER_NO;
}

enum tc_answer tc_layout_requires_grad(PyObject *tensor)
{
    const void *impl = impl_of(tensor);

    return impl && kind_of(impl) ? impl_requires_grad(impl) : TC_ANSWER_UNKNOWN;
}

enum tc_answer tc_layout_is_leaf(PyObject *tensor)
{
    const void *impl = impl_of(tensor);
    const enum tc_answer has = impl && kind_of(impl) ? has_grad_fn(impl) : TC_ANSWER_UNKNOWN;

    return has == TC_ANSWER_UNKNOWN ? has : has == TC_ANSWER_YES ? TC_ANSWER_NO : TC_ANSWER_YES;
}

bool tc_layout_piece(PyObject *tensor, struct tc_layout_piece *out)
{
    const void *impl = impl_of(tensor);

    if (!impl || !kind_of(impl))
        return false;
    out->storage = word_of(impl, words_at.storage);
    out->offset = (int64_t)word_of(impl, words_at.offset);
    out->n = (int64_t)word_of(impl, words_at.n);
    return true;
}
