"""One method against those of its class: a sentence, a table, and its strongest rival.

The class follows from the oracle calls: a method that never projects is compared with the methods
that never project, any other with all methods.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pfbench.reporting.comparison import Comparison, ExpectedCalls
from pfbench.reporting.findings import duels
from pfbench.reporting.findings.duels import Duel
from pfbench.reporting.results import StudyResults
from pfbench.reporting.statistics.bootstrap import EVEN
from pfbench.reporting.statistics.cost import Cost
from pfbench.reporting.tables import EQUAL_MARK, Cell, Table, TableRow
from pfbench.reporting.wording import name_within_sentence, pluralize

NEAR_RATIO = 2.0
"""A method is near the best if it needs at most this multiple of the calls of the best."""

MAX_ROWS = 6
"""Maximum number of rivals that are drawn in colour."""


@dataclass(frozen=True)
class CandidateAgainstRivals:
    """Candidate of a study against the rivals of its class.

    Attributes
    ----------
    comparisons
        The study compared at each price; the first one ranks the methods.
    label, candidate_labels
        The candidate's label, and all labels of its forms, which are not rivals.
    rivals
        The other methods of its class, the strongest first.
    not_comparable
        Methods outside its class: those that project, if the candidate does not.
    """

    comparisons: tuple[Comparison, ...]
    label: str
    candidate_labels: tuple[str, ...]
    rivals: tuple[str, ...]
    not_comparable: frozenset[str]

    @property
    def results(self) -> StudyResults:
        """Results of the study."""
        return self.comparisons[0].results

    @property
    def price(self) -> Cost:
        """Price of the first comparison, which ranks the methods."""
        return self.comparisons[0].price

    @property
    def methods_in_colour(self) -> tuple[str, ...]:
        """The candidate's labels and the rivals that are drawn in colour."""
        return (*self.candidate_labels, *self.rivals[:MAX_ROWS])

    @property
    def rival_class_noun(self) -> str:
        """Noun for the class of rivals: ``methods`` or ``methods that never project``."""
        return "methods that never project" if self.not_comparable else "methods"

    @cached_property
    def duels(self) -> list[Duel]:
        """Duels of the candidate with the best rival, by panel and target."""
        return self._duels(self.comparisons[0])

    def _duels(self, comparison: Comparison) -> list[Duel]:
        return duels.list_duels(
            comparison, self.label, {*self.candidate_labels, *self.not_comparable}
        )

    @cached_property
    def duels_by_outcome(self) -> tuple[list[Duel], list[Duel], list[Duel], list[Duel]]:
        """Duels in four lists: all that count, candidate first, near the first, target missed.

        A duel counts unless the runs begin within the target, or no method reaches it.
        """
        duels = [
            duel
            for duel in self.duels
            if not duel.starts_within_target and (duel.rank or duel.best_other)
        ]
        leads = [duel for duel in duels if duel.rank and duel.calls <= duel.best_other_calls]
        near = [
            d
            for d in duels
            if d.rank and d.best_other_calls < d.calls <= NEAR_RATIO * d.best_other_calls
        ]
        return duels, leads, near, [duel for duel in duels if not duel.rank]

    @cached_property
    def outcome_counts_sentence(self) -> str:
        """Sentence on how many pairs the candidate is first, near the first, slower, or misses."""
        duels, leads, near, never = self.duels_by_outcome
        left = sum(
            not (duel.starts_within_target or duel.rank or duel.best_other) for duel in self.duels
        )
        unreached = f" ({left} more reached by no method)" if left else ""
        behind = len(duels) - len(leads) - len(near) - len(never)
        return (
            f"On {pluralize(len(duels), 'pair')} of problem and target, by {self.price} among "
            f"{pluralize(len(self.rivals) + 1, 'method')}{self.rival_class_noun.removeprefix('methods')}, "  # noqa: E501
            f"{self.label} is first on {len(leads)}, within {NEAR_RATIO:g} times the first on "
            f"{len(near)}, slower on {behind}, and misses {pluralize(len(never), 'target')}"
            f"{unreached}{self._nearest_rival_text}."
        )

    @property
    def _nearest_rival_text(self) -> str:
        if not self.rivals:
            return ""
        rival = self.rivals[0]
        started = {
            (duel.title, duel.target_index) for duel in self.duels if duel.starts_within_target
        }
        pairs = [
            (algorithm.calls_to_target(index), its.calls_to_target(index))
            for panel in self.comparisons[0].panels
            if (algorithm := panel.find(self.label)) and (its := panel.find(rival))
            for index in range(len(self.comparisons[0].targets))
            if (panel.panel.title, index) not in started
        ]
        ahead, behind = sum(a < b for a, b in pairs), sum(b < a for a, b in pairs)
        return f"; the strongest rival is {rival}, which is ahead on {behind} and behind on {ahead}"

    @cached_property
    def duels_table(self) -> Table:
        """Table of the duels: expected calls, best rival, its calls, ratio."""
        comparisons = [
            comparison
            for comparison in self.comparisons[1:]
            if self._is_call_kind_of_candidate(comparison)
        ]
        further = [
            {(d.title, d.target_index): d for d in self._duels(comparison)}
            for comparison in comparisons
        ]
        rows = []
        for duel in self.duels:
            target = f"≤ {duel.target.target:g}"
            cells: list[Cell] = [*_duel_cells(duel)]
            for duels_of in further:
                cells += _duel_cells(duels_of[duel.title, duel.target_index])
            cells += [self._dominating_rival_or_word_none(duel)] if comparisons else []
            name = f"{target} (runs begin within it)" if duel.starts_within_target else target
            best = frozenset(
                {0} if duel.is_significant and duel.calls < duel.best_other_calls else ()
            )
            rows.append(TableRow(duel.title, name, cells, best))
        heads = [
            head
            for comparison in (self.comparisons[0], *comparisons)
            for head in (f"{comparison.price}: mine", "best other", "its calls", "ratio")
        ]
        both = " and ".join(
            str(comparison.price) for comparison in (self.comparisons[0], *comparisons)
        )
        heads += [f"fewer {both}"] if comparisons else []
        frontier = f" Last column: a method that needs fewer {both}; none on the Pareto front."
        measure = name_within_sentence(self.comparisons[0].targets[-1].measure)
        return Table(
            f"{self.label} against the best of its class",
            f"Expected calls until {measure} is at most the target, at equal counts, and hits; "
            "after each ratio its 95 % interval over the seeds (bootstrap). Its class: "
            f"{self._rival_class_text}. Bold: significantly fewer than "
            "the best other (rank test over the seeds; Holm over its tests against all "
            f"others at that target). {EQUAL_MARK}: the interval of the ratio is within 1/{EVEN:g} and {EVEN:g}."  # noqa: E501
            f"{frontier if comparisons else ''}",
            (self.results.head, "target", *heads),
            rows,
        )

    @property
    def _rival_class_text(self) -> str:
        """Noun phrase for the other methods of the candidate's class."""
        rest = pluralize(len(self.rivals), "other")
        return (
            f"the {rest} among the {self.rival_class_noun}"
            if self.not_comparable
            else f"all {rest}"
        )

    def _is_call_kind_of_candidate(self, comparison: Comparison) -> bool:
        """Return whether a comparison is by a kind of calls that the candidate makes."""
        return (
            not self.results.study.price
            and str(comparison.price) in {"SFO", "LO", "PO"}
            and any(
                group.makes_calls(str(comparison.price).lower())
                for group in self.results
                if group.label == self.label
            )
        )

    def _dominating_rival_or_word_none(self, duel: Duel) -> str | None:
        """Return a rival with no more calls of any kind, else "none"; None for a missed target."""
        if duel.rank is None or duel.starts_within_target:
            return None
        results: list[tuple[float, str]] = []
        kinds = [
            self.comparisons[0],
            *(
                comparison
                for comparison in self.comparisons[1:]
                if self._is_call_kind_of_candidate(comparison)
            ),
        ]
        panels = [
            next(panel for panel in comparison.panels if panel.panel.title == duel.title)
            for comparison in kinds
        ]

        def needs(label: str) -> list[float]:
            return [
                algorithm.calls_to_target(duel.target_index)
                for panel in panels
                if (algorithm := panel.find(label))
            ]

        candidate = needs(self.label)
        for rival in self.rivals:
            its = needs(rival)
            if (
                its
                and its != candidate
                and all(a <= b for a, b in zip(its, candidate, strict=True))
            ):
                results.append((math.prod(its), rival))
        return min(results)[1] if results else "none"

    def calls_by_method(self) -> dict[str, list[float]]:
        """Return, by label, the sorted expected calls on the pairs that the method reaches."""
        results: dict[str, list[float]] = {}
        for panel in self.comparisons[0].panels:
            for scored in panel.algorithms:
                calls = results.setdefault(scored.group.label, [])
                calls += [
                    scored.calls_to_target(index)
                    for index in range(len(self.comparisons[0].targets))
                    if math.isfinite(scored.calls_to_target(index))
                ]
        return {label: sorted(calls) for label, calls in results.items()}

    @property
    def pair_count(self) -> int:
        """Number of pairs of problem and target."""
        return len(self.comparisons[0].panels) * len(self.comparisons[0].targets)


