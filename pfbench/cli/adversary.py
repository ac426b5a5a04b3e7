"""``pfbench adversary``: lower-bound certificates from runs against the resisting oracle."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pfbench.base.errors import InputError
from pfbench.base.files import check_writable
from pfbench.cli import options, terminal
from pfbench.cli.formatting import format_plural
from pfbench.cli.options import option
from pfbench.cli.progress import StepProgress

if TYPE_CHECKING:
    from pfbench.resisting import Certificate
    from pfbench.runs.engines.engine import Engine

ALL = "all"
"""Word that stands for all catalogue algorithms that the theorem covers."""

_ALGORITHM = (
    'Algorithm, as in "frank-wolfe[step=open-loop]", or FILE.py:NAME; may be repeated; '
    "all stands for every built-in algorithm that the theorem covers."
)

_NOT_WITH_CHECK = "output", "dimension", "fixed_seed"
"""Options that are not allowed when a certificate is checked."""


def adversary(
    context: typer.Context,
    algorithm: list[str] | None = option("ALGORITHM", _ALGORITHM, "--algorithm", "-a"),
    horizon: int | None = option(
        "T", "Number T of LO calls: with fewer calls, the gap stays above the bound.", minimum=1
    ),
    dimension: int | None = option("D", "Dimension of points, above 2T.", show_default="2T + 1"),
    seed: int = option("N", "Seed of the hidden directions.", default=0, minimum=0),
    fixed_seed: int | None = option(
        "N", "Seed of a randomised algorithm; the bound then holds for this seed only.", minimum=0
    ),
    output: Path | None = option(
        "FILE", "Write the certificate, and its transcript next to it.", "--output", "-o"
    ),
    check: Path | None = option("FILE", "Check this certificate and the transcript next to it."),
    store: Path = options.STORE,
    jobs: int | None = options.JOBS,
    scheduler: str | None = options.SCHEDULER,
    as_json: bool = options.AS_JSON,
) -> None:
    """Run an algorithm against the resisting oracle.

    The oracle chooses the objective while it answers, so that the Frank-Wolfe gap of every point
    stays at 0.04 D or more before T calls. A certificate states this for one algorithm, and can be
    checked from its files; the check rebuilds the algorithm, and imports a FILE.py:NAME. The
    theorem is about deterministic algorithms; --fixed-seed makes a randomised algorithm
    deterministic. Results in the store are reused, unless files are requested.

    Give one of --horizon and --check.
    """
    from pfbench.resisting import list_contestants
    from pfbench.runs.planning.name_resolution import unquote_selector

    _refuse_combinations(context.params)
    options.check_engine_options(jobs, scheduler)
    if horizon is None:
        assert check is not None
        _check_certificate_file(check, as_json=as_json)
        return
    named = [list_contestants() if text == ALL else [text] for text in algorithm or ()]
    texts = (unquote_selector(text) for text in chain.from_iterable(named))
    selectors = list(dict.fromkeys(texts))
    if output is not None:
        _check_certificate_path(output, len(selectors))
    terminal.announce_imports(selectors)
    # Starting a process for one certificate takes longer than the certificate.
    slots = 0 if jobs is None and scheduler is None and len(selectors) == 1 else jobs
    with closing(options.make_engine(slots, scheduler)) as engine:
        parameters: dict[str, Any] = {"d": dimension, "seed": seed}
        parameters |= {"fixed_seed": fixed_seed, "store": store}
        _run_contests(selectors, horizon, engine, parameters, output, as_json=as_json)


def _refuse_combinations(parameters: Mapping[str, object]) -> None:
    if (parameters["horizon"] is None) == (parameters["check"] is None):
        raise InputError("give exactly one of --horizon and --check.")
    if (parameters["check"] is None) != bool(parameters["algorithm"]):
        raise InputError("--horizon needs --algorithm, and --check takes none.")
    if parameters["check"] and any(parameters[name] is not None for name in _NOT_WITH_CHECK):
        raise InputError("--check takes no option that is for a new certificate.")


def _check_certificate_path(output: Path, algorithm_count: int) -> None:
    """Raise an error if the path of the certificate is invalid or cannot be written."""
    if algorithm_count > 1:
        raise InputError(f"--output needs one algorithm, not {algorithm_count}: omit --output.")
    if output.suffix == ".npz":
        raise InputError(f"--output {output} must end in .json, not in .npz.")
    check_writable(output, f"--output {output}")


def _check_certificate_file(path: Path, *, as_json: bool) -> None:
    from pfbench.resisting import check_certificate

    with StepProgress(f"checking {path.name}", None, "checks", quiet=as_json):
        certificate = check_certificate(
            path, notify=lambda text: terminal.announce_imports([text])
        ).certificate
    if as_json:
        terminal.print_json(certificate.as_json())
    else:
        show_certificate(certificate)
    terminal.exit_if(not certificate.certified)


# --- certificates ---------------------------------------------------------------------------------


def _run_contests(
    selectors: Sequence[str],
    horizon: int,
    engine: "Engine",
    parameters: Mapping[str, Any],
    output: Path | None,
    *,
    as_json: bool,
) -> None:
    """Compute a certificate for each algorithm, write it to a file if requested, and print it.

    The command ends with exit status 1 if an algorithm gets no certificate.
    """
    from pfbench.resisting import write_certificate
    from pfbench.resisting.certificate_session import obtain_certificates

    with StepProgress("adversary", len(selectors), "certificates", quiet=as_json) as steps:
        results = obtain_certificates(
            selectors,
            horizon,
            engine=engine,
            recompute=output is not None,
            progress=steps.advance,
            **parameters,
        )
    outcomes = [(result.label, result.outcome) for result in results if result.outcome is not None]
    if not as_json:
        terminal.print_note(
            f"{format_plural(len(results), 'certificate')} ({len(outcomes):,} run, "
            f"{len(results) - len(outcomes):,} cached)"
        )
    if output is not None:
        for _, outcome in outcomes:
            write_certificate(outcome, output)
    certificates = [result.certificate for result in results if result.certificate is not None]
    if as_json and certificates:
        records = [certificate.as_json() for certificate in certificates]
        terminal.print_json(records[0] if len(results) == 1 else records)
    for certificate in () if as_json else certificates:
        show_certificate(certificate)
    for lost in (result for result in results if result.failure_reason):
        terminal.print_error(f"there is no certificate of {lost.label}: {lost.failure_reason}")
    terminal.exit_if(
        not all(result.certificate and result.certificate.certified for result in results)
    )


def show_certificate(certificate: "Certificate") -> None:
    """Print one certificate."""
    seed = certificate.fixed_seed
    random = f"random numbers fixed by seed {seed}: nothing is certified for the mean over seeds"
    terminal.show_record(certificate.as_json(), "" if seed is None else random, as_json=False)
