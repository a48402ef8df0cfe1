/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - the Python side of the agent, from its embedded files
 */
#ifndef TC_COLLECT_POLICY_H
#define TC_COLLECT_POLICY_H

#include "collect/agent/agent.h"

/*
 * Give the extension module the constants that the policy's table is written in, then run the
 * policy's files, which import it: it must stand in sys.modules. False with a Python error set.
 */
bool tc_policy_load(PyObject *module);

/* Run those of them that only collect --plan needs: once, by the policy. */
bool tc_policy_load_plans(void);

#endif /* TC_COLLECT_POLICY_H */
