# SPDX-License-Identifier: Apache-2.0
# What a wheel holds: the tools as scripts, the library in the package, the rest where the tools look for it, in the prefix.

install(TARGETS ${TC_TOOLS} RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
# One file: wheels know no symbolic links.
set_property(TARGET traincheck_shared PROPERTY VERSION)
set_property(TARGET traincheck_shared PROPERTY SOVERSION)
install(TARGETS traincheck_shared EXPORT traincheck LIBRARY DESTINATION libtraincheck)
include(cmake/install_for_linking.cmake)
set(prefix_from_pc ../..)
set(libdir libtraincheck)
tc_install_for_linking(libtraincheck/pkgconfig libtraincheck/cmake)
if(TRAINCHECK_LICENSES) # of what is linked statically
  install(DIRECTORY ${TRAINCHECK_LICENSES}/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses)
endif()
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ DESTINATION ${TC_PREFIX}share/man/man1)
set(share ${CMAKE_BINARY_DIR}/share/completion)
install(DIRECTORY ${share}/bash/ DESTINATION ${TC_PREFIX}share/bash-completion/completions)
install(DIRECTORY ${share}/zsh/ DESTINATION ${TC_PREFIX}share/zsh/site-functions)
install(DIRECTORY ${share}/fish/ DESTINATION ${TC_PREFIX}share/fish/vendor_completions.d)
install(DIRECTORY invariants/ DESTINATION ${TC_PREFIX}${TC_SHIPPED_DIR}
        FILES_MATCHING PATTERN "*.jsonl" PATTERN "README.md")
install(FILES ${TC_SELF_TEST_TRACES} DESTINATION ${TC_PREFIX}${TC_SELF_TEST_DIR})
