/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near.c - how near two names are, by Levenshtein's distance
 *
 * A name that begins with the text is nearest of all. Else at most 2 edits count, 3 of a text of 6
 * bytes or more. One row of the table lies on the stack: nothing is allocated.
 */
#include "base/near.h"

#include <string.h>

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein, row by row; both texts are shorter than TC_NEAR_MAX. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[TC_NEAR_MAX];
    size_t n = strlen(b);
    for (unsigned j = 0; j <= n; j++)
        row[j] = j;
    for (unsigned i = 1; *a; i++, a++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            unsigned above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

bool tc_near_begin(struct tc_near *near, const char *text, size_t size)
{
    if (size < 2 || size >= sizeof(near->text))
        return false;
    memcpy(near->text, text, size);
    near->text[size] = 0;
    near->distance = size < 6 ? 3 : 4;
    return true;
}

#define SHORT_WORD 4 /* of fewer letters too many words are near */

/* "ouput" for "output-dir". */
static bool is_near_first_word(const char *text, const char *name)
{
    char word[TC_NEAR_MAX];
    size_t size = strcspn(name, "-");

    if (!name[size] || size < SHORT_WORD || size >= sizeof(word))
        return false;
    memcpy(word, name, size);
    word[size] = 0;
    return edit_distance(text, word) == 1;
}

bool tc_near_try(struct tc_near *near, const char *name)
{
    bool starts = strncmp(name, near->text, strlen(near->text)) == 0;
    unsigned distance = starts                        ? 0
                        : strlen(name) >= TC_NEAR_MAX ? near->distance
                                                      : edit_distance(near->text, name);

    if (distance > 2 && is_near_first_word(near->text, name))
        distance = 2;
    if (distance >= near->distance)
        return false;
    near->distance = distance;
    return true;
}
