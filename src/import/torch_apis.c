/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_apis.c - the embedded table, read once into a map by hashes of names
 *
 * Each line has the tool's name, ours, a role and parameters, with tabs between. Strings point
 * into it, so nothing is copied or freed but the rows. Names of classes stand in the same map
 * behind a "=". A hash that agrees is checked by the name.
 */
#include "import/torch_apis.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

extern const char tc_torch_apis_text[]; /* torch_apis.tsv */

struct row {
    struct tc_str name;
    struct tc_torch_api api;
};

struct tc_torch_apis {
    TC_VEC(struct row) rows;
    struct tc_map by_name; /* hash of the name → place in rows, plus 1 */
};

static uint64_t hash_of(struct tc_str name)
{
    return tc_hash64(name.text, name.size, 0);
}

/* The field that begins at *at and ends before `end` or a tab, and *at behind its tab. */
static struct tc_str take_field(const char **at, const char *end)
{
    const char *tab = memchr(*at, '\t', (size_t)(end - *at));
    const char *stop = tab ? tab : end;
    struct tc_str field = {*at, (uint32_t)(stop - *at)};

    *at = tab ? tab + 1 : end;
    return field;
}

static void add_row(struct tc_torch_apis *apis, const char *line, const char *end)
{
    struct row row;

    row.name = take_field(&line, end);
    row.api.fn = take_field(&line, end);
    row.api.role = take_field(&line, end);
    row.api.params = take_field(&line, end);
    tc_vec_push(&apis->rows, row);
    tc_map_put(&apis->by_name, hash_of(row.name), apis->rows.n);
}

struct tc_torch_apis *tc_torch_apis_new(void)
{
    struct tc_torch_apis *apis = tc_calloc(1, sizeof(*apis));
    const char *line = tc_torch_apis_text, *end = line + strlen(line);

    while (line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        if (*line != '#')
            add_row(apis, line, stop);
        line = stop + 1;
    }
    return apis;
}

void tc_torch_apis_free(struct tc_torch_apis *apis)
{
    if (!apis)
        return;
    tc_vec_release(&apis->rows);
    tc_map_release(&apis->by_name);
    tc_free(apis);
}

const struct tc_torch_api *tc_torch_apis_find(const struct tc_torch_apis *apis, struct tc_str name)
{
    uint64_t place;

    if (!name.text || !tc_map_get(&apis->by_name, hash_of(name), &place))
        return NULL;
    const struct row *row = &apis->rows.items[place - 1];
    return tc_str_same(row->name, name) ? &row->api : NULL;
}

struct tc_str tc_torch_apis_class(const struct tc_torch_apis *apis, struct tc_str name)
{
    char key[256];

    if (name.size + 1 >= sizeof(key))
        return name;
    key[0] = '=';
    memcpy(key + 1, name.text, name.size);
    const struct tc_torch_api *found =
        tc_torch_apis_find(apis, (struct tc_str){key, name.size + 1});
    return found ? found->fn : name;
}

struct tc_str tc_torch_api_param(const struct tc_torch_api *api, size_t position)
{
    const char *at = api->params.text, *end = at + api->params.size;

    for (; at < end; position--) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma ? comma : end) - at);
        if (*at == '*')
            break;
        if (!position)
            return (struct tc_str){at, (uint32_t)size};
        at += size + 1;
    }
    return (struct tc_str){NULL, 0};
}

size_t tc_torch_position(struct tc_str key)
{
    size_t n = 0;

    for (uint32_t i = 0; i < key.size; i++) {
        if (key.text[i] < '0' || key.text[i] > '9' || n > 1000)
            return SIZE_MAX;
        n = n * 10 + (size_t)(key.text[i] - '0');
    }
    return key.size ? n : SIZE_MAX;
}
