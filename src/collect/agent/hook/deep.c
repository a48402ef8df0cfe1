/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.c - measures the stack of the thread that calls, once
 *
 * Any thread, without a lock; what it tells, with the interpreter's.
 */
#include "collect/agent/hook/deep.h"

#include <pthread.h>

#include "collect/agent/agent.h"

struct stack {
    const char *end, *low; /* growing downwards, it should not go below low */
};

static struct stack measure_stack(void)
{
    struct stack stack = {NULL, (const char *)1};
    pthread_attr_t attributes;
    size_t size;
    void *end;

    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return stack;
    if (pthread_attr_getstack(&attributes, &end, &size) == 0)
        stack = (struct stack){end, (const char *)end + size / 4};
    pthread_attr_destroy(&attributes);
    return stack;
}

bool tc_deep_is_stack_low(void)
{
    static __thread struct stack stack;
    const char *here = __builtin_frame_address(0);

    if (!stack.low)
        stack = measure_stack();
    return here > stack.end && here < stack.low; /* some libraries make stacks of their own */
}

void tc_deep_tell(void)
{
    static bool is_told;

    if (!is_told)
        tc_agent_switched_off("calls at the bottom of a deep recursion: the stack is used up");
    is_told = true;
}
