"""Put the rules for names, docstrings and commits into CONTRIBUTING.md."""
from pathlib import Path

TEXT = '''## Names

A numerical programmer who has never seen the project guesses from a name alone what it is. A function is a verb in the
imperative or the noun of what it returns, a class a noun that no other class has, a truth value a statement (`is_`, `has_`,
`can_`, `needs_`), a module the name of its content, once in the package. Paper symbols stay (`L_f`, `sigma`, `eta`).

| not | but | why |
| --- | --- | --- |
| `told(value)` | `brief_repr(value)` | a participle says nothing of what is returned |
| `Asked` (five classes) | `OracleCall`, `CheckTask`, ... | one class, one noun |
| `Fault.late` | `Fault.is_late` | a truth value reads as a statement |
| `for one in claims` | `for claim in claims` | a variable is named after its class or its role |
| `own_algorithm(text)` | `load_user_algorithm(text)` | code is *built-in*, *user-defined* or *third-party* |

`python tools/check_words.py` checks names and texts against `tools/words.toml`; it runs in `tox -e check`. A banned name
(W1) and a function named by a participle or a preposition (W2) fail. The other counts may only fall: after a change that
lowers one, `--write` takes the lower count. A word that is right in its place goes on the list `[[allowed]]` with its reason.

## Docstrings

numpydoc, with shapes and units. The summary is one line: imperative for a function, a noun phrase for a module, class or
property.

| not | but |
| --- | --- |
| "What is seen of a run on the way." | "Follow a run step by step." |
| "Return what is computed of a point, from what is kept." | "Return a cached evaluation, computing it on the first call." |
| "The worst function, made whole" | "Reconstruct the worst-case function." |
| "Whose the sizes are." | "Source of each batch size." |
| "As `linear.slopes_at`." | "NumPy version of `linear.write_slopes`." |

## Commits

The subject is in the imperative, at most 72 characters, without a full stop; a prefix (`ENH`, `FIX`, `DOC`, `MAINT`, `TST`,
`PERF`) is optional. An empty line and a body that says why follow. One thought a commit; rebase instead of merging.

| not | but |
| --- | --- |
| "A name" | "MAINT: rename `scaled_schedules` to `schedule_homogeneity`" |
| "Where they are" | "DOC: move the file list of `claims` to the reference" |
| "What changed, in the changelog" | "DOC: add 13 entries to the changelog" |
| "A fraction of a call is refused where a run is stored, as before" | "FIX: reject fractional counts when storing a run" |
| "Times of very many runs, measured again" | "DOC: refresh the timings on the scaling page" |

'''
path = Path("CONTRIBUTING.md")
old = path.read_text(encoding="utf-8")
if "## Names" not in old:
    head, mark, tail = old.partition("## Tests\n")
    old = head + TEXT + mark + tail
    old = old.replace("""- Names are the field's standard terms, one word for one thing, the same in code, command line,
  JSON and prose. Where a paper has a symbol, the code has it too.
""", """- One word for one thing, the same in code, command line, JSON and prose; see *Names* below.
""")
    path.write_text(old, encoding="utf-8")
