# SPDX-License-Identifier: Apache-2.0
# For those who link the library: headers, traincheck.pc, and find_package(traincheck).

# Folders below the prefix for the two. Reads libdir, and prefix_from_pc: the way from the first folder to the prefix.
function(tc_install_for_linking pc_dir package_dir)
  configure_file(cmake/traincheck.pc.in ${CMAKE_BINARY_DIR}/traincheck.pc @ONLY)
  configure_package_config_file(cmake/traincheck-config.cmake.in ${CMAKE_BINARY_DIR}/traincheck-config.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/traincheck-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/traincheck.pc DESTINATION ${pc_dir})
  install(EXPORT traincheck NAMESPACE traincheck:: FILE traincheck-targets.cmake DESTINATION ${package_dir})
  install(FILES ${CMAKE_BINARY_DIR}/traincheck-config.cmake ${CMAKE_BINARY_DIR}/traincheck-config-version.cmake
          DESTINATION ${package_dir})
  install(DIRECTORY include/traincheck DESTINATION ${TC_INCLUDE_DIR} FILES_MATCHING PATTERN "*.h")
endfunction()
