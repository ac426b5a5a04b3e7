"""``pfbench adversary``: the resisting oracle against algorithms, certificates, and their check."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pfbench.base.errors import InputError
from pfbench.cli.options import STORE, StoreFolder
from pfbench.cli.printing import (
    AsJson,
    columns,
    complain,
    console,
    fields,
    heading,
    number,
    plural,
    print_json,
    show,
)
from pfbench.cli.progress import Steps

if TYPE_CHECKING:
    from pfbench.resisting import Certificate, Reached
    from pfbench.resisting.certificate import Outcome

ALL = "all"
"""In place of a selector: every algorithm of the catalogue that the theorem speaks of."""


def adversary(
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="ALGORITHM",
            help='As in "frank-wolfe[step=open-loop]", or MODULE:NAME; may come several times; '
            "all for every one that the theorem speaks of.",
        ),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(metavar="T", help="Calls before which the floor must hold.")
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(metavar="D", help="Length of a point, above 2T.", show_default="2T + 1"),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(metavar="N", help="Iterations of a run.", show_default="T"),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the hidden directions.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the certificate, its transcript beside it.",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check a certificate from its two files alone."),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            metavar="T,T,...",
            help="Count LO calls to gap <= eps D on the rescaled family with these T(eps).",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --family: LO calls at which a run is given up.",
            show_default="200000",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the gaps, or the family: .svg, .pdf or .png."),
    ] = None,
    store: StoreFolder = STORE,
    as_json: AsJson = False,
) -> None:
    """Set the resisting oracle on an algorithm.

    It chooses the objective while it answers, so that the Frank-Wolfe gap of every point stays at
    0.04 D or more before T calls. A certificate says so of one algorithm, and can be checked from
    its files; the algorithm is made anew for that, and a MODULE:NAME is imported. A certificate
    that the store has is not made again, unless its files or a figure are asked for.

    Give one of --horizon, --family and --check.
    """
    _exclusive(check, horizon, family, algorithm)
    if figure is not None:
        from pfbench.resisting.figures import check_figure

        check_figure(figure)
    if check is not None:
        _refuse(
            "--check",
            (
                ("--output", output),
                ("--dimension", dimension),
                ("--iterations", iterations),
                ("--most", most),
                ("--figure", figure),
            ),
        )
        _check(check, as_json=as_json)
    elif family is not None:
        _refuse(
            "--family",
            (("--output", output), ("--dimension", dimension), ("--iterations", iterations)),
        )
        _family(_selectors(algorithm), family, most, seed, figure, as_json=as_json)
    else:
        _refuse("--horizon", (("--most", most),))
        assert horizon is not None
        selectors = _selectors(algorithm)
        if output is not None:
            _check_output(output, selectors)
        _certify(
            selectors,
            horizon,
            dimension,
            iterations,
            seed,
            output,
            figure,
            store,
            as_json=as_json,
        )


def _exclusive(
    check: Path | None, horizon: int | None, family: str | None, algorithm: list[str] | None
) -> None:
    given = [name for name, value in _modes(check, horizon, family) if value is not None]
    if len(given) != 1:
        found = " and ".join(given) if given else "none of them"
        raise InputError(f"give one of --horizon, --family and --check, not {found}.")
    if (check is None) == (algorithm is None):
        what = "needs --algorithm" if check is None else "takes no --algorithm: leave it out"
        raise InputError(f"{given[0]} {what}.")


def _modes(
    check: Path | None, horizon: int | None, family: str | None
) -> Iterable[tuple[str, object]]:
    return ("--horizon", horizon), ("--family", family), ("--check", check)


def _refuse(mode: str, options: Iterable[tuple[str, object]]) -> None:
    for name, value in options:
        if value is not None:
            raise InputError(f"{name} does not go with {mode}: leave it out.")


def _selectors(given: list[str] | None) -> list[str]:
    from pfbench.resisting import every_contestant

    found = [t for text in given or [] for t in (every_contestant() if text == ALL else [text])]
    return list(dict.fromkeys(found))


def _check_output(output: Path, selectors: Sequence[str]) -> None:
    """Refuse a certificate that could not be written, before anything runs."""
    if len(selectors) > 1:
        raise InputError(f"--output {output} is for one algorithm, not {len(selectors)}.")
    if output.is_dir():
        raise InputError(f"--output {output} is a folder: give the path of a file.")
    if output.suffix == ".npz":
        raise InputError(f"--output {output} is the certificate: let its name end in .json.")
    if not output.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {output.parent}; make it first.")
    try:
        with tempfile.NamedTemporaryFile(dir=output.parent, prefix=f".{output.name}."):
            pass
    except OSError as error:
        raise InputError(
            f"--output {output}: its folder is not writable ({error.strerror}); choose another."
        ) from error


# --- certificates ---------------------------------------------------------------------------------


def _certify(
    selectors: Sequence[str],
    horizon: int,
    dimension: int | None,
    iterations: int | None,
    seed: int,
    output: Path | None,
    figure: Path | None,
    folder: Path,
    *,
    as_json: bool,
) -> None:
    from pfbench.base.checks import integer
    from pfbench.resisting import certify, contestant, keeping, write
    from pfbench.resisting.oracle import frame
    from pfbench.runs.storage.store import Store

    integer("--seed", seed, least=0)
    problem = frame(integer("--horizon", horizon, least=1), dimension)
    for text in selectors:
        _tell_import(text)
    standing = [contestant(text, problem, iterations) for text in selectors]
    store, fresh = Store(folder), output is not None or figure is not None
    keys = [keeping.key_of(one, horizon, dimension, seed) for one in standing]
    stored = [None if fresh else keeping.find(store, key) for key in keys]
    if None in stored:
        store.check_writable()
    found: list[Certificate] = []
    outcomes: list[Outcome] = []
    for one, key, known in zip(standing, keys, stored, strict=True):
        if known is not None:
            found.append(known)
            continue
        # Two online runs of about as many iterations as the horizon.
        total = 2 * (horizon if iterations is None else iterations)
        with Steps(one.label, total, "iterations", quiet=as_json) as steps:
            outcomes.append(certify(one, horizon, d=dimension, seed=seed, watch=steps.reach))
        found.append(outcomes[-1].certificate)
        if output is not None:
            write(outcomes[-1], output)
        keeping.keep(store, key, one, found[-1].as_json())
    if not as_json:
        number = f"{plural(len(found), 'certificate')}, {len(outcomes):,} of them made now"
        console(error=True).print(number)
    if figure is not None:
        from pfbench.resisting.figures import draw_gaps

        draw_gaps([(s.label, o) for s, o in zip(standing, outcomes, strict=True)], figure)
    if as_json:
        described = [certificate.as_json() for certificate in found]
        print_json(described[0] if len(described) == 1 else described)
    elif len(found) == 1:
        show_certificate(found[0])
    else:
        show_certificates([one.label for one in standing], found)
    if not all(certificate.certified for certificate in found):
        raise typer.Exit(1)


def _check(path: Path, *, as_json: bool) -> None:
    from pfbench.resisting import check

    with Steps(f"checking {path.name}", None, "checks", quiet=as_json):
        certificate = check(path, told=_tell_import).certificate
    if as_json:
        print_json(certificate.as_json())
    else:
        show_certificate(certificate)
    if not certificate.certified:
        raise typer.Exit(1)


def _tell_import(selector: str) -> None:
    """Print the name of somebody's own algorithm before it is imported."""
    name = selector.partition("[")[0].strip()
    if ":" in name:
        console(error=True).print(f"importing {name}")


