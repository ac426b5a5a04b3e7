"""Certificates that a deterministic algorithm's gap stays above the lower bound before T calls.

A certificate is the result of a run against the resisting oracle, of a second run with other
random numbers, and of the two checks of `replay`. It is a JSON file, with the transcript in a
second file next to it. These two files suffice to verify it on any machine.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from pfbench.base.counts import Counts
from pfbench.base.errors import DataError
from pfbench.base.files import as_storage_errors, atomic_write
from pfbench.problems.chain_bounds import PAPER_SMOOTHNESS
from pfbench.problems.zero_chain import GAP, ZeroChain, chain_smoothness
from pfbench.resisting import replay
from pfbench.resisting.contestants import Contestant, make_contestant
from pfbench.resisting.resisting_oracle import (
    ResistingOracle,
    make_resisting_chain,
    run_against_oracle,
)
from pfbench.resisting.transcript import Transcript, file_digest
from pfbench.runs.loop.steps import random_stream

SCHEMA = 1

ORTHONORMAL = 1e-10
"""Largest allowed entry of |V'V - I| for the hidden directions V."""


@dataclass(frozen=True)
class Certificate:
    """Results of a run against the resisting oracle, and whether they prove the lower bound.

    Attributes
    ----------
    algorithm
        Selector of the algorithm with all its parameters.
    horizon, dimension, seed
        T, d, and the seed of the hidden directions.
    smoothness, paper_smoothness
        l of f: the certified one, and the paper's 3^15 for H_T.
    directions_digest
        SHA-256 of V.
    orthonormality_error
        Largest entry of |V'V - I|.
    counts
        Oracle calls of the online run, by the ledger.
    queries
        Gradient queries at new points.
    answer_max_relative_error, query_max_relative_error
        Errors of checks (i) and (ii); None if (ii) stopped without a number.
    span_max_relative_distance
        Largest distance of a point queried or yielded before T LO calls from the span of the start
        and the LO outputs; 0 up to rounding under condition (14) of shen2019.
    min_gap_over_diameter
        Smallest gap over D before T counted calls, over all points queried or yielded.
    calls_to_target
        Counted calls up to the first gap of at most 0.04 D; None if there was none.
    certified, certified_for
        Whether the bound holds, and before T calls of which kind: "lo", "gradient" or None.
    findings
        Reasons why it is not certified, or not for LO; one sentence each.
    fixed_seed
        Seed of a randomised algorithm, which the certificate is about; None for a deterministic
        one.
    """

    algorithm: str
    horizon: int
    dimension: int
    seed: int
    smoothness: float
    paper_smoothness: float
    directions_digest: str
    orthonormality_error: float
    counts: Counts
    queries: int
    answer_max_relative_error: float
    query_max_relative_error: float | None
    span_max_relative_distance: float
    min_gap_over_diameter: float
    calls_to_target: int | None
    certified: bool
    certified_for: str | None
    findings: tuple[str, ...]
    fixed_seed: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the certificate as the dict that ``pfbench adversary --json`` prints."""
        json = {**asdict(self), "counts": self.counts.as_dict()}
        errors = self.answer_max_relative_error, self.query_max_relative_error
        json["replay_max_relative_error"] = None if errors[1] is None else max(errors)  # type: ignore[type-var]
        json["claimed_gap_over_diameter"] = GAP
        json["diameter"] = 460.0 * math.sqrt(self.horizon)
        json["findings"] = list(self.findings)
        return json

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the certificate from a dict that `as_json` returned."""
        arguments = {name: row[name] for name in NEEDED}
        converted = {"counts": Counts(**row["counts"]), "findings": tuple(row["findings"])}
        return cls(**arguments | converted, fixed_seed=row.get("fixed_seed"))


NEEDED = frozenset(field.name for field in fields(Certificate)) - {"fixed_seed"}
"""Keys that a row or file of a certificate must have."""


@dataclass(frozen=True)
class AdversaryOutcome:
    """Certificate of an algorithm, with the transcript and the answer check that it rests on.

    Attributes
    ----------
    certificate
        The certificate.
    transcript
        The transcript.
    answer_check
        Result of check (i), with the gap of every point that was queried or yielded.
    """

    certificate: Certificate
    transcript: Transcript
    answer_check: replay.AnswerCheck


