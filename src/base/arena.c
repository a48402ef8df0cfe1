/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - memory that is released all at once
 *
 * Blocks grow with what was handed out, so a long-lived arena asks malloc a
 * logarithmic number of times. Under AddressSanitizer memory that was given
 * back by a reset is poisoned: a value kept too long is found at its next use.
 */
#include "base/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#    define ARENA_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define ARENA_ASAN 1
#    endif
#endif

#ifdef ARENA_ASAN
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(p, size)   ((void)(p), (void)(size))
#    define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

#define ALIGNMENT   _Alignof(max_align_t)
#define FIRST_BLOCK ((size_t)1 << 10) /* a live check has some arenas for each rank */
#define LARGE_BLOCK ((size_t)1 << 20) /* blocks stop doubling here */

struct tc_arena_block {
    struct tc_arena_block *older;
    size_t size; /* bytes of data */
    _Alignas(max_align_t) char data[];
};

void tc_out_of_memory(void)
{
    fputs("traincheck: out of memory\n", stderr);
    exit(2); /* 1 would say that violations were found */
}

static void add_block(struct tc_arena *arena, size_t size)
{
    size_t block_size = arena->block ? arena->block->size * 2 : FIRST_BLOCK;
    struct tc_arena_block *block;

    if (block_size > LARGE_BLOCK)
        block_size = LARGE_BLOCK;
    if (block_size < size)
        block_size = size;
    if (block_size > SIZE_MAX - sizeof(*block))
        tc_out_of_memory();
    block = tc_malloc(sizeof(*block) + block_size);
    block->older = arena->block;
    block->size = block_size;
    ASAN_POISON_MEMORY_REGION(block->data, block_size);
    arena->block = block;
    arena->used = 0;
}

void *tc_arena_alloc(struct tc_arena *arena, size_t size)
{
    size_t need = (size + (size == 0) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    char *p;

    if (need < size)
        tc_out_of_memory();
    if (!arena->block || arena->block->size - arena->used < need)
        add_block(arena, need);
    p = arena->block->data + arena->used;
    arena->used += need;
    arena->total += need;
    ASAN_UNPOISON_MEMORY_REGION(p, size);
    return p;
}

void *tc_arena_zalloc(struct tc_arena *arena, size_t size)
{
    return memset(tc_arena_alloc(arena, size), 0, size);
}

void *tc_arena_copy(struct tc_arena *arena, const void *data, size_t size)
{
    void *copy = tc_arena_alloc(arena, size);

    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *tc_arena_text(struct tc_arena *arena, const char *text, size_t size)
{
    char *copy = tc_arena_alloc(arena, size + 1);

    if (size)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

static void free_blocks(struct tc_arena_block *block)
{
    while (block) {
        struct tc_arena_block *older = block->older;

        ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
        free(block);
        block = older;
    }
}

struct tc_arena_mark tc_arena_mark(const struct tc_arena *arena)
{
    return (struct tc_arena_mark){arena->block, arena->used, arena->total};
}

void tc_arena_rewind(struct tc_arena *arena, struct tc_arena_mark mark)
{
    while (arena->block != mark.block) {
        struct tc_arena_block *newest = arena->block;

        arena->block = newest->older;
        newest->older = NULL;
        free_blocks(newest);
    }
    if (mark.block)
        ASAN_POISON_MEMORY_REGION(mark.block->data + mark.used, mark.block->size - mark.used);
    arena->used = mark.used;
    arena->total = mark.total;
}

void tc_arena_reset(struct tc_arena *arena)
{
    if (arena->block) {
        free_blocks(arena->block->older);
        arena->block->older = NULL;
        ASAN_POISON_MEMORY_REGION(arena->block->data, arena->block->size);
    }
    arena->used = 0;
    arena->total = 0;
}

void tc_arena_release(struct tc_arena *arena)
{
    free_blocks(arena->block);
    *arena = (struct tc_arena)TC_ARENA_INIT;
}

/* ---- a reserve ------------------------------------------------------------------------------ */

static void *_Atomic reserve;
static void (*on_low)(void);

void tc_memory_reserve(size_t size, void (*callback)(void))
{
    on_low = callback;
    free(atomic_exchange(&reserve, malloc(size)));
}

/* Is there room for another try? Ends the process if there is none. */
static void find_room(void)
{
    void *kept = atomic_exchange(&reserve, NULL);

    if (!kept)
        tc_out_of_memory();
    free(kept);
    if (on_low)
        on_low();
}

void *tc_malloc(size_t size)
{
    void *p;

    while (!(p = malloc(size ? size : 1)))
        find_room();
    return p;
}

void *tc_calloc(size_t n, size_t size)
{
    void *p;

    while (!(p = calloc(n ? n : 1, size ? size : 1)))
        find_room();
    return p;
}

void *tc_realloc(void *old, size_t size)
{
    void *p;

    while (!(p = realloc(old, size ? size : 1)))
        find_room();
    return p;
}

char *tc_strdup(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(tc_malloc(size), text, size);
}