def show_certificate(found: "Certificate") -> None:
    """Print one certificate."""
    before = {"lo": "LO calls", "gradient": "gradient queries", None: "calls"}[found.certified_for]
    verdict = f"yes, before {found.horizon:,} {before}" if found.certified else "no"
    reached = found.calls_to_target
    show(
        fields(
            [
                ("algorithm", found.algorithm),
                ("certified", verdict),
                ("horizon T", f"{found.horizon:,}"),
                ("dimension", f"{found.dimension:,}"),
                ("seed", str(found.seed)),
            ]
        ),
        heading(
            "what was found",
            columns(
                ("what", "value", "needed"),
                [
                    ("least gap before T", _gap(found.min_gap_over_diameter), "0.04 D or more"),
                    (
                        "calls to gap 0.04 D",
                        "not reached" if reached is None else f"{reached:,}",
                        "T or more",
                    ),
                    (
                        "(i) answers of the fixed function",
                        number(found.answer_max_relative_error),
                        "1e-9 or less",
                    ),
                    (
                        "(ii) queries of the algorithm",
                        number(found.query_max_relative_error),
                        "1e-9 or less",
                    ),
                    (
                        "distance from the span of LO outputs",
                        number(found.span_max_relative_distance),
                        "1e-9 or less for LO",
                    ),
                    (
                        "orthonormality of V",
                        number(found.orthonormality_error),
                        "1e-10 or less",
                    ),
                    ("gradient queries at new points", f"{found.queries:,}", ""),
                    ("LO calls", f"{found.counts.lo:,}", ""),
                    (
                        "smoothness used",
                        number(found.smoothness),
                        f"certified (the paper: {found.paper_smoothness:,.0f})",
                    ),
                ],
                right=("value",),
            ),
        ),
        *([heading("findings", *found.findings)] if found.findings else []),
    )


