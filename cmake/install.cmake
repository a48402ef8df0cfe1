# SPDX-License-Identifier: Apache-2.0
# What src/collect installs lies in lib/traincheck and the shipped sets in share/traincheck, where
# the tools look for them from the folder of the executables.

include(cmake/install_for_linking.cmake)
install(TARGETS ${TC_TOOLS} traincheck
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS traincheck_shared EXPORT traincheck LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
set(libdir ${CMAKE_INSTALL_LIBDIR})
tc_install_for_linking(${libdir}/pkgconfig ${libdir}/cmake/traincheck)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
set(share ${CMAKE_BINARY_DIR}/share/completion)
install(DIRECTORY ${share}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${share}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(DIRECTORY ${share}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY invariants/ DESTINATION ${TC_SHIPPED_DIR}
        FILES_MATCHING PATTERN "*.jsonl" PATTERN "README.md")
install(FILES ${TC_SELF_TEST_TRACES} DESTINATION ${TC_SELF_TEST_DIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# cpack -G DEB
set(CPACK_PACKAGE_NAME traincheck)
set(CPACK_PACKAGE_CONTACT "TrainCheck maintainers <maintainers@traincheck.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
