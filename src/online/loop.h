/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - memory and descriptors of event loops
 */
#ifndef TC_ONLINE_LOOP_H
#define TC_ONLINE_LOOP_H

/* For tools, as a library leaves it to its process: libuv takes memory by tc_malloc from now on,
 * which says when none is left: libuv itself ends the process with abort(), or goes on without. To
 * be called before anything else of libuv. */
void tc_loop_use_own_memory(void);

/* Are there as many descriptors as a loop needs? libuv ends the process where a pipe for signals
 * cannot be made: ask before it does. 0, or an error of libuv. */
int tc_loop_find_descriptors(void);

#endif /* TC_ONLINE_LOOP_H */
