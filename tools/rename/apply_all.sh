#!/bin/bash
# Apply the whole table to a checkout (committed, clean): facts, renames, strings, imports, format.
#   apply_all.sh TREE [FACTS.json]     with FACTS.json the facts are not computed again
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
cd "$1"
export PYTHONPATH=$PWD
work=$(mktemp -d)
facts=${2:-$work/facts.json}
[ -e "$facts" ] || python "$here/facts.py" pfbench tests benchmarks docs -o "$facts"
python "$here/apply.py" "$here/table.tsv" "$facts" --public --log "$work/roles.log" > "$work/notes.txt"
python "$here/after.py" "$here/table.tsv" >> "$work/notes.txt"
ruff check -q --fix --unsafe-fixes --select I,RUF022,RUF023 . || true
ruff format -q .
python "$here/reflow.py" >> "$work/notes.txt"
ruff format -q .
tail -1 "$work/notes.txt"
echo "notes: $work/notes.txt, names by role: $work/roles.log"
