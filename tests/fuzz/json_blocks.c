/* SPDX-License-Identifier: Apache-2.0 */
#include "json_blocks.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "fuzz.h"

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define WITH_ASAN 1
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#    define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#    include <sanitizer/asan_interface.h>
#else
#    define ASAN_POISON_MEMORY_REGION(p, size)   ((void)(p), (void)(size))
#    define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

#define ALL  ((size_t)4 << 20) /* bytes; a document that needs more takes those of malloc */
#define HEAD ((size_t)16)      /* in front of each: its size, and out of bounds */

static union {
    unsigned char bytes[ALL];
    max_align_t align;
} all;

static size_t used, n_live;

static void *take(size_t size)
{
    size_t whole = HEAD + (size + HEAD - 1) / HEAD * HEAD;
    unsigned char *block = all.bytes + used;

    if (size > ALL || whole > ALL - used)
        return malloc(size);
    ASAN_UNPOISON_MEMORY_REGION(block, HEAD + size);
    *(size_t *)(void *)block = size;
    ASAN_POISON_MEMORY_REGION(block, HEAD);
    used += whole;
    n_live++;
    return block + HEAD;
}

static void give_back(void *block)
{
    unsigned char *p = block;
    size_t size;

    if ((uintptr_t)p < (uintptr_t)all.bytes || (uintptr_t)p >= (uintptr_t)(all.bytes + ALL)) {
        free(block);
        return;
    }
#ifdef WITH_ASAN
    FUZZ_CHECK(!__asan_address_is_poisoned(p) || !"freed twice");
#endif
    ASAN_UNPOISON_MEMORY_REGION(p - HEAD, HEAD);
    size = *(size_t *)(void *)(p - HEAD);
    ASAN_POISON_MEMORY_REGION(p - HEAD, HEAD + size);
    n_live--;
}

void fuzz_json_begin(void)
{
    static bool is_set;
    cJSON_Hooks hooks = {take, give_back};

    if (is_set)
        return;
    cJSON_InitHooks(&hooks);
    ASAN_POISON_MEMORY_REGION(all.bytes, ALL);
    is_set = true;
}

void fuzz_json_end(void)
{
    FUZZ_CHECK(!n_live);
    used = 0;
}
