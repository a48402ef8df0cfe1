/* SPDX-License-Identifier: Apache-2.0 */
/*
 * by_code.h - functions that the script makes while it trains, known by their code
 */
#ifndef TC_COLLECT_BY_CODE_H
#define TC_COLLECT_BY_CODE_H

#include "collect/agent/hook/slots.h"

/* Once, at the start. From here on no call of a Python function is inlined past its slot. */
bool tc_by_code_init(void);

/*
 * Functions of this code are yet to be made, or will be again. The policy is asked to look at the
 * script's names when one of them is called, unless their code is redirected before. Before Python
 * 3.11 nobody sees the call that makes a generator: such code is left alone.
 */
void tc_by_code_expect(PyObject *code);

/* Is it a function of such code? If so, this is for it in place of tc_slot_redirect(). */
bool tc_by_code_is_expected(PyObject *callable);
void tc_by_code_redirect(PyObject *function, const struct tc_hook *hook);
bool tc_by_code_is_redirected(PyObject *function);

#endif /* TC_COLLECT_BY_CODE_H */
