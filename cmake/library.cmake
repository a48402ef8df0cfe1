# libtraincheck, static and shared, of the same objects; and traincheck_plain,
# the lower layers without sanitizers, for the module that is loaded into the
# user's Python.

set(TC_CORE_FOLDERS base trace import replay invariant relation infer check report online)

# The C files of folders under src/.
function(tc_sources out)
  set(sources "")
  foreach(folder IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
    list(APPEND sources ${found})
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

set(TC_CORE_LIBRARIES tc::cjson tc::zstd tc::uv tc::xxhash Threads::Threads m)

tc_sources(core ${TC_CORE_FOLDERS})
set(torch_apis ${PROJECT_SOURCE_DIR}/src/import/torch_apis.tsv)
add_custom_command(
  OUTPUT torch_apis_text.c
  COMMAND ${CMAKE_COMMAND} -DOUT=torch_apis_text.c -DFILE=${torch_apis}
    -DNAME=tc_torch_apis_text -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  DEPENDS ${torch_apis} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake)
list(APPEND core ${CMAKE_CURRENT_BINARY_DIR}/torch_apis_text.c)
add_library(traincheck_objects OBJECT ${core})
target_link_libraries(traincheck_objects PRIVATE tc_flags ${TC_CORE_LIBRARIES})
set_target_properties(traincheck_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(traincheck STATIC $<TARGET_OBJECTS:traincheck_objects>)
target_link_libraries(traincheck PUBLIC tc_flags ${TC_CORE_LIBRARIES})

add_library(traincheck_shared SHARED $<TARGET_OBJECTS:traincheck_objects>)
target_link_libraries(traincheck_shared PRIVATE tc_flags ${TC_CORE_LIBRARIES})
set_target_properties(traincheck_shared PROPERTIES
  OUTPUT_NAME traincheck VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

tc_sources(lower base trace)
add_library(traincheck_plain STATIC EXCLUDE_FROM_ALL ${lower})
target_link_libraries(traincheck_plain PUBLIC tc_plain_flags ${TC_CORE_LIBRARIES})
set_target_properties(traincheck_plain PROPERTIES POSITION_INDEPENDENT_CODE ON)

tc_sources(cli cli)
add_library(traincheck_cli STATIC ${cli})
target_link_libraries(traincheck_cli PUBLIC traincheck)
set(built_with "zstd ${TC_zstd_VERSION}, libuv ${TC_uv_VERSION}")
string(APPEND built_with ", cJSON ${TC_cjson_VERSION}, xxHash ${TC_xxhash_VERSION}")
target_compile_definitions(traincheck_cli PRIVATE "TC_BUILT_WITH=\"${built_with}\"")

add_subdirectory(src/collect)
