# complete_in_bash.sh SCRIPT WORD...: prints what bash completes the last word to, one candidate per line.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
handler=$(complete -p "$1" | sed 's/.*-F \([^ ]*\) .*/\1/')
"$handler"
printf '%s\n' "${COMPREPLY[@]}"