def certify(
    contestant: Contestant, T: int, *, d: int | None = None, seed: int = 0
) -> AdversaryOutcome:
    """Run an algorithm against the resisting oracle, and return its certificate.

    Parameters
    ----------
    contestant
        The algorithm.
    T
        The horizon.
    d
        The dimension, above 2T; by default 2T + 1.
    seed
        Seed of the hidden directions, and of the algorithm's random stream.

    Raises
    ------
    InputError
        If d is too small, or the algorithm fails.
    RefusedError
        If the algorithm uses up the dimension.
    """
    problem = make_resisting_chain(T, d)
    # The same oracle twice; only the algorithm's own random numbers differ.
    first, second = (
        ResistingOracle(problem, random_stream(seed, "oracles"), record=record)
        for record in (True, False)
    )
    ledger = run_against_oracle(contestant.algorithm, first, contestant.random_stream(seed))
    run_against_oracle(contestant.algorithm, second, contestant.random_stream(seed + 1))
    fixed, transcript = first.finish()
    assert transcript is not None
    findings = []
    if first.counts() != ledger:
        findings.append(_describe_uncounted(first.counts(), ledger))
    if first.exchange_digest() != second.exchange_digest():
        findings.append("the algorithm is random: a second run with another random stream differs.")
    return build_outcome(contestant, fixed, transcript, ledger, seed, findings)


def _describe_uncounted(measured: Counts, ledger: Counts) -> str:
    differing = ", ".join(
        f"{count} {name} instead of {ledger.as_dict()[name]}"
        for name, count in measured.as_dict().items()
        if count != ledger.as_dict()[name]
    )
    return f"the algorithm makes uncounted queries: the oracle answered {differing}."


def build_outcome(
    contestant: Contestant,
    fixed: ZeroChain,
    transcript: Transcript,
    ledger_counts: Counts,
    seed: int,
    findings: list[str],
) -> AdversaryOutcome:
    """Apply both checks of the module `replay` to a transcript, and make the certificate.

    `findings` are those of the run against the resisting oracle.
    """
    T, D = fixed.horizon, fixed.set.diameter
    answers = replay.check_answers(fixed, transcript)
    queries = replay.replay_queries(
        contestant.algorithm, fixed, transcript, contestant.random_stream(seed + 1)
    )
    skew = replay.orthonormality_error(transcript.directions)
    refusals = list(dict.fromkeys((*findings, *_certification_obstacles(answers, queries, skew))))
    leaves = "" if queries.departure else _describe_span_violation(queries)
    counted = "gradient" if leaves else "lo"
    lower = answers.min_gap_before_call(T, counted) / D
    if lower < GAP:
        calls = {"lo": "LO calls", "gradient": "gradient queries"}[counted]
        refusals.append(f"the gap falls to {lower:.3g} D, below {GAP} D, before {T} {calls}.")
    certificate = Certificate(
        algorithm=contestant.selector,
        horizon=T,
        dimension=fixed.columns,
        seed=seed,
        smoothness=chain_smoothness(),
        paper_smoothness=PAPER_SMOOTHNESS,
        directions_digest=transcript.chain_directions_digest(),
        orthonormality_error=skew,
        counts=queries.ledger or ledger_counts,
        queries=answers.queries,
        answer_max_relative_error=answers.error,
        query_max_relative_error=queries.error if math.isfinite(queries.error) else None,
        span_max_relative_distance=queries.distance,
        min_gap_over_diameter=lower,
        calls_to_target=answers.calls_to_gap(GAP * D, counted),
        certified=not refusals,
        certified_for=None if refusals else counted,
        findings=(*refusals, *([leaves] if leaves else [])),
        fixed_seed=contestant.fixed_seed,
    )
    return AdversaryOutcome(certificate, transcript, answers)


def _certification_obstacles(
    answers: replay.AnswerCheck, queries: replay.RecordedAnswersBackend, skew: float
) -> list[str]:
    refusals = []
    if not skew <= ORTHONORMAL:
        refusals.append(f"the hidden directions are not orthonormal: they are off by {skew:.2g}.")
    if not answers.error <= replay.TOLERANCE:
        reason = f"the fixed function differs from a recorded answer by {answers.error:.2g}."
        refusals.append(f"check (i) fails: {reason}")
    if queries.departure:
        refusals.append(
            "check (ii) fails: fed only the recorded answers, the algorithm makes other "
            f"queries ({queries.departure}), as if it knew what the oracle hides."
        )
    elif queries.ledger is not None and queries.counts() != queries.ledger:
        refusals.append(_describe_uncounted(queries.counts(), queries.ledger))
    return refusals


def _describe_span_violation(queries: replay.RecordedAnswersBackend) -> str:
    if queries.counts().po:
        why = "the algorithm projects, so its points are not determined by LO outputs"
    elif not queries.distance <= replay.TOLERANCE:
        why = (
            f"the algorithm leaves the span of start and LO outputs by "
            f"{queries.distance:.2g} of a point's norm"
        )
    else:
        return ""
    return f"{why}, against (14): only the bound for T gradient queries is certified."


# --- files ----------------------------------------------------------------------------------------


def transcript_path(path: Path) -> Path:
    """Return the path of the transcript file that belongs to the certificate file at `path`."""
    return path.with_name(f"{path.stem}.transcript.npz")


