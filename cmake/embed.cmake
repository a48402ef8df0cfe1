# SPDX-License-Identifier: Apache-2.0
# Puts text files into a C file as arrays of characters:
#
#   cmake -DOUT=x.c -DFILES="a.py;b.py" -DPACKAGE=name -DKERNEL="k.h;k.c" -P embed.cmake
#
# in the order given; __init__.py is the package itself, and KERNEL the source that devices are given. In angle brackets stands what is no file: coverage.py and the
# like leave it out.

include(${CMAKE_CURRENT_LIST_DIR}/literal.cmake)

set(arrays "")
set(rows "")
set(i 0)
foreach(file IN LISTS FILES)
  tc_literal("${file}" literal)
  string(APPEND arrays "static const char file${i}[] = ${literal};\n")
  get_filename_component(stem "${file}" NAME_WE)
  set(module "${PACKAGE}.${stem}")
  if(stem STREQUAL "__init__")
    set(module "${PACKAGE}")
  endif()
  string(APPEND rows
    "    {\"${module}\", \"<embedded ${PACKAGE}/${stem}.py>\", file${i}},\n")
  math(EXPR i "${i} + 1")
endforeach()
set(parts "")
foreach(file IN LISTS KERNEL)
  tc_literal("${file}" literal)
  string(APPEND arrays "static const char file${i}[] = ${literal};\n")
  string(APPEND parts "file${i}, ")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE "${OUT}" "/* Made by cmake/embed.cmake. */
#include \"collect/agent/embedded.h\"

${arrays}
const struct tc_embedded tc_embedded[] = {
${rows}    {0, 0, 0},
};
const char *const tc_kernel_source[] = {${parts}0};
")
