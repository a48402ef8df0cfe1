/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_containers.c - hash, map and strtab against naive references
 */
#include "unit.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/strtab.h"

#define N_KEYS 512

static void hash_depends_on_bytes_and_seed(void **state)
{
    (void)state;
    assert_true(tc_hash64("abc", 3, 0) == tc_hash64("abcd", 3, 0));
    assert_true(tc_hash64("abc", 3, 0) != tc_hash64("abd", 3, 0));
    assert_true(tc_hash64("abc", 3, 0) != tc_hash64("abc", 3, 1));
    assert_true(tc_hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2)); /* XXH3 of nothing */
}

static void map_starts_empty(void **state)
{
    struct tc_map map = TC_MAP_INIT;
    uint64_t key, value;
    size_t pos = 0;

    (void)state;
    assert_false(tc_map_get(&map, 1, &value));
    assert_false(tc_map_remove(&map, 1));
    assert_false(tc_map_each(&map, &pos, &key, &value));
    tc_map_clear(&map);
    tc_map_release(&map);
}

/* Sparse keys, 0 and the largest among them. */
static uint64_t key_of(size_t i)
{
    return i == 0 ? 0 : i == 1 ? UINT64_MAX : i * UINT64_C(0x100000001);
}

static void check_map(const struct tc_map *map, const bool *is_in, const uint64_t *values)
{
    size_t n = 0, visited = 0, pos = 0;
    uint64_t key, value;

    for (size_t i = 0; i < N_KEYS; i++) {
        assert_int_equal(tc_map_get(map, key_of(i), &value), is_in[i]);
        if (is_in[i])
            assert_true(value == values[i]);
        n += is_in[i];
    }
    assert_int_equal(map->n, n);
    while (tc_map_each(map, &pos, &key, &value))
        visited++;
    assert_int_equal(visited, n);
}

static void map_is_as_an_array(void **state)
{
    struct tc_map map = TC_MAP_INIT;
    static bool is_in[N_KEYS];
    static uint64_t values[N_KEYS];
    uint64_t seed = 42;

    (void)state;
    for (int round = 0; round < 40000; round++) {
        size_t i = (size_t)(unit_random(&seed) % N_KEYS);
        uint64_t value = unit_random(&seed);
        bool is_new;

        switch (unit_random(&seed) % 5) {
        case 0:
        case 1:
            assert_int_equal(tc_map_remove(&map, key_of(i)), is_in[i]);
            is_in[i] = false;
            break;
        case 2:
            *tc_map_at(&map, key_of(i), &is_new) += value;
            assert_int_equal(is_new, !is_in[i]);
            values[i] = is_new ? value : values[i] + value;
            is_in[i] = true;
            break;
        default:
            tc_map_put(&map, key_of(i), value);
            values[i] = value;
            is_in[i] = true;
        }
        if (round % 1000 == 0)
            check_map(&map, is_in, values);
    }
    check_map(&map, is_in, values);
    tc_map_clear(&map);
    memset(is_in, 0, sizeof(is_in));
    check_map(&map, is_in, values);
    tc_map_release(&map);
}

static void map_does_not_grow_by_churn(void **state)
{
    struct tc_map map = TC_MAP_INIT;

    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        tc_map_put(&map, i, i);
        if (i >= 10)
            assert_true(tc_map_remove(&map, i - 10));
    }
    assert_int_equal(map.n, 10);
    assert_true(map.cap <= 64);
    tc_map_release(&map);
}

static void map_order_is_a_function_of_history(void **state)
{
    struct tc_map a = TC_MAP_INIT, b = TC_MAP_INIT;
    size_t pos_a = 0, pos_b = 0;
    uint64_t key_a, key_b, value;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        tc_map_put(&a, i * 77, i);
        tc_map_put(&b, i * 77, i);
    }
    while (tc_map_each(&a, &pos_a, &key_a, &value)) {
        assert_true(tc_map_each(&b, &pos_b, &key_b, &value));
        assert_true(key_a == key_b);
    }
    tc_map_release(&a);
    tc_map_release(&b);
}

static void strtab_numbers_in_order(void **state)
{
    struct tc_strtab *tab = tc_strtab_new();

    (void)state;
    assert_int_equal(tc_strtab_intern_text(tab, "a"), 0);
    assert_int_equal(tc_strtab_intern(tab, "", 0), 1);
    assert_int_equal(tc_strtab_intern(tab, NULL, 0), 1);
    assert_int_equal(tc_strtab_intern_text(tab, "a"), 0);
    assert_int_equal(tc_strtab_intern(tab, "a\0b", 3), 2);
    assert_int_equal(tc_strtab_intern(tab, "a\0c", 3), 3);
    assert_int_equal(tc_strtab_count(tab), 4);
    assert_int_equal(tc_strtab_size(tab, 2), 3);
    assert_memory_equal(tc_strtab_text(tab, 3), "a\0c", 4);
    assert_true(tc_strtab_find(tab, "zz", 2) == TC_NO_SYM);
    assert_int_equal(tc_strtab_find(tab, "a\0b", 3), 2);
    tc_strtab_free(tab);
    tc_strtab_free(NULL);
}

static void strtab_texts_do_not_move(void **state)
{
    enum {
        N = 20000
    };
    struct tc_strtab *tab = tc_strtab_new();
    static const char *texts[N];
    char text[32];

    (void)state;
    for (int i = 0; i < N; i++) {
        int size = snprintf(text, sizeof(text), "key %d", i * 7);

        assert_int_equal(tc_strtab_intern(tab, text, (size_t)size), i);
        texts[i] = tc_strtab_text(tab, (tc_sym)i);
        assert_int_equal((uintptr_t)texts[i] % 8, 0);
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof(text), "key %d", i * 7);
        assert_int_equal(tc_strtab_intern_text(tab, text), i);
        assert_ptr_equal(tc_strtab_text(tab, (tc_sym)i), texts[i]);
        assert_string_equal(texts[i], text);
    }
    assert_int_equal(tc_strtab_count(tab), N);
    tc_strtab_free(tab);
}

static void map_owns_its_structs(void **state)
{
    struct point {
        int x, y;
    } * point;
    struct tc_map map = TC_MAP_INIT;
    int sum = 0;

    (void)state;
    for (uint64_t key = 0; key < 100; key++) {
        point = tc_map_struct(&map, key, sizeof(*point));
        assert_int_equal(point->x + point->y, 0);
        point->x = (int)key;
    }
    assert_int_equal(((struct point *)tc_map_struct(&map, 7, sizeof(*point)))->x, 7);
    assert_int_equal(((struct point *)tc_map_find(&map, 8))->x, 8);
    assert_null(tc_map_find(&map, 100));
    for (size_t pos = 0; (point = tc_map_next(&map, &pos));)
        sum += point->x;
    assert_int_equal(sum, 99 * 100 / 2);
    tc_map_release_structs(&map);
    tc_map_release_structs(&map); /* as often as one likes */
    assert_null(tc_map_find(&map, 8));
    assert_non_null(tc_map_struct(&map, 8, sizeof(*point))); /* it is usable as new */
    tc_map_release_structs(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_depends_on_bytes_and_seed),
        cmocka_unit_test(map_starts_empty),
        cmocka_unit_test(map_is_as_an_array),
        cmocka_unit_test(map_does_not_grow_by_churn),
        cmocka_unit_test(map_order_is_a_function_of_history),
        cmocka_unit_test(map_owns_its_structs),
        cmocka_unit_test(strtab_numbers_in_order),
        cmocka_unit_test(strtab_texts_do_not_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
