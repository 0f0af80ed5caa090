# cmake -DNM=nm -DOBJECTS=a.o;b.o -DOUTPUT=exports.ld -P WriteExports.cmake
# Writes a linker script for a shared library. It defines and exports the symbols that the objects leave undefined,
# exports the symbols that it shares with them (inline functions, their static variables, vtables), and exports nothing
# else.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${NM} --format=posix ${OBJECTS} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+ U[^\n]*" undefined "${text}")
string(REGEX MATCHALL "[^\n]+ [VWu] [^\n]*" shared "${text}")
foreach(list undefined shared)
  list(TRANSFORM ${list} REPLACE "^([^ ]+) .*$" "\\1")
  # Only C++ names: the others belong to the system's libraries.
  list(FILTER ${list} INCLUDE REGEX "^_Z")
  list(REMOVE_DUPLICATES ${list})
  list(SORT ${list})
endforeach()
list(JOIN undefined "\n" externs)
set(globals ${undefined} ${shared})
list(JOIN globals ";\n" globals)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "EXTERN(\n@externs@\n)\nVERSION {\n{ global:\n@globals@;\nlocal: *; };\n}\n" @ONLY)
