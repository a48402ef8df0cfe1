# SPDX-License-Identifier: Apache-2.0
# Everything from outside. What is missing is named in one message, each with
# its Debian package.
#
# Gives: tc::cjson tc::zstd tc::uv tc::xxhash tc::yaml, tc::cmocka if testing,
# and TC_PYTHONS: the interpreters the agent module is built for.

set(missing "")
macro(tc_missing what package)
  list(APPEND missing "  ${what}: ${package}")
  list(APPEND missing_packages ${package})
endmacro()

# name, pkg-config module, Debian package
function(tc_find_library name module package)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(TC_${name} QUIET IMPORTED_TARGET GLOBAL ${module})
  endif()
  if(TC_${name}_FOUND)
    add_library(tc::${name} ALIAS PkgConfig::TC_${name})
  else()
    tc_missing(${module} ${package})
    return(PROPAGATE missing missing_packages)
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
  tc_missing(pkg-config pkg-config)
endif()
tc_find_library(cjson libcjson libcjson-dev)
tc_find_library(zstd libzstd libzstd-dev)
tc_find_library(uv libuv libuv1-dev)
tc_find_library(xxhash libxxhash libxxhash-dev)
tc_find_library(yaml yaml-0.1 libyaml-dev)
if(BUILD_TESTING)
  tc_find_library(cmocka cmocka libcmocka-dev)
endif()

# Is this an interpreter with its headers?
function(tc_find_python python)
  find_program(program NAMES ${python} NO_CACHE)
  set(result 1)
  if(program)
    execute_process(COMMAND ${program} -B ${PROJECT_SOURCE_DIR}/scripts/python_header.py
                    RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_QUIET)
  endif()
  if(result EQUAL 2)
    message(FATAL_ERROR ${said})
  elseif(result EQUAL 0)
    list(APPEND TC_PYTHONS ${program})
  elseif(python MATCHES "python3\\.[0-9]+$")
    tc_missing("Python.h of ${python}" ${CMAKE_MATCH_0}-dev)
  else()
    tc_missing("Python.h of ${python}" python3-dev)
  endif()
  return(PROPAGATE missing missing_packages TC_PYTHONS)
endfunction()

set(TC_PYTHONS "")
if(TRAINCHECK_PYTHONS)
  set(wanted ${TRAINCHECK_PYTHONS})
elseif(SKBUILD)
  set(wanted ${Python_EXECUTABLE}) # the one that runs pip, which need not be the one on PATH
else()
  set(wanted python3)
endif()
foreach(python IN LISTS wanted)
  tc_find_python(${python})
endforeach()

if(missing)
  list(JOIN missing "\n" lines)
  list(JOIN missing_packages " " packages)
  message(FATAL_ERROR "Missing:\n${lines}\nOn Debian and Ubuntu:\n  apt-get install ${packages}\n")
endif()
