/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - what the shared library shows
 *
 * It is built with hidden visibility: a function is part of the interface if its declaration says
 * so. tests/abi/ holds the list.
 */
#ifndef TRAINCHECK_EXPORT_H
#define TRAINCHECK_EXPORT_H

#define TC_API __attribute__((visibility("default")))

#endif /* TRAINCHECK_EXPORT_H */
