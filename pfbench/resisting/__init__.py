"""Resisting oracle (an online adversary), its transcript, and certificates of a lower bound."""

from pfbench.resisting.certificate import Certificate as Certificate
from pfbench.resisting.certificate import certify as certify
from pfbench.resisting.certificate import check_certificate as check_certificate
from pfbench.resisting.certificate import write_certificate as write_certificate
from pfbench.resisting.contestants import Contestant as Contestant
from pfbench.resisting.contestants import list_contestants as list_contestants
from pfbench.resisting.contestants import make_contestant as make_contestant
