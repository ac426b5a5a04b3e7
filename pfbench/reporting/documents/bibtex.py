"""What a report compares, as BibTeX: the papers of its algorithms, and its data sets."""

from pfbench.base.bibliography import bibtex
from pfbench.reporting.latex import latex_text
from pfbench.runs.planning.citation_keys import data_sets, references
from pfbench.runs.planning.study import Spec


def bibliography(spec: Spec) -> str:
    """Return the entries of all that a report's runs cite; a comment says what has none."""
    plans = spec.runs()
    entries = [bibtex(references(plan.algorithm for plan in plans))]
    for name, data_set in data_sets(plan.problem for plan in plans).items():
        entries.append(
            f"@misc{{data-{name},\n"
            f"  title = {{{latex_text(data_set.name)}: {latex_text(data_set.summary)}}},\n"
            f"  note = {{{latex_text(data_set.citation)}}},\n"
            "}\n"
        )
    own = [text.partition("[")[0] for text in spec.user_selectors]
    if own:
        names = ", ".join(dict.fromkeys(map(latex_text, own)))
        entries.append(f"% Without an entry, as somebody's own: {names}\n")
    return "\n".join(entry for entry in entries if entry)
