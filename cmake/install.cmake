# What `cmake --install` puts where. The tree may be moved as a whole afterwards: both
# lazuli.pc and the CMake package find the prefix from their own place.
include(CMakePackageConfigHelpers)

install(TARGETS lazuli EXPORT lazuli-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lazuli_gen_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES $<TARGET_FILE:lazuli-gen> DESTINATION ${CMAKE_INSTALL_LIBDIR}) # only through pkg-config: it needs libyaml
install(DIRECTORY include/lazuli ${LZ_GEN_DIR}/include/lazuli DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")

set(LZ_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(LZ_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
    set(LZ_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
    set(LZ_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH up /${LZ_PC_DIR} /)
    string(REGEX REPLACE "/$" "" up ${up})
    set(LZ_PC_PREFIX "\${pcfiledir}/${up}")
    set(LZ_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(LZ_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(package lazuli lazuli-gen)
    configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${package}.pc DESTINATION ${LZ_PC_DIR})
endforeach()

set(LZ_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lazuli)
configure_package_config_file(cmake/lazuli-config.cmake.in lazuli-config.cmake
    INSTALL_DESTINATION ${LZ_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(lazuli-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lazuli-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lazuli-config-version.cmake
    DESTINATION ${LZ_PACKAGE_DIR})
install(EXPORT lazuli-targets NAMESPACE lazuli:: DESTINATION ${LZ_PACKAGE_DIR})
