# SPDX-License-Identifier: Apache-2.0
# TC_PINNED_<NAME> for each line NAME=VALUE of scripts/versions.
set(file ${PROJECT_SOURCE_DIR}/scripts/versions)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
file(STRINGS ${file} lines REGEX "^[A-Z_]+=")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^([A-Z_]+)=(.*)" line "${line}")
  set(TC_PINNED_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
string(REPLACE 3. "" TC_OLDEST_MINOR ${TC_PINNED_OLDEST_PYTHON})
string(REPLACE 3. "" TC_NEWEST_MINOR ${TC_PINNED_NEWEST_PYTHON})
