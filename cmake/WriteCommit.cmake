# cmake -DSOURCE=<folder> -DOUTPUT=<file> -P WriteCommit.cmake
# Writes the commit that SOURCE's work tree is at as a C++ string literal; "unknown" outside of a git repository.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(WRITE ${OUTPUT} "\"${commit}\"\n")
