"""Claims of the literature put to the test, with verdicts and their evidence.

Here are the words that a theorem's file needs: what is claimed, and what its check is given and
returns. Decisions from measurements are in `statistics`, what an examination of an erratum needs in
`contrast`, problems on which claims bind in `instruments`. The names are loaded on first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import homes_of, on_first_use

if TYPE_CHECKING:
    from pfbench.base.arrays import Floats as Floats
    from pfbench.verification.claim import Claim as Claim
    from pfbench.verification.claim import Erratum as Erratum
    from pfbench.verification.claim import Mutant as Mutant
    from pfbench.verification.claim import Paper as Paper
    from pfbench.verification.dossier import Dossier as Dossier
    from pfbench.verification.dossier import Quote as Quote
    from pfbench.verification.evidence import Evidence as Evidence
    from pfbench.verification.followed import Step as Step
    from pfbench.verification.instances import Instance as Instance
    from pfbench.verification.instances import instance as instance
    from pfbench.verification.subject import Broken as Broken
    from pfbench.verification.subject import Raised as Raised
    from pfbench.verification.subject import Subject as Subject
    from pfbench.verification.subject import Unfit as Unfit
    from pfbench.verification.subject import Untestable as Untestable
    from pfbench.verification.trial import Trial as Trial

_HOMES = homes_of(__name__)
__all__ = list(_HOMES)
__getattr__ = on_first_use(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
