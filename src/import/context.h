/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h - the modes of torch that are on, from the calls of their context managers
 *
 * The Python tool records __init__, __enter__ and __exit__ like any other call.
 */
#ifndef TC_IMPORT_CONTEXT_H
#define TC_IMPORT_CONTEXT_H

#include "base/arena.h"
#include "base/vec.h"
#include "import/lines_by_time.h"
#include "import/torch_apis.h"

enum tc_import_mode {
    TC_MODE_NO_GRAD,
    TC_MODE_INFERENCE,
    TC_MODE_AUTOCAST,
};

struct tc_import_manager {
    int64_t object, thread;
    enum tc_import_mode mode;
    bool is_on, is_enabled;
    char device[16], dtype[16]; /* of autocast */
};

struct tc_import_contexts {
    TC_VEC(struct tc_import_manager) managers; /* built or entered, oldest first */
};

void tc_import_contexts_release(struct tc_import_contexts *contexts);
/* Look whether the line builds, enters or leaves one. */
void tc_import_contexts_follow(struct tc_import_contexts *contexts,
                               const struct tc_torch_apis *apis, const struct tc_python_line *line);
/* `ctx` of a call of that thread, in arena; NULL when nothing differs from the default. */
const struct tc_value *tc_import_contexts_of(const struct tc_import_contexts *contexts,
                                             int64_t thread, struct tc_arena *arena);

#endif /* TC_IMPORT_CONTEXT_H */
