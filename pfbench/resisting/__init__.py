"""Resisting oracle (an online adversary), its transcript, and certificates of a lower bound."""

from pfbench.resisting.certificate import Certificate, certify, check_certificate, write_certificate
from pfbench.resisting.contestants import Contestant, list_contestants, make_contestant
from pfbench.resisting.rescaled_family import FamilyRun, run_family

__all__ = [
    "Certificate",
    "Contestant",
    "FamilyRun",
    "certify",
    "check_certificate",
    "list_contestants",
    "make_contestant",
    "run_family",
    "write_certificate",
]
