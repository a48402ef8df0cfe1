# SPDX-License-Identifier: Apache-2.0
# The shipped sets, invariants/*.jsonl, beside the executables as they will lie when installed.

set(TC_SHIPPED_DIR share/traincheck/invariants) # as in src/invariant/shipped.c
file(GLOB sets CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/invariants ${PROJECT_SOURCE_DIR}/invariants/*.jsonl)
set(copies "")
set(TC_SHIPPED_NAMES "@all")
foreach(set IN LISTS sets)
  set(copy ${CMAKE_BINARY_DIR}/${TC_SHIPPED_DIR}/${set})
  add_custom_command(OUTPUT ${copy}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/invariants/${set} ${copy}
    DEPENDS ${PROJECT_SOURCE_DIR}/invariants/${set} VERBATIM)
  list(APPEND copies ${copy})
  string(REPLACE .jsonl "" name ${set})
  string(APPEND TC_SHIPPED_NAMES " @${name}")
endforeach()
# The traces of traincheck-check --self-test.
set(TC_SELF_TEST_DIR share/traincheck/self-test) # as in tools/run_self_test.c
set(TC_SELF_TEST_TRACES ${PROJECT_SOURCE_DIR}/tools/self_test/healthy.jsonl.zst
                        ${PROJECT_SOURCE_DIR}/tools/self_test/broken.jsonl.zst)
foreach(trace IN LISTS TC_SELF_TEST_TRACES)
  cmake_path(GET trace FILENAME name)
  set(copy ${CMAKE_BINARY_DIR}/${TC_SELF_TEST_DIR}/${name})
  add_custom_command(OUTPUT ${copy} COMMAND ${CMAKE_COMMAND} -E copy ${trace} ${copy} DEPENDS ${trace} VERBATIM)
  list(APPEND copies ${copy})
endforeach()
add_custom_target(traincheck_shipped ALL DEPENDS ${copies})
