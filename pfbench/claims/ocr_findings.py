"""Findings on papers that were read in machine-made copies: always *doubtful*."""

from collections.abc import Callable, Mapping

from pfbench.verification import Dossier, Erratum
from pfbench.verification.contrast import ExaminationEvidence


def make_unverified_erratum(
    name: str,
    printed: str,
    corrected: str,
    examine: Callable[[str, int], ExaminationEvidence],
    derivation: tuple[str, ...],
    instance: str,
    readings: Mapping[str, str],
    objection: str,
    *,
    also: str = "",
) -> Erratum:
    """Return a finding that is doubtful until its paper is compared with the print, without quotes.

    Parameters
    ----------
    name, printed, corrected, examine, objection
        As in `pfbench.verification.Erratum`.
    derivation, instance, readings
        As in `pfbench.verification.Dossier`.
    also
        Assumptions in addition to the copy's being true to the print.
    """
    dossier = Dossier(
        conclusion="doubtful",
        quotes=(),
        assumption=f"that the copy made by machine has what is printed{also}",
        derivation=derivation,
        instance=instance,
        readings=readings,
    )
    return Erratum(
        name=name,
        as_printed=printed,
        corrected=corrected,
        examine=examine,
        objection=objection,
        dossier=dossier,
    )
