/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the arguments of a call as the JSON of docs/trace-format.md
 */
#ifndef TC_COLLECT_ARGUMENTS_H
#define TC_COLLECT_ARGUMENTS_H

#include "collect/agent/say/encode.h"
#include "collect/agent/torch/signature.h"

/* Add "args":{...}, defaults filled in, with what is asked of the content of tensors. hides_rest:
 * of texts that have no name in the signature the length alone. */
void tc_arguments_add(struct tc_strbuf *out, const struct tc_sig *sig,
                      const struct tc_arguments *args, const struct tc_asked *asked,
                      bool hides_rest);

#endif /* TC_COLLECT_ARGUMENTS_H */
