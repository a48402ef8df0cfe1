/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_arena.c - memory that is released all at once
 */
#include "unit.h"

#include "base/arena.h"
#include "base/vec.h"

static void pieces_are_aligned_and_apart(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;
    unsigned char *pieces[500];
    uint64_t seed = 1;
    size_t sizes[500];

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        sizes[i] = (size_t)(unit_random(&seed) % 3000);
        pieces[i] = tc_arena_alloc(&arena, sizes[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        memset(pieces[i], (int)(i & 0xff), sizes[i]);
    }
    for (size_t i = 0; i < 500; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i & 0xff);
    tc_arena_release(&arena);
}

static void empty_pieces_differ(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;

    (void)state;
    assert_ptr_not_equal(tc_arena_alloc(&arena, 0), tc_arena_alloc(&arena, 0));
    assert_non_null(tc_arena_copy(&arena, NULL, 0));
    assert_string_equal(tc_arena_text(&arena, NULL, 0), "");
    tc_arena_release(&arena);
}

static void copies_are_equal_and_text_ends(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;
    const char *text = "abc\0def";

    (void)state;
    assert_memory_equal(tc_arena_copy(&arena, text, 7), text, 7);
    assert_memory_equal(tc_arena_text(&arena, text, 6), "abc\0de", 7);
    tc_arena_release(&arena);
}

static void reset_reuses_a_cleared_block(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;
    char *first = tc_arena_alloc(&arena, 100), *again, zero[100] = {0};

    (void)state;
    memset(first, 7, 100);
    assert_true(arena.total >= 100);
    tc_arena_reset(&arena);
    assert_int_equal(arena.total, 0);
    again = tc_arena_zalloc(&arena, 100);
    assert_ptr_equal(again, first);
    assert_memory_equal(again, zero, 100);
    tc_arena_release(&arena);
    assert_null(arena.block);
    tc_arena_reset(&arena);
}

static void reset_keeps_one_block(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;

    (void)state;
    for (int i = 0; i < 1000; i++)
        tc_arena_alloc(&arena, 1000);
    tc_arena_reset(&arena);
    for (int i = 0; i < 100; i++)
        memset(tc_arena_alloc(&arena, 1000), i, 1000);
    tc_arena_release(&arena);
}

/* What was handed out before the mark stays, whatever came after it in this block or in others. */
static void rewinding_gives_back_what_came_since(void **state)
{
    static const size_t sizes[] = {1, 100, 100000, 5000000};

    (void)state;
    for (size_t i = 0; i < N_OF(sizes); i++) {
        struct tc_arena arena = TC_ARENA_INIT;
        struct tc_arena_mark empty = tc_arena_mark(&arena);
        char *kept = tc_arena_text(&arena, "kept", 4);
        struct tc_arena_mark mark = tc_arena_mark(&arena);
        char *after = tc_arena_alloc(&arena, 64);

        memset(tc_arena_alloc(&arena, sizes[i]), 1, sizes[i]);
        tc_arena_rewind(&arena, mark);
        assert_string_equal(kept, "kept");
        assert_int_equal(arena.total, mark.total);
        assert_ptr_equal(tc_arena_alloc(&arena, 64), after);
        tc_arena_rewind(&arena, empty);
        assert_int_equal(arena.total, 0);
        assert_null(arena.block);
    }
}

static void large_pieces_fit(void **state)
{
    struct tc_arena arena = TC_ARENA_INIT;
    size_t size = (size_t)5 << 20;
    char *p = tc_arena_alloc(&arena, size);

    (void)state;
    memset(p, 1, size);
    memset(tc_arena_alloc(&arena, 10), 2, 10);
    assert_int_equal(p[size - 1], 1);
    tc_arena_release(&arena);
}

static void vec_keeps_what_was_pushed(void **state)
{
    TC_VEC(uint64_t) v = {0};

    (void)state;
    for (uint64_t i = 0; i < 10000; i++)
        tc_vec_push(&v, i * i);
    assert_int_equal(v.n, 10000);
    assert_true(v.cap >= v.n);
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(v.items[i], i * i);
    tc_vec_release(&v);
    assert_null(v.items);
    assert_int_equal(v.n + v.cap, 0);
    tc_vec_release(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(empty_pieces_differ),
        cmocka_unit_test(copies_are_equal_and_text_ends),
        cmocka_unit_test(reset_reuses_a_cleared_block),
        cmocka_unit_test(reset_keeps_one_block),
        cmocka_unit_test(rewinding_gives_back_what_came_since),
        cmocka_unit_test(large_pieces_fit),
        cmocka_unit_test(vec_keeps_what_was_pushed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
