"""Findings on papers that were read in a copy made by machine: *doubtful*, whatever they show."""

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
    """Return a finding until its paper is compared with the print; it quotes nothing.

    Parameters
    ----------
    name, printed, corrected, examine, objection
        As of `pfbench.verification.Erratum`.
    derivation, instance, readings
        As of `pfbench.verification.Dossier`.
    also
        What is assumed beside the copy's being true to the print.
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
