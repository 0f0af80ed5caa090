# cmake -DLIBRARY=... -DNM=... -P CheckLibraries.cmake
# Fails if the runtime needs LLVM, MLIR or a library of CUDA, or holds any code of the first two.

file(GET_RUNTIME_DEPENDENCIES
  LIBRARIES ${LIBRARY}
  RESOLVED_DEPENDENCIES_VAR needed
  UNRESOLVED_DEPENDENCIES_VAR unresolved)
foreach(path IN LISTS needed unresolved)
  if(path MATCHES "LLVM|MLIR|libclang|libcu(da|blas|pti)|libnv")
    message(SEND_ERROR "the runtime needs ${path}")
  endif()
endforeach()
if(NOT needed MATCHES "libdnnl")
  message(SEND_ERROR "libdnnl is not among what was found, so the search did not work: ${needed}")
endif()

# Mangled names of both namespaces, undefined or defined.
execute_process(COMMAND ${NM} --dynamic ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} ${LIBRARY} OUTPUT_VARIABLE all)
string(REGEX MATCHALL "[^\n]*_Z[A-Z]*[0-9]*N*K*4(llvm|mlir)[0-9][^\n]*" found "${dynamic}${all}")
foreach(symbol IN LISTS found)
  message(SEND_ERROR "the runtime has the symbol ${symbol}")
endforeach()
if(NOT dynamic MATCHES "_ZN5cs3367runtime7Session")
  message(SEND_ERROR "nm shows no symbol of the runtime's own, so the search did not work")
endif()
