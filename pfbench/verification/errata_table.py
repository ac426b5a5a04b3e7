"""Errata whose texts are in ``errata.toml``, next to the code that examines them."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pfbench.base.names import find_entry
from pfbench.verification.claim import Erratum
from pfbench.verification.dossier import Dossier, Quote


@cache
def _load_table(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_erratum(name: str, file: str, **fields: Any) -> Erratum:
    """Return an erratum whose texts are in the ``errata.toml`` of a file's folder.

    Parameters
    ----------
    name
        Name of the erratum: a table of the file, with `as_printed`, `corrected` and `objection` of
        `Erratum`, and the fields of `Dossier`.
    file
        ``__file__`` of the module that examines the erratum.
    fields
        The other fields of `Erratum`: `examine`, and optionally `claim`, `printed_formula` and
        `corrected_formula`.

    Raises
    ------
    InputError
        If the file has no erratum of this name.
    """
    table = dict(find_entry("erratum", name, _load_table(Path(file).with_name("errata.toml"))))
    texts = {field: table.pop(field) for field in ("as_printed", "corrected", "objection")}
    quotes = tuple(Quote(**quote) for quote in table.pop("quotes", ()))
    derivation = tuple(table.pop("derivation"))
    dossier = Dossier(quotes=quotes, derivation=derivation, **table)
    return Erratum(name=name, dossier=dossier, **texts, **fields)
