# Compiler settings, and the functions with which every folder's CMakeLists.txt declares libraries and programs.

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Headers of MLIR take most of the time of a compilation: eight sources of a library take less than half the time if they
# are one compilation. With -DCMAKE_UNITY_BUILD=OFF each source is compiled alone.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
endif()

find_program(LLD_PROGRAM NAMES ld.lld-22 ld.lld)
if(LLD_PROGRAM)
  # g++ accepts lld only by the name `ld.lld`, so a folder provides the versioned one under this name.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/linker)
  file(CREATE_LINK ${LLD_PROGRAM} ${PROJECT_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-B${PROJECT_BINARY_DIR}/linker -fuse-ld=lld)
endif()

# Every program and library contains a hash of its content: cached executables depend on the compiler that made them.
add_link_options(-Wl,--build-id=sha1)

# Limit the damage of undetected errors in every program and library: an overwritten return address ends the process,
# tables of function addresses are resolved at start and then read-only, and programs are loaded at a random address.
# Sanitizers have checks of their own.
include(CheckPIESupported)
check_pie_supported()
if(NOT CS336_SANITIZE)
  add_compile_options(-fstack-protector-strong)
  add_link_options(-Wl,-z,relro,-z,now)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of Abseil's inlined vectors: their pointer to the heap is not initialized, and not read, without one.
  # It warns of text inserted before a std::string, too: it takes the text for a part of that string.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict)
endif()
if(CS336_SANITIZE)
  add_compile_options(-fsanitize=${CS336_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CS336_SANITIZE})
endif()

# cs336_library(NAME SOURCES a.cpp ... DEPENDS tablegen-target ... LINK lib ...)
# Declares a static library of the compiler. Programs link MLIR itself once, in cs336_use_compiler.
function(cs336_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} cs336_mlir)
  set_property(GLOBAL APPEND PROPERTY CS336_COMPILER_LIBRARIES ${name})
endfunction()

# cs336_use_compiler(TARGET lib ...)
# Links libraries of the compiler into a tool, a library of a tool, or an extension module: the archives and shared MLIR, or, with
# CS336_STATIC_LLVM, the one library that Package.cmake makes of all of them.
function(cs336_use_compiler target)
  if(NOT CS336_STATIC_LLVM)
    target_link_libraries(${target} PUBLIC ${ARGN})
    return()
  endif()
  # By its path, and not as a target: what it exports depends on the objects of the very targets that link it.
  target_link_libraries(${target} PUBLIC cs336_mlir cs336_runtime ${CS336_COMPILER_FILE})
  if(ARGN)
    add_dependencies(${target} ${ARGN})
  endif()
  set_property(GLOBAL APPEND PROPERTY CS336_COMPILER_USERS ${target})
endfunction()

# cs336_tool_library(NAME SOURCES a.cpp ... USE tool-library ... LINK lib ...)
# A static library that a tool consists of. It uses the compiler as the tool does and is no part of it.
function(cs336_tool_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USE;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_USE})
  cs336_use_compiler(${name} ${ARG_LINK})
endfunction()

# cs336_embed_text(FILE OUTPUT)
# Writes the text of FILE, a path within the project, as a C++ string literal to OUTPUT in the current build folder.
function(cs336_embed_text file output)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  file(CONFIGURE OUTPUT ${output} CONTENT "R\"text(${text})text\"\n" @ONLY)
endfunction()
