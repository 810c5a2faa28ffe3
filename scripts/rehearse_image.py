"""Run the steps of deploy/Dockerfile where no container engine is at hand, and ask a question.

    python -m scripts.rehearse_image

Takes a user who may mount. Each stage has a root of its own: what this machine has, all changes in memory.
It stands for the base that the Dockerfile names, so what is tried is the steps: what they copy, build and
install, and that the user of the image can ask. What happened is in out/release/image.md.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
Step = tuple[str, str]  # an instruction and what follows it

ROOTS = """
set -eu
mount -t tmpfs -o size=4g none {top}
for stage in 0 1; do
    mkdir -p {top}/up$stage {top}/work$stage {top}/root$stage
    layers=lowerdir=/,upperdir={top}/up$stage,workdir={top}/work$stage
    mount -t overlay overlay -o $layers {top}/root$stage
    mount --bind /dev {top}/root$stage/dev
    mount -t proc proc {top}/root$stage/proc
    mount -t tmpfs none {top}/root$stage/tmp
    chmod 1777 {top}/root$stage/tmp
done
"""
ASK = """cd; disputatio ask 'When was the Elm Bridge opened?' --passages - --model none --json \\
    >answer.json <<'ROWS'
{"text": "The Elm Bridge was opened in May 1921.", "source": "a"}
ROWS
python3 -c 'import json; print(json.load(open("answer.json"))["answers"])'"""


def stages(dockerfile: str) -> list[list[Step]]:
    """Return the instructions of each stage, in order, without the line that begins it."""
    lines = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    found: list[list[Step]] = []
    for line in filter(None, map(str.strip, lines)):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        elif name in ("WORKDIR", "COPY", "USER", "RUN", "CMD", "EXPOSE"):
            found[-1].append((name, rest))
        else:
            raise SystemExit(f"deploy/Dockerfile: no way is known to do {name}")
    return found


def script_of(stage: list[Step], root: str, context: str, before: str) -> list[str]:
    """Return the lines of a shell that do what a stage says, in its root, and say how long each took."""
    where, user, home, lines = "/", "", "/root", []
    for name, rest in stage:
        lines += ["began=$SECONDS", f"printf '%s\\n' {shlex.quote(f'{name} {rest}')}"]
        if name == "WORKDIR":
            where = rest
            lines.append(f"mkdir -p {root}{where}")
        elif name == "COPY":
            *sources, target = [word for word in shlex.split(rest) if not word.startswith("--")]
            of = before if "--from" in rest else context
            end = str(Path(where, target))
            for source in sources:
                whole = "--from" in rest or (Path(of) / source).is_dir()
                folder = end if whole or target.endswith("/") else str(Path(end).parent)
                copied = f"{of}/{source.lstrip('/')}{'/.' if whole else ''}"
                lines += [f"mkdir -p {root}{folder}", f"cp -r {copied} {root}{end}"]
        elif name == "USER":
            user, home = f"--userspec={rest}", f"/home/{rest}"
        elif name in ("RUN", "CMD"):
            command = shlex.join(json.loads(rest)) if name == "CMD" else rest
            inside = f"cd {where} && export HOME={home} && {command}"
            lines.append(f"chroot {user} {root} /bin/bash -ec {shlex.quote(inside)} 2>&1 | tail -n 4")
        lines.append('echo "# $((SECONDS - began)) s"')
    return lines


def main() -> None:
    """Run both stages of what git has, ask, and keep what was said."""
    with tempfile.TemporaryDirectory(prefix="disputatio-image-", dir="/var/tmp") as name:
        context, top = Path(name, "context"), Path(name, "roots")
        context.mkdir()
        top.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", context], input=archive, check=True)
        first, second = stages((context / "deploy/Dockerfile").read_text(encoding="utf-8"))
        python = Path(sys.executable).resolve()
        base = [f"chmod 755 {top}/root1/root", f"chroot {top}/root1 {python} -m venv /base"]
        steps = [
            ROOTS.format(top=top) + "set -o pipefail",
            *script_of(first, f"{top}/root0", str(context), ""),
            *base,
            "export PATH=/base/bin:$PATH",
            *script_of([*second, ("RUN", ASK)], f"{top}/root1", str(context), f"{top}/root0"),
        ]
        command = ["unshare", "--mount", "bash", "-c", "\n".join(steps)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            said = [line.rstrip().replace(name, "") for line in running.stdout or () if show(line)]
    text = "\n".join(said) + "\n"
    log = ROOT / "out/release/image.md"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{time.strftime('%Y-%m-%d')}\n\n{text}", encoding="utf-8")
    if running.returncode or "['May 1921']" not in said:
        raise SystemExit(f"image: it does not build and answer; {log} says where it stopped")


def show(line: str) -> bool:
    """Print a line as it comes, and return whether it is kept: a note on this machine's index is not."""
    kept = not line.startswith("WARNING: Location")
    if kept:
        print(line, end="", flush=True)
    return kept


if __name__ == "__main__":
    main()
