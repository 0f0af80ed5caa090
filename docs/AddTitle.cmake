# Gives a page that mlir-tblgen wrote a title, instead of its own if it has one:
#
#   cmake -DFROM=RAW.md -DTO=PAGE.md -DTITLE=TITLE -P AddTitle.cmake
#
# Headings of passes are of the third level, and become those below the title.

file(READ "${FROM}" page)
string(REGEX REPLACE "^(<!--[^\n]*-->\n+)(# [^\n]*\n+)?" "\\1# ${TITLE}\n\n" page "${page}")
if(NOT page MATCHES "\n## ")
  string(REGEX REPLACE "\n##(#+ )" "\n#\\1" page "${page}")
endif()
file(WRITE "${TO}" "${page}")
