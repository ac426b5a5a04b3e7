"""The resisting oracle: an online adversary, its transcript, and the certificate of a floor."""

from pfbench.resisting.certificate import Certificate, certify, check_certificate, write_certificate
from pfbench.resisting.contestants import Contestant, contestant, every_contestant
from pfbench.resisting.rescaled import Reached, fitted, rescaled

__all__ = [
    "Certificate",
    "Contestant",
    "Reached",
    "certify",
    "check_certificate",
    "contestant",
    "every_contestant",
    "fitted",
    "rescaled",
    "write_certificate",
]
