/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - calls that have a safer replacement here
 *
 * The build includes it first in every .c file. A poisoned name may not even be declared, so the
 * headers that declare these calls come before.
 */
#ifndef TC_BASE_BANNED_H
#define TC_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atof

#endif /* TC_BASE_BANNED_H */
