/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the memory of event loops, for tools: a library leaves it to its process
 */
#ifndef TC_ONLINE_LOOP_H
#define TC_ONLINE_LOOP_H

/* libuv takes memory by tc_malloc from now on, which says when none is left: libuv itself ends the
 * process with abort(), or goes on without. To be called before anything else of libuv. */
void tc_loop_use_own_memory(void);

#endif /* TC_ONLINE_LOOP_H */
