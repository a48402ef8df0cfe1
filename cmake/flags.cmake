# SPDX-License-Identifier: Apache-2.0
# Two interface libraries: tc_plain_flags for all code, and tc_flags which adds
# the sanitizers of TC_SANITIZE.

add_library(tc_plain_flags INTERFACE)
target_include_directories(tc_plain_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(tc_plain_flags INTERFACE _GNU_SOURCE)
target_compile_options(tc_plain_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wwrite-strings -Wformat=2 -Wundef
  "SHELL:-include \"${PROJECT_SOURCE_DIR}/src/base/banned.h\""
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> # messages are cut off on purpose
  $<$<BOOL:${TC_WERROR}>:-Werror>
  # What is handed on does not tell where it was built, and is the same from any folder.
  "$<$<CONFIG:Release>:SHELL:\"-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=\" \"-ffile-prefix-map=${PROJECT_BINARY_DIR}=build\">")

# For files that check at run time whether the processor has what they use.
set(TC_WIDE_FLAGS "")
set(TC_WIDEST_FLAGS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TC_WIDE_FLAGS -mavx2)
  set(TC_WIDEST_FLAGS -O3 -mavx512f -mavx512ifma)
endif()

add_library(tc_flags INTERFACE)
target_link_libraries(tc_flags INTERFACE tc_plain_flags)
if(TC_SANITIZE)
  target_compile_options(tc_flags INTERFACE -fsanitize=${TC_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(tc_flags INTERFACE -fsanitize=${TC_SANITIZE})
  # The instrumented code hides from gcc what was set: it says so itself, in its manual of -fsanitize.
  target_compile_options(tc_flags INTERFACE $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(TC_SANITIZE MATCHES "undefined")
    target_compile_options(tc_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
if(TC_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang" OR NOT TC_SANITIZE)
    message(FATAL_ERROR "TC_FUZZ needs -DCMAKE_C_COMPILER=clang and -DTC_SANITIZE=address")
  endif()
  # The mutators know the words: to look at each comparison took a quarter of the end-to-end target's time.
  target_compile_options(tc_flags INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
endif()

# Optimised as a whole in builds that are optimised: what is short and called at each traced call is in files of its own, by its
# subject, and a tenth of what such a call executes is to get there.
include(CheckIPOSupported)
check_ipo_supported(RESULT TC_HAS_IPO OUTPUT no_ipo LANGUAGES C)
function(tc_whole_program target)
  if(TC_HAS_IPO AND NOT TC_SANITIZE_AGENT)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELWITHDEBINFO ON INTERPROCEDURAL_OPTIMIZATION_RELEASE ON)
  endif()
endfunction()
