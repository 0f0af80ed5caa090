# What `cmake --install` makes for code outside of this tree, which finds it by find_package(CS336Opt COMPONENTS …):
#
#   component runtime    the library that loads and runs executables, and its headers; LLVM is not needed
#   component compiler   the compiler's headers (generated ones and .td files too) and libraries; needs component runtime
#
# Tools are the component `tools`. A package with MLIR linked in exports nothing that others could link; see Package.cmake.

if(CS336_STATIC_LLVM)
  return()
endif()
include(CMakePackageConfigHelpers)
set(CS336_PACKAGE_FOLDER lib/cmake/CS336Opt)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CS336OptConfig.cmake.in CS336OptConfig.cmake
  INSTALL_DESTINATION ${CS336_PACKAGE_FOLDER} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(CS336OptConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CS336OptConfig.cmake ${PROJECT_BINARY_DIR}/CS336OptConfigVersion.cmake
  DESTINATION ${CS336_PACKAGE_FOLDER} COMPONENT runtime)

# cs336_install_development(COMPONENT target ...)
function(cs336_install_development component)
  install(TARGETS ${ARGN} EXPORT CS336Opt-${component}
    ARCHIVE DESTINATION lib COMPONENT ${component}
    LIBRARY DESTINATION lib COMPONENT ${component})
  install(EXPORT CS336Opt-${component} NAMESPACE CS336Opt:: DESTINATION ${CS336_PACKAGE_FOLDER} COMPONENT ${component})
endfunction()

set_target_properties(cs336_runtime PROPERTIES EXPORT_NAME runtime)
cs336_install_development(runtime cs336_runtime cs336_file cs336_format)
install(DIRECTORY runtime/include/cs336 ${PROJECT_BINARY_DIR}/runtime/include/cs336 DESTINATION include COMPONENT runtime
  FILES_MATCHING PATTERN *.h)

if(CS336_BUILD_COMPILER)
  get_property(libraries GLOBAL PROPERTY CS336_COMPILER_LIBRARIES)
  cs336_install_development(compiler ${libraries} cs336_mlir)
  install(DIRECTORY include/cs336 ${PROJECT_BINARY_DIR}/include/cs336 DESTINATION include COMPONENT compiler
    FILES_MATCHING PATTERN *.h PATTERN *.inc PATTERN *.td PATTERN CMakeFiles EXCLUDE)
endif()
