# SPDX-License-Identifier: Apache-2.0
# The four executables: a main, its option table, its work. Man pages and
# completions are made by the tools themselves.

set(TC_TOOLS "")
function(tc_tool name)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/tools/)
  add_executable(traincheck-${name} tools/traincheck-${name}.c tools/options_${name}.c ${ARGN})
  target_include_directories(traincheck-${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_compile_definitions(traincheck-${name} PRIVATE "TC_SHIPPED_NAMES=\"${TC_SHIPPED_NAMES}\"")
  target_link_libraries(traincheck-${name} PRIVATE traincheck_cli traincheck tc_flags)
  add_custom_command(TARGET traincheck-${name} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:traincheck-${name}> -DDIR=${CMAKE_BINARY_DIR}/share
            -P ${PROJECT_SOURCE_DIR}/cmake/texts.cmake VERBATIM)
  set(TC_TOOLS ${TC_TOOLS} traincheck-${name} PARENT_SCOPE)
endfunction()

tc_tool(infer run_infer.c notes.c overwrite.c)
tc_tool(check each.c run_check.c run_compare.c run_each.c run_plan.c run_self_test.c script_of.c hang_told.c notes.c overwrite.c track.c verdict.c)
tc_tool(onlinecheck options_check.c run_check.c run_onlinecheck.c run_watch.c script_of.c hang_told.c notes.c overwrite.c track.c verdict.c)
tc_tool(collect run_collect.c)
target_link_libraries(traincheck-collect PRIVATE traincheck_collect)
