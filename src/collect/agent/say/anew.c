/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anew.c - asks the environment once
 */
#include "collect/agent/say/anew.h"

#include <stdlib.h>

#define TEST_VARIABLE "TRAINCHECK_TEST_ANEW"

bool tc_anew_always(void)
{
    static int always = -1;

    if (always < 0)
        always = getenv(TEST_VARIABLE) != NULL;
    return always;
}
