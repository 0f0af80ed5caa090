# MLIR 22, from Debian's llvm-22 packages unless MLIR_DIR names another one: its shared libraries or, for a package, its
# archives, which Package.cmake links.

set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "Folder of MLIRConfig.cmake")
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})

add_library(cs336_mlir INTERFACE)
target_include_directories(cs336_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(cs336_mlir INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_definitions(cs336_mlir INTERFACE ${LLVM_DEFINITIONS_LIST})
# LLVM's headers define other class layouts with NDEBUG than without, and the library's own constructors fill these
# classes. So code that includes them agrees with the build of the library, whatever the build type. Other code keeps
# its assertions.
if(NOT LLVM_ENABLE_ASSERTIONS)
  target_compile_definitions(cs336_mlir INTERFACE NDEBUG)
endif()
target_compile_options(cs336_mlir INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(NOT CS336_STATIC_LLVM)
  target_link_libraries(cs336_mlir INTERFACE MLIR LLVM)
endif()

# TableGen looks for its includes in the folder's include directories.
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
