"""Assumptions of a claim: words of a closed vocabulary, and comparisons of constants."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from pfbench.verification.falsify.bodies import Skip

VOCABULARY: Mapping[str, Callable[[Any], bool]] = {
    r"(each |all )?(f_i|components?)( is| are)? convex|convex components?": (
        lambda p: p.components_convex
    ),
    r"(f |the function )?(is )?strongly convex": lambda p: p._constants.get("mu") is not None,
    r"(f |the function )?(is )?convex": lambda p: p.is_convex,
    r"bounded domain|compact (set|domain)": lambda p: p.set.kind != "none",
    r"(f |f_i |the function )?(is |are )?(l-)?smooth|unbiased|finite sum": lambda p: True,
    r"(f |the function )?(is )?(non-?convex|not convex)": lambda p: True,
}
"""Assumptions in words, by pattern of the whole text, with a predicate of a searched instance."""


def predicate_of(text: str) -> Callable[[Any], bool] | None:
    """Return the predicate of an assumption in words; None if a part is in no known words."""
    found = []
    for part in re.split(r",| and ", text.lower().strip(" .")):
        matching = (rule for words, rule in VOCABULARY.items() if re.fullmatch(words, part.strip()))
        found.append(next(matching, None))
    rules = [rule for rule in found if rule is not None]
    if len(rules) < len(found):
        return None
    return lambda problem: all(rule(problem) for rule in rules)


_COMPARED = (ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.Load)
_OPERATORS = (ast.operator, ast.unaryop, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def comparison_of(text: str) -> ast.Expression | None:
    """Return a comparison of constants and parameters; None if the text is none."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    nodes = all(isinstance(node, (*_COMPARED, *_OPERATORS)) for node in ast.walk(tree))
    return tree if nodes and isinstance(tree.body, ast.Compare) else None


def holds(tree: ast.Expression, names: Mapping[str, Any]) -> bool:
    """Return whether a comparison is true; an unknown name skips the instance."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if missing := sorted(used - set(names)):
        raise Skip(f"{missing[0]} is unknown")
    for node in ast.walk(tree):  # integers only, so that a quotient stays exact
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            raise Skip("a comparison with a float")
    return bool(eval(compile(tree, "<condition>", "eval"), {"__builtins__": {}}, dict(names)))
