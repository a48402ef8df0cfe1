/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near.h - the known name that was probably meant
 */
#ifndef TC_BASE_NEAR_H
#define TC_BASE_NEAR_H

#include <stdbool.h>
#include <stddef.h>

#define TC_NEAR_MAX 40 /* longer texts are near to nothing */

struct tc_near {
    char text[TC_NEAR_MAX];
    unsigned distance; /* of the nearest so far; at first, what is too far to be called near */
};

/* text is what was typed: size bytes of it. False if it is too short or too long to compare. */
bool tc_near_begin(struct tc_near *near, const char *text, size_t size);
/* Is the name nearer than those before? A name that begins with the text is nearest of all; one
 * whose first word, up to a dash, differs from it in one letter is near. */
bool tc_near_try(struct tc_near *near, const char *name);

#endif /* TC_BASE_NEAR_H */
