/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_apis.h - what the Python tool calls the APIs and classes of torch
 *
 * The table is made from torch itself by scripts/torch_apis.py. It is policy, as the collector's
 * table is: what an API means in a training loop is decided here and travels on as a role.
 */
#ifndef TC_IMPORT_TORCH_APIS_H
#define TC_IMPORT_TORCH_APIS_H

#include <stddef.h>

#include <traincheck/value.h>

struct tc_torch_apis;

struct tc_torch_api {
    struct tc_str fn;     /* our name; empty: an API that we do not trace */
    struct tc_str role;   /* empty with fn */
    struct tc_str params; /* names in order, joined by commas; "*" and "*args" end the positions */
};

struct tc_torch_apis *tc_torch_apis_new(void);
void tc_torch_apis_free(struct tc_torch_apis *apis);

/* NULL if the name is not in the table. */
const struct tc_torch_api *tc_torch_apis_find(const struct tc_torch_apis *apis, struct tc_str name);
/* Our name of a class, or name itself. */
struct tc_str tc_torch_apis_class(const struct tc_torch_apis *apis, struct tc_str name);
/* The name of the parameter at a position, the receiver included; absent where there is none. */
struct tc_str tc_torch_api_param(const struct tc_torch_api *api, size_t position);

/* "3", a key of `args`, as 3; SIZE_MAX for what is no position. */
size_t tc_torch_position(struct tc_str key);

#endif /* TC_IMPORT_TORCH_APIS_H */
