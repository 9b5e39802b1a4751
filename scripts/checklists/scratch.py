# SPDX-License-Identifier: GPL-2.0
"""A copy of the project's tree that the steps of a checklist change."""

import pathlib
import shutil
import subprocess
import tempfile

SECONDS = 300           # that a program may take


class Fault(Exception):
    """A step that cannot be followed, or a result that is not there."""


class Scratch:
    """A copy of the tree, removed at the end: hand, the files that the steps
    have changed; made, those that generators have changed."""

    def __init__(self, tree, source):
        self.tree = tree
        self.source = source
        self.hand, self.made = set(), set()
        self.top = None

    def __enter__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="pep-checklist-"))
        for path in self.tree.files:
            (self.top / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.tree.top / path, self.top / path,
                         follow_symlinks=False)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top)

    def run(self, *words, folder=".", title=None):
        """Run a program in the copy; return its output, that for errors
        too."""
        title = title or words[0]
        try:
            done = subprocess.run(
                words, cwd=self.top / folder, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Fault(f"{title} takes more than {SECONDS} s") from error
        if done.returncode:
            raise Fault(f"{title} has failed in the copy, with the steps: "
                        f"{done.stdout.strip()[-2000:]}")
        return done.stdout

    def python(self, code, *words, folder="."):
        """Run lines of Python that import from a folder of the copy."""
        return self.run("/usr/bin/python3", "-Bc", code, *words,
                        folder=folder, title=f"Python in {folder}")

    def follow(self, step):
        """Do one step of a checklist."""
        if "netlink" in step:
            before = self.read()
            self.run("scripts/gen-netlink.sh", self.source)
            self.made |= {path for path, data in self.read().items()
                          if before.get(path) != data}
        elif "guest" not in step:
            self.edit(step)

    def edit(self, step):
        """Change a file: a new one has all of its text in the step."""
        path = self.top / step["file"]
        self.hand.add(step["file"])
        if "new" in step:
            if path.exists():
                raise Fault(f"{step['file']} is there already")
            path.write_text(step["new"], "utf-8")
            return
        if not path.exists():
            raise Fault(f"{step['file']} is not there")
        text = path.read_text("utf-8")
        place, = step.keys() & {"behind", "before", "instead"}
        anchor = step[place]
        if text.count(anchor) != 1:
            raise Fault(f"{step['file']} has the place of a step "
                        f"{text.count(anchor)} times, not once: {anchor!r}; "
                        "change the file or that step")
        added = {"behind": anchor + step["add"],
                 "before": step["add"] + anchor,
                 "instead": step["add"]}[place]
        path.write_text(text.replace(anchor, added), "utf-8")

    def read(self):
        """All files of the copy."""
        return {str(path.relative_to(self.top)): path.read_bytes()
                for path in self.top.rglob("*") if path.is_file()}

    def changed(self, *ends):
        """Changed files whose names end so."""
        return sorted(path for path in self.hand | self.made
                      if path.endswith(ends))
