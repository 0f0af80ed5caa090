# The runtime's dependencies, from Debian's packages.

find_package(absl REQUIRED CONFIG)
find_package(Eigen3 3.4 REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_program(FLATC_PROGRAM flatc REQUIRED)
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)

# The distributions' CMake configs of these two require more than the runtime uses (OpenCL's headers, command-line
# tools).
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(LIBZIP_INCLUDE_DIR zip.h REQUIRED)
find_library(LIBZIP_LIBRARY zip REQUIRED)
find_path(NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp REQUIRED)
find_path(ASIO_INCLUDE_DIR asio/ip/tcp.hpp REQUIRED)
mark_as_advanced(FLATC_PROGRAM FLATBUFFERS_INCLUDE_DIR DNNL_INCLUDE_DIR DNNL_LIBRARY LIBZIP_INCLUDE_DIR LIBZIP_LIBRARY
                 NLOHMANN_JSON_INCLUDE_DIR ASIO_INCLUDE_DIR)
