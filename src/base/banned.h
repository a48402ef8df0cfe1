/* SPDX-License-Identifier: Apache-2.0 */
/*
 * banned.h - calls that have a safer replacement here; included last in .c files of src/ and tools/
 */
#ifndef TC_BASE_BANNED_H
#define TC_BASE_BANNED_H

#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok atoi atof

#endif /* TC_BASE_BANNED_H */
