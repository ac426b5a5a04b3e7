"""Spec files of tests: the schema that they meet, and how they are read."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
from command_line import SMALL

from pfbench.runs.planning.spec import load_spec

_TEXT = (Path(str(files("pfbench.cli"))) / "schemas" / "spec.json").read_text(encoding="utf-8")
SCHEMA = jsonschema.Draft202012Validator(json.loads(_TEXT))


def read(folder, text):
    (folder / "spec.toml").write_text(text)
    return load_spec(folder / "spec.toml")


def valid(text):
    return SCHEMA.is_valid(tomllib.loads(text))


TUNED = f"""
problems = ["{SMALL}", "{SMALL[:-1]},seed={{seed}}]"]
algorithms = {{ SG = "nfwu-sg[batch={{b}},iterations=8,step=0.1]" }}
seeds = [0, 1]
targets = ["fw_gap=0.5", "fw_gap=0.1"]
grid = {{ b = [5, 7] }}

[tune]
trials = 3
seeds = [10, 11]

[tune.methods.SG]
selector = "nfwu-sg[batch={{b}},iterations={{t}},step={{step}}]"
step = [0.1, 0.2]
t = [8, 9]
"""
