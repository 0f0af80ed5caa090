# With CS336_STATIC_LLVM: libcs336-compiler.so, which contains the compiler and the parts of MLIR and LLVM that it uses,
# and the folders that `cmake --install` creates for other machines.
#
# The library exports exactly the symbols that the tools and the extension module use. The linker can then drop the rest
# of MLIR and LLVM, and no symbol conflicts with another LLVM in the same process.

if(NOT CS336_STATIC_LLVM)
  return()
endif()
if(CS336_BUILD_TESTS OR NOT CS336_BUILD_COMPILER)
  message(FATAL_ERROR "CS336_STATIC_LLVM is for packages: it requires CS336_BUILD_COMPILER=ON and CS336_BUILD_TESTS=OFF")
endif()

get_property(libraries GLOBAL PROPERTY CS336_COMPILER_LIBRARIES)
get_property(users GLOBAL PROPERTY CS336_COMPILER_USERS)
foreach(library IN LISTS libraries)
  list(APPEND library_objects $<TARGET_OBJECTS:${library}>)
endforeach()
foreach(user IN LISTS users)
  list(APPEND user_objects $<TARGET_OBJECTS:${user}>)
endforeach()

set(exports ${PROJECT_BINARY_DIR}/compiler-exports.ld)
add_custom_command(
  OUTPUT ${exports}
  COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOUTPUT=${exports} "-DOBJECTS=${user_objects}"
          -P ${PROJECT_SOURCE_DIR}/cmake/WriteExports.cmake
  DEPENDS ${user_objects} ${PROJECT_SOURCE_DIR}/cmake/WriteExports.cmake
  COMMENT "Listing the compiler's symbols that programs use"
  VERBATIM)

file(GLOB mlir_archives ${LLVM_LIBRARY_DIRS}/libMLIR*.a)
list(FILTER mlir_archives EXCLUDE REGEX "/libMLIR(CAPI|Test)[^/]*$")
file(GLOB lld_archives ${LLVM_LIBRARY_DIRS}/liblld*.a)
file(GLOB llvm_archives ${LLVM_LIBRARY_DIRS}/libLLVM*.a)

# The host's target and, for MLIR's own passes, the GPU's.
set(omitted_targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM omitted_targets ${LLVM_NATIVE_ARCH} NVPTX)
foreach(target IN LISTS omitted_targets)
  string(APPEND omitted "OMITTED_TARGET(${target})\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/OmittedTargets.def CONTENT "${omitted}" @ONLY)

add_library(cs336_compiler SHARED ${PROJECT_SOURCE_DIR}/cmake/OmittedParts.cpp ${library_objects} ${exports})
target_include_directories(cs336_compiler PRIVATE ${PROJECT_BINARY_DIR}/package)
set_target_properties(cs336_compiler PROPERTIES OUTPUT_NAME cs336-compiler LINKER_LANGUAGE CXX)
target_link_libraries(cs336_compiler PRIVATE
  ${exports} cs336_mlir cs336_runtime cs336_file cs336_format
  -Wl,--start-group ${lld_archives} ${mlir_archives} ${llvm_archives} -Wl,--end-group
  -Wl,-Bstatic -lzstd -lz -Wl,-Bdynamic Threads::Threads ${CMAKE_DL_LIBS})

# Programs may also use symbols of other libraries: the runtime's, Abseil's, C++'s.
target_link_options(cs336_compiler PRIVATE -Wl,--undefined-version)

# DT_RPATH, unlike DT_RUNPATH, also applies to the libraries that these libraries need.
set_target_properties(cs336_compiler cs336_runtime PROPERTIES INSTALL_RPATH "$ORIGIN")
foreach(target cs336_compiler cs336_runtime ${users})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--disable-new-dtags -Wl,-z,pack-relative-relocs)
endforeach()

# Installs all libraries that these need, except those of the system: glibc and the C++ library, of which the newest
# version serves all code in a process.
install(TARGETS cs336_compiler cs336_runtime RUNTIME_DEPENDENCY_SET package LIBRARY DESTINATION lib COMPONENT tools)
install(RUNTIME_DEPENDENCY_SET package
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|dl|gcc_s|m|pthread|rt|stdc\\+\\+)\\.so"
  LIBRARY DESTINATION lib COMPONENT tools)
