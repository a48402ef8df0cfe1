/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory that is released all at once
 *
 * Allocation never returns NULL: the process ends with one line on stderr when
 * memory is out, as there is nothing left to do (the one exit in src/).
 */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include <stddef.h>

struct tc_arena_block;

struct tc_arena {
    struct tc_arena_block *block; /* newest first */
    size_t used;                  /* bytes of the newest block */
    size_t total;                 /* bytes handed out since the last reset */
};

#define TC_ARENA_INIT \
    {                 \
        0             \
    }

/* Aligned for any type, not cleared. */
void *tc_arena_alloc(struct tc_arena *arena, size_t size);
void *tc_arena_zalloc(struct tc_arena *arena, size_t size);
/* Copies; the text gets a terminating zero byte that is not counted. */
void *tc_arena_copy(struct tc_arena *arena, const void *data, size_t size);
char *tc_arena_text(struct tc_arena *arena, const char *text, size_t size);

/* What is handed out from here on can be given back alone. */
struct tc_arena_mark {
    struct tc_arena_block *block;
    size_t used, total;
};

struct tc_arena_mark tc_arena_mark(const struct tc_arena *arena);
void tc_arena_rewind(struct tc_arena *arena, struct tc_arena_mark mark);

/* Forget everything but keep one block for reuse. */
void tc_arena_reset(struct tc_arena *arena);
void tc_arena_release(struct tc_arena *arena);

/* Says so on stderr and ends the process. */
_Noreturn void tc_out_of_memory(void);

/*
 * For a process that is not ours and must not end: keep size bytes aside. The first allocation that
 * fails gives them back, calls on_low, which must allocate nothing, and is tried again.
 */
void tc_memory_reserve(size_t size, void (*on_low)(void));

/* malloc family with the same promise. */
void *tc_malloc(size_t size);
void *tc_calloc(size_t n, size_t size);
void *tc_realloc(void *old, size_t size);
char *tc_strdup(const char *text);

#endif /* TC_BASE_ARENA_H */
