# SPDX-License-Identifier: Apache-2.0
# libtraincheck, static and shared, of the same objects; and traincheck_plain,
# the lower layers without sanitizers, for the module that is loaded into the
# user's Python.

set(TC_CORE_FOLDERS base trace import replay compare invariant relation python_tool fact infer check finding plan report online)

# The C files of folders under src/.
function(tc_sources out)
  set(sources "")
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
    list(APPEND sources ${found})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

set(TC_CORE_LIBRARIES tc::cjson tc::zstd tc::uv tc::xxhash Threads::Threads m ${CMAKE_DL_LIBS})

# Adds a text file to the sources in the variable `out`, as the array `name` of characters.
function(tc_embed_text out file name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DFILE=${PROJECT_SOURCE_DIR}/src/${file} -DNAME=${name}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/src/${file} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
            ${PROJECT_SOURCE_DIR}/cmake/literal.cmake
    VERBATIM)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  set(${out} ${${out}} ${source} PARENT_SCOPE)
endfunction()

tc_sources(core ${TC_CORE_FOLDERS})
tc_embed_text(core import/torch_apis.tsv tc_torch_apis_text)
tc_embed_text(core report/html/report.html tc_text_report_html)
tc_embed_text(core report/html/report.css tc_text_report_css)
tc_embed_text(core report/html/steps.js tc_text_steps_js)
tc_embed_text(core report/html/report.js tc_text_report_js)
tc_embed_text(core report/html/fleet.html tc_text_fleet_html)
tc_embed_text(core report/html/fleet.css tc_text_fleet_css)
tc_embed_text(core report/html/fleet.js tc_text_fleet_js)
tc_embed_text(core report/html/plan.css tc_text_plan_css)
tc_embed_text(core report/html/compare.css tc_text_compare_css)
tc_embed_text(core report/html/parts.css tc_text_parts_css)
add_library(traincheck_objects OBJECT ${core})
set_source_files_properties(src/plan/matrix_wide.c PROPERTIES COMPILE_OPTIONS "${TC_WIDEST_FLAGS}")
target_link_libraries(traincheck_objects PRIVATE tc_flags ${TC_CORE_LIBRARIES})
set_target_properties(traincheck_objects PROPERTIES
  POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)

add_library(traincheck STATIC $<TARGET_OBJECTS:traincheck_objects>)
target_link_libraries(traincheck PUBLIC tc_flags ${TC_CORE_LIBRARIES})

# Show these symbols of a shared object, as far as they are visible, and no others.
function(tc_export target names)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: @names@; local: *; };\n" @ONLY)
  target_link_options(${target} PRIVATE -Wl,--version-script=${script})
endfunction()

add_library(traincheck_shared SHARED $<TARGET_OBJECTS:traincheck_objects>)
target_link_libraries(traincheck_shared PRIVATE tc_flags ${TC_CORE_LIBRARIES})
target_include_directories(traincheck_shared INTERFACE $<INSTALL_INTERFACE:${TC_INCLUDE_DIR}>)
# Where they are linked statically, the libraries it needs are no part of what it shows.
tc_export(traincheck_shared "tc_*")
set_target_properties(traincheck_shared PROPERTIES
  OUTPUT_NAME traincheck EXPORT_NAME traincheck VERSION ${TC_ABI} SOVERSION ${TC_ABI_MAJOR})

if(TC_SANITIZE_AGENT) # the same objects would be compiled again
  add_library(traincheck_plain ALIAS traincheck)
else()
  tc_sources(lower base trace)
  add_library(traincheck_plain STATIC EXCLUDE_FROM_ALL ${lower})
  target_link_libraries(traincheck_plain PUBLIC tc_plain_flags ${TC_CORE_LIBRARIES})
  set_target_properties(traincheck_plain PROPERTIES POSITION_INDEPENDENT_CODE ON)
  tc_whole_program(traincheck_plain)
endif()

tc_sources(cli cli)
add_library(traincheck_cli STATIC ${cli})
target_link_libraries(traincheck_cli PUBLIC traincheck)
set(built_with "zstd ${TC_zstd_VERSION}, libuv ${TC_uv_VERSION}")
string(APPEND built_with ", cJSON ${TC_cjson_VERSION}, xxHash ${TC_xxhash_VERSION}")
target_compile_definitions(traincheck_cli PRIVATE "TC_BUILT_WITH=\"${built_with}\"")

add_subdirectory(src/collect)
