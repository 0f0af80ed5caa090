# cmake -DPAGES=a.md;b.md -DOUTPUT=pages.inc -P EmbedPages.cmake
# Writes the pages as C++ string literals, one after the other.

cmake_minimum_required(VERSION 3.25)

foreach(page IN LISTS PAGES)
  file(READ ${page} text)
  string(APPEND literals "R\"page(${text})page\",\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${literals}" @ONLY)
