"""Claims of the literature, and the functions with which users state their own.

`pfbench.claims` is public. A `Claim` has a check of a common kind (`bound`, `counts`, `rate`,
`error_law`, `identity`, `separation`), or a function of a `Trial` that returns `Evidence`. The
names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.verification.claim import Claim as Claim
    from pfbench.verification.claim import Dossier as Dossier
    from pfbench.verification.claim import Erratum as Erratum
    from pfbench.verification.claim import Mutant as Mutant
    from pfbench.verification.claim import Paper as Paper
    from pfbench.verification.claim import Quote as Quote
    from pfbench.verification.contrast import ExaminationEvidence as ExaminationEvidence
    from pfbench.verification.instances import make_instance as make_instance
    from pfbench.verification.statements.bound import bound as bound
    from pfbench.verification.statements.comparisons import identity as identity
    from pfbench.verification.statements.comparisons import separation as separation
    from pfbench.verification.statements.error_law import error_law as error_law
    from pfbench.verification.statements.exact_counts import counts as counts
    from pfbench.verification.statements.rate import rate as rate
    from pfbench.verification.statistics.decisions import Evidence as Evidence
    from pfbench.verification.trial import Trial as Trial

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
