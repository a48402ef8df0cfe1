# Puts a text file into a C file as a zero-terminated array of bytes:
#
#   cmake -DOUT=x.c -DFILE=table.tsv -DNAME=tc_table -P embed_text.cmake

file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n" bytes "${bytes}")
get_filename_component(file "${FILE}" NAME)
file(WRITE "${OUT}" "/* Made by cmake/embed_text.cmake of ${file}. */
extern const char ${NAME}[];
const char ${NAME}[] = {
${bytes}0x00};
")
