#!/bin/bash
# The linter: tools/, tox, CONTRIBUTING. Run from the root of a checkout after the renames.
set -e
here=$(dirname "$(readlink -f "$0")")/..
mkdir -p tools
cp "$here/check_words.py" "$here/words.toml" tools/
grep -q check_words tox.ini || sed -i '/^description = check format, style/,/^commands =/ s/^commands =/commands =\n    python tools\/check_words.py/' tox.ini
python "$here/hand/contributing.py"
cp "$here/hand/test_check_words.py" tests/tools/
python tools/check_words.py --write >/dev/null
