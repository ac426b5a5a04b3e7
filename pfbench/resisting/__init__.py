"""The resisting oracle: an online adversary, its transcript, and the certificate of a floor."""

from pfbench.resisting.certificate import Certificate, certify, check_certificate, write_certificate
from pfbench.resisting.contestants import Contestant, all_contestants, contestant
from pfbench.resisting.rescaled_family import FamilyRun, fit_calls, run_family

__all__ = [
    "Certificate",
    "Contestant",
    "FamilyRun",
    "all_contestants",
    "certify",
    "check_certificate",
    "contestant",
    "fit_calls",
    "run_family",
    "write_certificate",
]
