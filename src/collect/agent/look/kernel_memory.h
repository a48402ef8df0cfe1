/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_memory.h - words and elements of a tensor, whatever its address and strides
 *
 * A part of the text of kernel.c, which reads the parts before this one first.
 */
#ifndef TC_COLLECT_KERNEL_MEMORY_H
#define TC_COLLECT_KERNEL_MEMORY_H

#if !TC_KERNEL_ON_DEVICE
static void atomic_max(tc_u64 *p, tc_u64 x)
{
    tc_u64 old = __atomic_load_n(p, __ATOMIC_RELAXED);

    while (old < x &&
           !__atomic_compare_exchange_n(p, &old, x, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
#endif

/* by: the address is a multiple of it, 16 or 4. */
DEVICE struct pair load_pair(tc_u64 address, tc_u32 by)
{
    struct pair p;
#if TC_KERNEL_ON_DEVICE
    if (by == 4) {
        const GLOBAL tc_u32 *x = (const GLOBAL tc_u32 *)address;

        p.a = x[0] | (tc_u64)x[1] << 32;
        p.b = x[2] | (tc_u64)x[3] << 32;
        return p;
    }
#    ifdef __HIP__
    const tc_words v = *(const GLOBAL tc_words *)address;

    p.a = v[0];
    p.b = v[1];
#    else
    const ulonglong2 v = *(const ulonglong2 *)address;

    p.a = v.x;
    p.b = v.y;
#    endif
#else
    (void)by;
    memcpy(&p, (const void *)(size_t)address, sizeof(p));
#endif
    return p;
}

/* size is 1, 2, 4 or 8, and the address a multiple of it. */
DEVICE tc_u64 load(tc_u64 address, tc_u32 size)
{
#if TC_KERNEL_ON_DEVICE
    switch (size) {
    case 8:
        return *(const GLOBAL tc_u64 *)address;
    case 4:
        return *(const GLOBAL tc_u32 *)address;
    case 2:
        return *(const GLOBAL unsigned short *)address;
    default:
        return *(const GLOBAL unsigned char *)address;
    }
#else
    tc_u64 x = 0;

    memcpy(&x, (const void *)(size_t)address, size);
    return x;
#endif
}

/* size bytes, 8 at most, at whatever address. */
SELDOM tc_u64 load_some(tc_u64 address, tc_u32 size)
{
    const tc_u32 by = address % 8 == 0 && size == 8       ? 8u
                      : address % 4 == 0 && size % 4 == 0 ? 4u
                      : address % 2 == 0 && size % 2 == 0 ? 2u
                                                          : 1u;
    tc_u64 x = 0;

    for (tc_u32 i = 0; i < size; i += by)
        x |= load(address + i, by) << 8 * i;
    return x;
}

/* Where element i lies, from the first. Divisions of 32 bits are several times as fast. */
DEVICE tc_u64 offset_of_element(const struct tc_kernel_item *item, tc_u64 i)
{
    tc_u64 at = 0;

    if (!item->n_dims)
        return i * item->item_size;
    for (tc_u32 d = item->n_dims; d > 0; d--) {
        const tc_u64 n = item->shape[d - 1];
        const tc_u64 next = (i | n) >> 32 ? i / n : (tc_u32)i / (tc_u32)n;

        at += (i - next * n) * item->stride[d - 1];
        i = next;
    }
    return at;
}

/* The bytes of a word of which `left` are there, element by element. */
SELDOM tc_u64 gather(const struct tc_kernel_item *item, tc_u64 byte, tc_u32 left)
{
    const tc_u32 size = item->item_size < 8 ? item->item_size : 8u;
    tc_u64 x = 0;

    for (tc_u32 k = 0; k < left; k += size) {
        const tc_u64 i = item->begins + (byte + k) / item->item_size;

        x |= load_some(item->data + offset_of_element(item, i) + (byte + k) % item->item_size, size)
             << 8 * k;
    }
    return x;
}

/* How many bytes of the word at this one are there: 8 at most. */
DEVICE tc_u32 left_of(tc_u64 size, tc_u64 byte)
{
    return byte >= size ? 0u : size - byte < 8 ? (tc_u32)(size - byte) : 8u;
}

/* With zeros behind the end. */
DEVICE tc_u64 word_at(const struct tc_kernel_item *item, tc_u64 byte)
{
    const tc_u32 left = left_of(item->size, byte);

    if (item->n_dims)
        return gather(item, byte, left);
    return load_some(item->data + byte, left);
}

SELDOM tc_u64 bits_apart(const struct tc_kernel_item *item, tc_u64 i)
{
    return load_some(item->data + offset_of_element(item, i), item->item_size);
}

DEVICE tc_u64 bits_at(const struct tc_kernel_item *item, tc_u64 i)
{
    return item->n_dims || item->data % item->item_size
               ? bits_apart(item, i)
               : load(item->data + i * item->item_size, item->item_size);
}

/* Of a floating point number its bits. */
DEVICE tc_i64 element_of(const struct tc_kernel_item *item, tc_u64 x)
{
    const tc_u32 rest = 64 - 8 * item->item_size;

    return item->is_signed || item->number ? (tc_i64)(x << rest) >> rest : (tc_i64)x;
}

SELDOM tc_i64 element_at(const struct tc_kernel_item *item, tc_u64 i)
{
    return element_of(item, bits_at(item, i));
}

DEVICE tc_u64 n_elements(const struct tc_kernel_item *item)
{
    return item->size / item->item_size;
}

#endif /* TC_COLLECT_KERNEL_MEMORY_H */
