# Completion of cs336-bench, cs336-lsp-server, cs336-opt, cs336-run and cs336-translate in bash. The tools themselves
# say what fits, by their hidden flag --complete, so that this file holds no flags.

_cs336_complete() {
  # COMP_WORDS splits "--dtype=bf16" into three words; the tools take those too.
  mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

# Files, where a tool has nothing to offer.
complete -o default -o bashdefault -F _cs336_complete cs336-bench cs336-lsp-server cs336-opt cs336-run cs336-translate
