# SPDX-License-Identifier: Apache-2.0
# Puts a text file into a C file as an array of characters that ends with a zero:
#
#   cmake -DOUT=x.c -DFILE=table.tsv -DNAME=tc_table -P embed_text.cmake

include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

tc_literal("${FILE}" literal)
get_filename_component(file "${FILE}" NAME)
file(WRITE "${OUT}" "/* Made by cmake/embed_text.cmake of ${file}. */
extern const char ${NAME}[];
const char ${NAME}[] = ${literal};
")