def _gap(value: float) -> str:
    return f"{value:.6g} D = {2.0 * value:.6g} R"


def show_certificates(labels: Sequence[str], found: "Sequence[Certificate]") -> None:
    """Print several certificates, one line each."""
    rows = [
        (
            f"for {one.certified_for}" if one.certified else "no",
            f"{2.0 * one.min_gap_over_diameter:.4g} R",
            "not reached" if one.calls_to_target is None else f"{one.calls_to_target:,}",
            f"{one.answer_max_relative_error:.1e}",
            "no number"
            if one.query_max_relative_error is None
            else f"{one.query_max_relative_error:.1e}",
            f"{one.counts.lo:,}",
            label,
        )
        for label, one in zip(labels, found, strict=True)
    ]
    first = found[0]
    names = "certified", "least gap", "calls to 0.08 R", "(i)", "(ii)", "LO", "algorithm"
    show(
        fields(
            [
                ("horizon T", f"{first.horizon:,}"),
                ("dimension", f"{first.dimension:,}"),
                ("floor", "0.08 R before T calls"),
            ]
        ),
        heading(
            plural(len(found), "algorithm"),
            columns(names, rows, right=names[1:-1]),
        ),
    )
    for label, one in zip(labels, found, strict=True):
        for finding in one.findings:
            complain(f"{label}: {finding}")


# --- the family -----------------------------------------------------------------------------------


def _family(
    selectors: Sequence[str],
    horizons: str,
    most: int | None,
    seed: int,
    figure: Path | None,
    *,
    as_json: bool,
) -> None:
    from pfbench.base.checks import integer
    from pfbench.resisting import contestant, fitted, rescaled
    from pfbench.resisting.oracle import frame
    from pfbench.resisting.rescaled import MOST, epsilon_of

    integer("--seed", seed, least=0)
    most = MOST if most is None else integer("--most", most, least=1)
    epsilons = [epsilon_of(T) for T in _horizons(horizons)]
    for text in selectors:
        _tell_import(text)
        contestant(text, frame(1))  # refuses what may not stand, before anything runs
    runs: list[Reached] = []

    def made(run: "Reached") -> None:
        runs.append(run)
        steps.advance()

    with Steps("family", len(selectors) * len(epsilons), "runs", quiet=as_json) as steps:
        rescaled(
            selectors,
            epsilons,
            most=most,
            seed=seed,
            watch=made,
        )
    if figure is not None:
        from pfbench.resisting.figures import draw_calls

        draw_calls(runs, figure)
    fits: list[dict[str, Any]] = []
    for text in selectors:
        own = [run for run in runs if run.algorithm == text]
        try:
            fit = fitted(own)
        except InputError:
            fits.append({"algorithm": text, "slope": None, "interval": None, "constant": None})
        else:
            described = {"slope": fit.slope, "interval": fit.interval, "constant": fit.constant}
            fits.append({"algorithm": text, **described})
    if as_json:
        print_json({"schema": 1, "runs": [run.as_json() for run in runs], "fits": fits})
    else:
        _show_family(runs, fits)


def _horizons(text: str) -> list[int]:
    from pfbench.base.checks import integer

    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"cannot read --family {text!r}: write T,T as in 5,10,20.") from None
    for T in found:
        integer("--family", T, least=1)
    if len(set(found)) < len(found):
        raise InputError(f"--family {text} names a horizon twice.")
    return found


def _show_family(runs: "Sequence[Reached]", fits: Sequence[dict[str, Any]]) -> None:
    names = "epsilon", "T(eps)", "LO calls", "calls / T", "T, l = 3^15", "algorithm"
    rows = [
        (
            number(run.epsilon),
            f"{run.T:,}",
            f"{'over ' if run.censored else ''}{run.calls:,}",
            f"{run.tightness:.4g}",
            f"{run.paper_T:.2g}",
            run.algorithm,
        )
        for run in runs
    ]
    slopes = [(*_slope(fit), fit["algorithm"]) for fit in fits]
    show(
        columns(names, rows, right=names[:-1]),
        heading(
            "calls = constant L delta eps^slope",
            columns(
                ("slope", "95 % interval", "calls eps^2/(L delta)", "algorithm"),
                slopes,
                right=("slope", "95 % interval", "calls eps^2/(L delta)"),
            ),
        ),
    )


def _slope(fit: dict[str, Any]) -> tuple[str, str, str]:
    if fit["slope"] is None:
        return "too few runs reached their target", "", ""
    low, high = fit["interval"]
    return f"{fit['slope']:.3f}", f"{low:.3f} to {high:.3f}", f"{fit['constant']:.3g}"
