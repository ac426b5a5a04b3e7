"""Spec files of tests: the schema that they meet, and how they are read."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema

from pfbench.runs.planning.spec import load_spec

_TEXT = (Path(str(files("pfbench.cli"))) / "schemas" / "spec.json").read_text(encoding="utf-8")
SCHEMA = jsonschema.Draft202012Validator(json.loads(_TEXT))


def read(folder, text):
    (folder / "spec.toml").write_text(text)
    return load_spec(folder / "spec.toml")


def valid(text):
    return SCHEMA.is_valid(tomllib.loads(text))