def write_certificate(outcome: AdversaryOutcome, path: Path) -> None:
    """Write the transcript, then the certificate, which contains the transcript's hash.

    Raises
    ------
    StorageError
        If a file cannot be written.
    """
    neighbour = transcript_path(path)
    digest = outcome.transcript.write(neighbour)
    content = {"schema": SCHEMA, **outcome.certificate.as_json()}
    content["transcript"] = {"file": neighbour.name, "sha256": digest}
    content["digest"] = _digest(content)
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    with as_storage_errors(f"the certificate {path}"), atomic_write(path) as file:
        file.write(f"{text}\n".encode())


def _digest(content: dict[str, Any]) -> str:
    """Return the SHA-256 of a certificate's content, except its field `digest`."""
    rest = {name: part for name, part in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check_certificate(
    path: Path, *, notify: Callable[[str], object] | None = None
) -> AdversaryOutcome:
    """Verify a certificate from its file and its transcript.

    The algorithm is rebuilt from its selector. The orthonormality of V, both checks of `replay`,
    and all gaps are recomputed.

    Parameters
    ----------
    path
        The certificate; its transcript is in the same folder.
    notify
        Called with the algorithm's selector before it is built, which may import a user's module.

    Returns
    -------
    AdversaryOutcome
        The recomputed result; its certificate is certified only if the file says so and it is true.

    Raises
    ------
    DataError
        If a file is missing, damaged, or was edited.
    InputError, RefusedError
        If the algorithm cannot be built, or is not admitted.
    """
    stored = _read_certificate(path)
    neighbour = path.with_name(stored["transcript"]["file"])
    if file_digest(neighbour) != stored["transcript"]["sha256"]:
        raise DataError(
            f"{neighbour} is not the transcript that {path.name} was made from: the transcript was "
            "edited or replaced."
        )
    transcript = Transcript.load(neighbour)
    if transcript.directions.shape != (stored["horizon"], stored["dimension"]):
        raise DataError(
            f"the transcript {neighbour} has another horizon or dimension than {path.name}."
        )
    if notify is not None:
        notify(stored["algorithm"])
    chain = make_resisting_chain(stored["horizon"], stored["dimension"])
    contestant = make_contestant(stored["algorithm"], chain, fixed_seed=stored.get("fixed_seed"))
    if not replay.orthonormality_error(transcript.directions) <= ORTHONORMAL:
        raise DataError(f"the chain's directions in {neighbour} are not orthonormal: redo the run.")
    problem = replace(chain, directions=np.ascontiguousarray(transcript.directions).T)
    ledger = Counts(**stored["counts"])
    outcome = build_outcome(contestant, problem, transcript, ledger, stored["seed"], [])
    findings = [*stored["findings"], *outcome.certificate.findings]
    differing = _first_differing_field(outcome.certificate, stored) if stored["certified"] else ""
    if differing:
        findings.append(f"the stored {differing} differs from the recomputed one.")
    elif stored["certified"]:
        return outcome
    told_once = tuple(dict.fromkeys(findings))
    doubted = replace(outcome.certificate, certified=False, certified_for=None, findings=told_once)
    return replace(outcome, certificate=doubted)


_SAME = ("directions_digest", "calls_to_target", "queries", "certified_for", "smoothness", "counts")


def _first_differing_field(certificate: Certificate, stored: dict[str, Any]) -> str:
    """Return the name of the first field in which two certificates differ; empty if none does.

    Return an empty string if there is none.
    """
    json = certificate.as_json()
    for name in _SAME:
        if json[name] != stored[name]:
            return name
    # On another machine sums may be rounded in another order.
    gap = stored["min_gap_over_diameter"]
    close = math.isclose(certificate.min_gap_over_diameter, gap, rel_tol=1e-6)
    return "" if close else "min_gap_over_diameter"


def _read_certificate(path: Path) -> dict[str, Any]:
    """Read a certificate file, and return its content as a dict.

    Raises
    ------
    DataError
        If it cannot be read, is not a certificate, or was edited.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        Certificate.from_row(content)
        if content["schema"] != SCHEMA:
            raise DataError(
                f"{path} has schema {content['schema']}, not {SCHEMA}: create a new file."
            )
        if content["digest"] != _digest(content):
            raise DataError(f"{path} was edited: its digest does not match its content.")
        file, _ = content["transcript"]["file"], content["transcript"]["sha256"]
        if not re.fullmatch(r"[^/\\]+", file):
            raise DataError(f"{path} names a transcript in another folder: put both in one folder.")
    except OSError as error:
        raise DataError(f"the certificate {path} cannot be read ({error.strerror}).") from error
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is damaged or not a certificate: create it again.") from error
    return dict(content)
