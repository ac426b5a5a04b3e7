"""What a report compares, as BibTeX: the papers of its algorithms, and its data sets."""

from pfbench.base.bibliography import bibtex
from pfbench.reporting.latex import latex_text
from pfbench.runs.planning.citing import data_sets, references
from pfbench.runs.planning.study import Spec


def bibliography(spec: Spec) -> str:
    """Return the entries of all that a report's runs cite; a comment says what has none."""
    plans = spec.runs()
    entries = [bibtex(references(plan.algorithm for plan in plans))]
    for name, found in data_sets(plan.problem for plan in plans).items():
        entries.append(
            f"@misc{{data-{name},\n"
            f"  title = {{{latex_text(found.name)}: {latex_text(found.summary)}}},\n"
            f"  note = {{{latex_text(found.citation)}}},\n"
            "}\n"
        )
    own = [text.partition("[")[0] for text in spec.own_selectors]
    if own:
        names = ", ".join(dict.fromkeys(map(latex_text, own)))
        entries.append(f"% Without an entry, as somebody's own: {names}\n")
    return "\n".join(entry for entry in entries if entry)
