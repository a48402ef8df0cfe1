/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recount.h - what processes wrote and could not tell, as they were killed
 *
 * A process tells the board of a write when it is done. One that was killed in between left
 * records that nobody counted: they are the whole frames behind the length that it told.
 */
#ifndef TC_COLLECT_RECOUNT_H
#define TC_COLLECT_RECOUNT_H

#include "collect/board.h"

/* Add what the trace files of the folder hold beyond what the board was told. A file that cannot be
 * read adds nothing. */
void tc_recount(const char *folder, struct tc_board_totals *totals);

#endif /* TC_COLLECT_RECOUNT_H */
