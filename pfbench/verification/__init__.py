"""Tests of the literature's claims, which give verdicts and their evidence.

This package exports the classes that a theorem's file needs: the claim, the argument of its check,
and the result. Decisions from measurements are in `statistics`, helpers for the examination of
errata in `contrast`, and problems on which bounds are tight in `instruments`. Names are loaded on
first use.
"""

from typing import TYPE_CHECKING

from pfbench.base.lazy import lazy_names

if TYPE_CHECKING:
    from pfbench.base.arrays import Floats as Floats
    from pfbench.verification.claim import Claim as Claim
    from pfbench.verification.claim import Dossier as Dossier
    from pfbench.verification.claim import Erratum as Erratum
    from pfbench.verification.claim import Mutant as Mutant
    from pfbench.verification.claim import Paper as Paper
    from pfbench.verification.claim import Quote as Quote
    from pfbench.verification.instances import Instance as Instance
    from pfbench.verification.instances import make_instance as make_instance
    from pfbench.verification.statistics.decisions import Evidence as Evidence
    from pfbench.verification.step_record import StepRecord as StepRecord
    from pfbench.verification.subject import ClaimBroken as ClaimBroken
    from pfbench.verification.subject import MethodFailed as MethodFailed
    from pfbench.verification.subject import NotTestable as NotTestable
    from pfbench.verification.subject import Subject as Subject
    from pfbench.verification.subject import UnsupportedPoints as UnsupportedPoints
    from pfbench.verification.trial import Trial as Trial

_HOMES, __all__, __getattr__, __dir__ = lazy_names(__name__)
