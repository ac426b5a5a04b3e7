"""Replace bare statuses of runs by `Status`, in a checkout after the renames.

Usage, from the root of a checkout: ``python use_status.py``. Comparisons and assignments of the
attribute `status`, and what the loop returns, are rewritten; the sets of `runs/loop/run.py` become
properties.
"""

import re
from pathlib import Path

WORDS = "target budget finished timeout diverged error killed refused".split()
WORD = "|".join(WORDS)
SKIP = {"future"}


def member(match: re.Match[str]) -> str:
    return f"Status.{match[1].upper()}"


def rewrite(text: str) -> str:
    def compared(match: re.Match[str]) -> str:
        if match[1].split(".")[-1] in SKIP:
            return match[0]
        return f"{match[1]}{match[2]}{match[3]}Status.{match[4].upper()}"

    text = re.sub(rf'([\w\].]+)(\.status|\["status"\])( (?:==|!=) )"({WORD})"', compared, text)

    def contained(match: re.Match[str]) -> str:
        if match[1] in SKIP or not re.fullmatch(rf'\s*(?:"(?:{WORD})",?\s*)+', match[4]):
            return match[0]
        inside = re.sub(rf'"({WORD})"', member, match[4])
        return f"{match[1]}.status{match[2]}{match[3]}{inside}{match[5]}"

    text = re.sub(r"([\w\]]+)\.status( (?:not )?in )([({])([^(){}]*)([)}])", contained, text)
    text = re.sub(rf'\bSTATUSES\["({WORD})"\]', lambda m: f"Status.{m[1].upper()}.meaning", text)
    text = re.sub(rf'\bstatus="({WORD})"', lambda m: f"status=Status.{m[1].upper()}", text)
    return re.sub(rf'\bstatus (==|!=) "({WORD})"', lambda m: f"status {m[1]} Status.{m[2].upper()}", text)


def add_import(text: str) -> str:
    if "Status." not in text or "import Status\n" in text:
        return text
    line = "from pfbench.base.status import Status\n"
    first = re.search(r"^from pfbench", text, re.M)
    if first:
        return text[: first.start()] + line + text[first.start() :]
    last = [m for m in re.finditer(r"^(?:from|import) .*(?:\n(?: .*|\)))*\n", text, re.M)][-1]
    return text[: last.end()] + "\n" + line + text[last.end() :]


def main() -> None:
    for path in sorted(Path("pfbench").rglob("*.py")):
        if "templates" in path.parts or path.name == "status.py":
            continue
        text = path.read_text(encoding="utf-8")
        new = rewrite(text)
        if path.as_posix() == "pfbench/runs/loop/drive.py":
            new = re.sub(rf'return "({WORD})",', lambda m: f"return Status.{m[1].upper()},", new)
            new = re.sub(rf'= "({WORD})", ', lambda m: f"= Status.{m[1].upper()}, ", new)
        if path.as_posix() == "pfbench/runs/loop/run.py":
            start, end = new.index("STATUSES: Mapping"), new.index('"""Every status of a run')
            new = new[:start] + "STATUSES: Mapping[str, str] = {status.value: status.meaning for status in Status}\n" + new[end:]
            new = new.replace('frozenset({"finished", "target", "budget", "timeout"})', "frozenset(status for status in Status if status.has_answer)")
            new = new.replace('frozenset({"killed"})', "frozenset(status for status in Status if status.is_void)")
        if path.as_posix() == "pfbench/runs/engines/run_task.py":
            new = re.sub(rf'status(, \w+)? = "({WORD})"', lambda m: f"status{m[1] or ''} = Status.{m[2].upper()}", new)
        new = re.sub(rf'(status=Status\.\w+ if \w+ else )"({WORD})"', lambda m: f"{m[1]}Status.{m[2].upper()}", new)
        if new != text:
            path.write_text(add_import(new), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
