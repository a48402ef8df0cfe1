#include "cli/opt.h"

#include <string.h>

#include "base/banned.h"

#define MAX_NAME 40

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein, row by row; both texts are shorter than MAX_NAME. */
static unsigned edit_distance(const char *a, const char *b)
{
    unsigned row[MAX_NAME];
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

const struct tc_opt *tc_opt_nearest(const struct tc_opt_tool *tool, const char *name)
{
    char text[MAX_NAME];
    size_t size = strcspn(name, "=");
    if (size < 2 || size >= sizeof(text))
        return NULL;
    memcpy(text, name, size);
    text[size] = 0;

    const struct tc_opt *opt, *best = NULL;
    unsigned best_distance = size < 6 ? 3 : 4; /* nothing as far as this is called near */
    for (size_t i = 0; (opt = tc_opt_row(tool, i)); i++) {
        bool starts = strncmp(opt->name, text, size) == 0;
        unsigned distance = starts ? 0 : edit_distance(text, opt->name);
        if (opt->help && distance < best_distance) {
            best = opt;
            best_distance = distance;
        }
    }
    return best;
}
