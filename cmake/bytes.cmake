# SPDX-License-Identifier: Apache-2.0
# The bytes of a file as the initialiser of an array in C, ended by a zero byte.
function(tc_bytes file out)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){16})" "\\1\n" bytes "${bytes}")
  set(${out} "{\n${bytes}0x00}" PARENT_SCOPE)
endfunction()
