"""What a report compares, as BibTeX: the papers of its algorithms, and its data sets."""

from pfbench.base.bibliography import format_bibtex
from pfbench.reporting.latex import escape_latex
from pfbench.runs.planning.citation_keys import algorithm_citation_keys, find_data_sets
from pfbench.runs.planning.study import Spec


def report_bibtex(spec: Spec) -> str:
    """Return the entries of all that a report's runs cite; a comment says what has none."""
    plans = spec.runs()
    entries = [format_bibtex(algorithm_citation_keys(plan.algorithm for plan in plans))]
    for name, data_set in find_data_sets(plan.problem for plan in plans).items():
        entries.append(
            f"@misc{{data-{name},\n"
            f"  title = {{{escape_latex(data_set.name)}: {escape_latex(data_set.summary)}}},\n"
            f"  note = {{{escape_latex(data_set.citation)}}},\n"
            "}\n"
        )
    own = [text.partition("[")[0] for text in spec.user_selectors]
    if own:
        names = ", ".join(dict.fromkeys(map(escape_latex, own)))
        entries.append(f"% Without an entry, as somebody's own: {names}\n")
    return "\n".join(entry for entry in entries if entry)
