# SPDX-License-Identifier: Apache-2.0
# format rewrites the C files, format-check fails on the first difference. The formatter is that of PyPI, which
# scripts/setup.sh puts into build/formatter, or one of the same major version: others lay out differently.

string(REGEX MATCH "^[0-9]+" major ${TC_PINNED_CLANG_FORMAT})
find_program(TC_CLANG_FORMAT NAMES clang-format clang-format-${major}
             PATHS ${PROJECT_SOURCE_DIR}/build/formatter/bin NO_DEFAULT_PATH)
find_program(TC_CLANG_FORMAT NAMES clang-format-${major})
file(GLOB_RECURSE formatted CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/src/*.[ch]
     ${PROJECT_SOURCE_DIR}/tools/*.[ch] ${PROJECT_SOURCE_DIR}/tests/*.[ch])
if(TC_CLANG_FORMAT AND formatted)
  add_custom_target(format COMMAND ${TC_CLANG_FORMAT} -i ${formatted} VERBATIM)
  add_custom_target(format-check
    COMMAND ${TC_CLANG_FORMAT} --dry-run -Werror ${formatted} VERBATIM)
else()
  foreach(target format format-check)
    add_custom_target(${target}
      COMMAND ${CMAKE_COMMAND} -E echo "clang-format ${major} is missing: python3 -m venv build/formatter && \
build/formatter/bin/pip install clang-format==${TC_PINNED_CLANG_FORMAT}, then configure anew"
      COMMAND ${CMAKE_COMMAND} -E false)
  endforeach()
endif()
