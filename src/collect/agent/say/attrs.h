/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attrs.h - the public scalar attributes of an instance
 */
#ifndef TC_COLLECT_ATTRS_H
#define TC_COLLECT_ATTRS_H

#include "collect/agent/agent.h"

/* dict: the instance's own, or NULL. module: the instance, if it is one, of which the mode comes
 * first; or NULL. */
void tc_attrs_add(struct tc_strbuf *out, PyObject *dict, PyObject *module, bool is_root);

#endif /* TC_COLLECT_ATTRS_H */
