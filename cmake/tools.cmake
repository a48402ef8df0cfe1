# The four executables, each of tools/<name>.c and its option table.

set(TC_TOOLS "")
function(tc_tool name)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/tools/traincheck-${name}.c)
    return()
  endif()
  add_executable(traincheck-${name} tools/traincheck-${name}.c tools/options_${name}.c)
  target_include_directories(traincheck-${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools)
  target_link_libraries(traincheck-${name} PRIVATE ${ARGN} traincheck_cli traincheck tc_flags)
  set(TC_TOOLS ${TC_TOOLS} traincheck-${name} PARENT_SCOPE)
endfunction()

if(TARGET traincheck_collect)
  tc_tool(collect traincheck_collect)
endif()
tc_tool(infer)
tc_tool(check)
tc_tool(onlinecheck)
