# SPDX-License-Identifier: GPL-2.0
"""Reading the results of guests, and the common parts of reports."""

import json
import pathlib
import platform
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from commandline import arguments, refuse  # noqa: E402 pylint: disable=wrong-import-position

PACKAGES = ("haproxy", "nginx", "libnginx-mod-stream", "linux-perf",
            "qemu-system-x86", "gcc", "clang", "libbpf-dev")
ORDER = ("haproxy", "nginx", "sockmap", "pep", "follow")
TITLES = {"forward": "forwarding", "haproxy": "HAProxy", "nginx": "nginx",
          "sockmap": "sockmap", "pep": "pep, split handshake",
          "follow": "pep", "never": "pep, split never",
          "pep-cubic": "pep, CUBIC"}


class ReportError(Exception):
    """A result is missing."""


def read(folder, bench):
    """The results of a bench in a folder, by contestant."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob(f"{bench}-*.json")):
        result = json.loads(path.read_text("utf-8"))
        found[result["contestant"]] = result
    return found


def versions(packages=PACKAGES):
    """Versions of packages by name, those that are installed."""
    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *packages],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        check=False).stdout
    pairs = (line.split() for line in out.splitlines())
    return dict(pair for pair in pairs if len(pair) == 2)


def about(result, command):
    """The origin of a result and of those measured with it."""
    return {"command": command, "kernel": result["kernel"],
            "family": result["family"], "host": platform.platform(),
            "packages": versions()}


def sentences(metas):
    """Origins as a sentence; as several when parts, by name, differ."""
    kinds = []
    for meta in metas.values():
        if meta not in kinds:
            kinds.append(meta)
    if len(kinds) == 1:
        return sentence(kinds[0])
    return "\n".join(
        f"- {', '.join(name for name in metas if metas[name] == meta)}: "
        f"{sentence(meta)[0].lower()}{sentence(meta)[1:]}" for meta in kinds)


def sentence(meta):
    """The origin of results as a sentence."""
    packages = ", ".join(f"{name} {version}" for name, version
                         in sorted(meta["packages"].items()))
    return (f"Written by `{meta['command']}`; kernel {meta['kernel']}, "
            f"IPv{meta['family']}, {packages}.")


def write(folder, name, raw, text):
    """Write NAME.json and NAME.md; print the latter."""
    folder = pathlib.Path(folder)
    (folder / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n",
                                         "utf-8")
    (folder / f"{name}.md").write_text(text, "utf-8")
    print(text)


def program(usage, report):
    """Run a function with the folder, the command and the source of the
    command line; exit when a result is missing or wrong."""
    folder, command, results = arguments(usage, 3, 3)
    for path in folder, results:
        if not pathlib.Path(path).is_dir():
            refuse(usage, f"no such folder: {path}")
    try:
        report(folder, command, results)
    except (ReportError, KeyError, ValueError) as error:
        sys.exit(f"report failed: {error}")
