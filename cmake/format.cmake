# format rewrites the C files, format-check fails on the first difference.

find_program(TC_CLANG_FORMAT NAMES clang-format-14)
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
      COMMAND ${CMAKE_COMMAND} -E echo "clang-format-14 is missing: apt-get install clang-format-14"
      COMMAND ${CMAKE_COMMAND} -E false)
  endforeach()
endif()