def _duel_cells(duel: Duel) -> list[Cell]:
    other = duel.best_other
    return [
        _drop_interval(duel.candidate.calls_until_targets[duel.target_index]),
        other.group.label if other else None,
        _drop_interval(other.calls_until_targets[duel.target_index]) if other else None,
        duel.ratio,
    ]


def _drop_interval(expected: ExpectedCalls | None) -> ExpectedCalls | None:
    return expected and replace(expected, interval=None)


def make_candidate_front(
    comparisons: Sequence[Comparison], candidates: Sequence[str]
) -> CandidateAgainstRivals:
    """Return the front of a candidate against its class; the last of its labels represents it."""
    results = comparisons[0].results
    outside: set[str] = set()
    projecting = duels.projecting_methods(results)
    if not projecting & {*candidates}:
        outside = projecting
    rank = mean_log_budget_over_calls(comparisons[0])
    rivals = [label for label in results.study.labels if label not in {*candidates, *outside}]
    rivals.sort(key=lambda label: -rank.get(label, 0.0))
    return CandidateAgainstRivals(
        tuple(comparisons), candidates[-1], tuple(candidates), tuple(rivals), frozenset(outside)
    )


def mean_log_budget_over_calls(comparison: Comparison) -> dict[str, float]:
    """Return the mean of log(budget/calls) over all pairs, by method.

    The mean is the area under the method's profile up to the budget, on a logarithmic axis. A
    target that is never reached counts 0. No value depends on the other methods.
    """
    comparison_sentences: dict[str, float] = {}
    pairs = len(comparison.panels) * max(1, len(comparison.targets))
    for panel in comparison.panels:
        weights = dict(comparison.price.weights)
        limit = sum(weight * panel.limits.get(key, math.inf) for key, weight in weights.items())
        for scored in panel.algorithms:
            spent = max(map(comparison.price.total_cost, scored.group.runs), default=0.0)
            upper = limit if math.isfinite(limit) else spent
            for index in range(len(comparison.targets)):
                calls = scored.calls_to_target(index)
                gained = math.log(upper / calls) if 0 < calls < upper else 0.0
                label = scored.group.label
                comparison_sentences[label] = comparison_sentences.get(label, 0.0) + gained / pairs
    return comparison_sentences


def describe_outcome_counts(front: CandidateAgainstRivals) -> list[str]:
    """Return four phrases: on how many pairs the candidate is first, near, behind, or misses."""
    counted, leads, near, never = front.duels_by_outcome
    behind = len(counted) - len(leads) - len(near) - len(never)
    return [
        f"first on {len(leads)} of {len(counted)}",
        f"near on {len(near)}",
        f"behind on {behind}",
        f"missed on {len(never)}",
    ]


def candidate_failure_sentences(front: CandidateAgainstRivals) -> list[str]:
    """Return sentences on where the candidate was refused or failed, and why."""
    return [
        text
        for label in front.candidate_labels
        for text in duels.failure_sentences(front.results, label)
    ]
