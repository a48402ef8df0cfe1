/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pool.c - each index once, whatever the number of threads; run under TSan too
 */
#include "unit.h"

#include <stdatomic.h>

#include "base/pool.h"
#include "base/strtab.h"

#define N_JOBS 5000

struct tally {
    atomic_uint seen[N_JOBS];
    size_t last;
    bool is_ordered;
};

static void count(void *context, size_t i)
{
    struct tally *tally = context;

    atomic_fetch_add(&tally->seen[i], 1);
}

static void each_index_once(void **state)
{
    static const unsigned threads[] = {0, 1, 2, 3, 8, 100};
    static const size_t sizes[] = {0, 1, 2, 7, N_JOBS};

    (void)state;
    for (size_t t = 0; t < N_OF(threads); t++) {
        for (size_t s = 0; s < N_OF(sizes); s++) {
            static struct tally tally;

            memset(&tally, 0, sizeof(tally));
            tc_pool_run(sizes[s], threads[t], count, &tally);
            for (size_t i = 0; i < N_JOBS; i++)
                assert_int_equal(atomic_load(&tally.seen[i]), i < sizes[s]);
        }
    }
}

static void watch_order(void *context, size_t i)
{
    struct tally *tally = context;

    tally->is_ordered = tally->is_ordered && i == tally->last;
    tally->last = i + 1;
}

static void one_thread_goes_in_order(void **state)
{
    static struct tally tally = {.is_ordered = true};

    (void)state;
    tc_pool_run(N_JOBS, 1, watch_order, &tally);
    assert_true(tally.is_ordered);
    assert_int_equal(tally.last, N_JOBS);
}

/* Plain memory of one job is read after the run without atomics: TSan sees a join or complains. */
static void fill(void *context, size_t i)
{
    struct tc_strtab **tabs = context;
    char text[32];

    tabs[i] = tc_strtab_new();
    for (int k = 0; k < 100; k++) {
        snprintf(text, sizeof(text), "%zu/%d", i, k % 50);
        tc_strtab_intern_text(tabs[i], text);
    }
}

static void results_are_there_afterwards(void **state)
{
    struct tc_strtab *tabs[64];

    (void)state;
    tc_pool_run(N_OF(tabs), 8, fill, tabs);
    for (size_t i = 0; i < N_OF(tabs); i++) {
        assert_int_equal(tc_strtab_count(tabs[i]), 50);
        tc_strtab_free(tabs[i]);
    }
}

static void there_is_a_core(void **state)
{
    (void)state;
    assert_true(tc_pool_cores() >= 1);
}

/* ---- relay --------------------------------------------------------------------------------- */

struct line_of_work {
    size_t slots[7], n_slots;
    size_t n_produced, n_consumed, n, stop_at;
    bool is_produced_in_order, is_consumed_in_order; /* each of one thread alone */
};

static bool produce(void *context, size_t slot)
{
    struct line_of_work *work = context;

    work->is_produced_in_order &= slot == work->n_produced % work->n_slots;
    work->slots[slot] = work->n_produced++;
    return work->n_produced < work->n;
}

static bool consume(void *context, size_t slot)
{
    struct line_of_work *work = context;

    work->is_consumed_in_order &= work->slots[slot] == work->n_consumed;
    work->slots[slot] = SIZE_MAX; /* produced anew before it is consumed again */
    return ++work->n_consumed != work->stop_at;
}

static void what_is_produced_is_consumed_in_order(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 8, 15, 5000};

    (void)state;
    for (size_t slots = 1; slots <= 7; slots++) {
        for (size_t i = 0; i < N_OF(sizes); i++) {
            struct line_of_work work = {.n_slots = slots,
                                        .n = sizes[i],
                                        .is_produced_in_order = true,
                                        .is_consumed_in_order = true};

            tc_pool_relay(slots, produce, consume, &work);
            assert_int_equal(work.n_consumed, sizes[i]);
            assert_int_equal(work.n_produced, sizes[i]);
            assert_true(work.is_produced_in_order && work.is_consumed_in_order);
        }
    }
}

static void a_consumer_that_stops_ends_the_relay(void **state)
{
    (void)state;
    for (size_t stop_at = 1; stop_at < 30; stop_at++) {
        struct line_of_work work = {.n_slots = 4,
                                    .n = 1000000,
                                    .stop_at = stop_at,
                                    .is_produced_in_order = true,
                                    .is_consumed_in_order = true};

        tc_pool_relay(4, produce, consume, &work);
        assert_int_equal(work.n_consumed, stop_at);
        assert_true(work.n_produced <= stop_at + 4);
        assert_true(work.is_produced_in_order && work.is_consumed_in_order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_index_once),
        cmocka_unit_test(one_thread_goes_in_order),
        cmocka_unit_test(what_is_produced_is_consumed_in_order),
        cmocka_unit_test(a_consumer_that_stops_ends_the_relay),
        cmocka_unit_test(results_are_there_afterwards),
        cmocka_unit_test(there_is_a_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
