"""Claims of the literature, and the words in which anybody states his own.

`pfbench.claims` is public: a `Claim` is stated with a check of a common kind (`bound`, `counts`,
`rate`, `error_law`, `identity`, `separation`), or with a function of a `Trial` that returns
`Evidence`. The names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import homes_of, on_first_use

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim as Claim
    from pfbench.verification.claim import Erratum as Erratum
    from pfbench.verification.claim import Mutant as Mutant
    from pfbench.verification.claim import Paper as Paper
    from pfbench.verification.contrast import Contrast as Contrast
    from pfbench.verification.dossier import Dossier as Dossier
    from pfbench.verification.dossier import Quote as Quote
    from pfbench.verification.evidence import Evidence as Evidence
    from pfbench.verification.instances import instance as instance
    from pfbench.verification.stating.bound import bound as bound
    from pfbench.verification.stating.counts import counts as counts
    from pfbench.verification.stating.error_law import error_law as error_law
    from pfbench.verification.stating.identity import identity as identity
    from pfbench.verification.stating.rate import rate as rate
    from pfbench.verification.stating.separation import separation as separation
    from pfbench.verification.trial import Trial as Trial

_HOMES = homes_of(__name__)
__all__ = list(_HOMES)
__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
