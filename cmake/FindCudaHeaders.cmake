# CUDA 13's headers, which declare the driver that the runtime loads at run time; no CUDA library is linked. They come
# from NVIDIA's wheels beside the Python that builds the package, whose licences the package can list, or from a toolkit
# (CUDA_HOME, /usr/local/cuda).

find_package(Python 3.9 COMPONENTS Interpreter QUIET)
if(Python_Interpreter_FOUND)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import nvidia; print(';'.join(path + '/cu13/include' for path in nvidia.__path__))"
    OUTPUT_VARIABLE wheel_folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(CUDA_INCLUDE_DIR cuda.h
  HINTS ${wheel_folders} $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
if(NOT CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cannot find CUDA 13's cuda.h: install a toolkit and name it by CUDA_HOME, or install the wheel "
                      "nvidia-cuda-runtime (python-bindings/requirements-dev.txt) and pass -DPython_EXECUTABLE=<its Python>")
endif()
file(STRINGS ${CUDA_INCLUDE_DIR}/cuda.h cuda_version REGEX "^#define CUDA_VERSION 1[3-9][0-9][0-9][0-9]")
if(NOT cuda_version)
  message(FATAL_ERROR "${CUDA_INCLUDE_DIR}/cuda.h is not of CUDA 13: name a newer toolkit by CUDA_HOME or -DCUDA_INCLUDE_DIR=<folder>")
endif()
string(REGEX MATCH "[0-9]+$" CS336_CUDA_VERSION "${cuda_version}")

# NVTX, which is headers only. Toolkits contain it too.
find_path(NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h
  HINTS ${CUDA_INCLUDE_DIR} ${wheel_folders} $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
if(NOT NVTX_INCLUDE_DIR)
  message(FATAL_ERROR "cannot find nvtx3/nvToolsExt.h: install a CUDA 13 toolkit and name it by CUDA_HOME, or install the wheel "
                      "nvidia-nvtx (python-bindings/requirements-dev.txt) and pass -DPython_EXECUTABLE=<its Python>")
endif()
mark_as_advanced(CUDA_INCLUDE_DIR NVTX_INCLUDE_DIR)

# pip finds the headers in a folder with a random name. Commands contain links in the build folder in its place, so that
# such builds find each other's objects in ccache.
foreach(headers CUDA NVTX)
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${${headers}_INCLUDE_DIR}" NORMALIZE is_inside)
  if(NOT is_inside)
    set(link ${PROJECT_BINARY_DIR}/headers/${headers})
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/headers)
    file(CREATE_LINK ${${headers}_INCLUDE_DIR} ${link} SYMBOLIC)
    set(${headers}_INCLUDE_DIR ${link})
  endif()
endforeach()
