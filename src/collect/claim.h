/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - one collector at a time in a folder
 */
#ifndef TC_COLLECT_CLAIM_H
#define TC_COLLECT_CLAIM_H

#include <stdbool.h>

#include <traincheck/error.h>

/*
 * Keep other collectors of this host out of a folder until tc_claim_leave(), or until the process
 * ends however it ends; TC_E_USAGE if one is there. Processes that it forks do not keep the claim,
 * but a program that takes its place does where is_replaced. Collectors of one job of several
 * processes share a folder, each with a file of its own: *is_shared says that another one is there
 * already. Hosts do not see each other's claims, as the nodes of a job write into one folder.
 */
enum tc_status tc_claim_folder(const char *dir, bool is_replaced, bool *is_shared,
                               struct tc_error *err);
void tc_claim_leave(void);

#endif /* TC_COLLECT_CLAIM_H */
