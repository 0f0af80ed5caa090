# What every folder's CMakeLists.txt uses: compiler settings and the function that declares a library.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_program(LLD_PROGRAM NAMES ld.lld-22 ld.lld)
if(LLD_PROGRAM)
  # g++ knows lld by name only, so the versioned one is reached through a folder that holds it as `ld.lld`.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/linker)
  file(CREATE_LINK ${LLD_PROGRAM} ${PROJECT_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-B${PROJECT_BINARY_DIR}/linker -fuse-ld=lld)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CS336_SANITIZE)
  add_compile_options(-fsanitize=${CS336_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CS336_SANITIZE})
endif()

# cs336_library(NAME SOURCES a.cpp ... DEPENDS tablegen-target ... LINK lib ...)
# A static library of the compiler. MLIR itself is linked once, as a shared library, through cs336_mlir.
function(cs336_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} cs336_mlir)
endfunction()
