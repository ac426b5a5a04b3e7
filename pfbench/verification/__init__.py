"""Claims of the literature put to the test, with verdicts and their evidence.

Here are the words that a theorem's file needs: what is claimed, and what its check is given and
returns. Decisions from measurements are in `statistics`, what an examination of an erratum needs in
`contrast`, problems on which claims bind in `instruments`.
"""

from pfbench.base.arrays import Floats
from pfbench.verification.claim import Claim, Erratum, Mutant, Paper
from pfbench.verification.dossier import Dossier, Quote
from pfbench.verification.evidence import Evidence
from pfbench.verification.followed import Step
from pfbench.verification.instances import Instance, instance
from pfbench.verification.subject import Broken, Raised, Subject, Unfit, Untestable
from pfbench.verification.trial import Trial

__all__ = [
    "Broken",
    "Claim",
    "Dossier",
    "Erratum",
    "Evidence",
    "Floats",
    "Instance",
    "Mutant",
    "Paper",
    "Quote",
    "Raised",
    "Step",
    "Subject",
    "Trial",
    "Unfit",
    "Untestable",
    "instance",
]
