# SPDX-License-Identifier: GPL-2.0
"""Command lines of pepadm, generated at random from its own help, and files
that it reads, valid and broken."""

import re
import subprocess

from . import env
from .ktap import Failure
from .netns import Within

# Words in capitals that the help does not define.
VALUES = {
    "DEV": ("wl0", "sv0", "d9", "nope"),
    "NAME": ("default", "gold", "grey", "nobody"),
    "CC": ("cubic", "pep_bbr", "reno", "nope"),
    "ADDR[/BITS]": ("198.18.0.2", "198.18.0.0/24", "2001:db8::/64", "::/0",
                    "198.18.0.0/33", "1.2.3"),
    "TRIGGERS": ("handshake", "never", "loss", "12000", "64k,loss", "0",
                 "handshake,loss"),
    "RATE": ("20mbit", "8kbit", "1tbit", "7kbit", "1gibps", "1.5m"),
    "PERCENT%": ("20%", "0.01%", "50%", "51%", "off%"),
    "PORT": ("1", "5000", "65535", "65536", "0"),
    "FILE": ("file", "other", "-", "/nope/file", "/"),
    **dict.fromkeys(("N", "NUMBER", "SECONDS", "MS", "BYTES", "BITS", "ID"),
                    ("0", "1", "2", "20", "64", "1000", "65536", "4294967295",
                     "4294967296", "18446744073709551616", "-1", "0x10",
                     "1e3", "01")),
}
# Commands that never end, or wait.
ENDLESS = {b"monitor", b"top", b"wait"}
PATIENCE = 20           # seconds for any other
# Help in prose, for which VALUES has examples.
PROSE = re.compile(r"(TRIGGERS?|RATE) := .*(\n\s.*)*")
OPTIONS = ("-j", "-p", "-s", "-d", "-jp", "-sd", "--json", "--details")
LONG = 70000            # characters


class Grammar:
    """The grammar of command lines, from the help."""

    def __init__(self, text):
        text = PROSE.sub("", text[text.index("\npepadm dev add") + 1:])
        text = re.sub(r"\n +", " ", text)
        self.rules = {}
        self.lines = []
        for line in text.splitlines():
            if " := " in line:
                name, rule = line.split(" := ")
                self.rules[name] = self.choice(rule.split())
            elif line:
                self.lines.append(self.choice(line.split()[1:]))
        self.words = sorted({word for word in text.split()
                             if re.fullmatch("[a-z-]+[0-9]?", word)})

    def choice(self, words):
        """Alternatives of sequences, up to a closing bracket; consumes the
        words."""
        found = [[]]
        while words:
            word = words.pop(0)
            if word in "]}":
                break
            if word == "|":
                found.append([])
            elif word in "[{":
                found[-1].append((word, self.choice(words)))
            else:
                found[-1].append(("word", word))
        return found

    def make(self, rnd, rule):
        """Words that follow a rule, or almost do."""
        words = []
        for kind, inner in rnd.choice(rule):
            if kind == "word":
                words += self.word(rnd, inner)
            elif kind == "{" or rnd.random() < .4:
                words += self.make(rnd, inner)
        return words

    def word(self, rnd, word):
        """A word of the help as words of a command line."""
        if word in self.rules:
            return self.make(rnd, self.rules[word])
        return [rnd.choice(VALUES.get(word, (word,)))]


class Typist:
    """Runs command lines in a namespace, with a folder for files."""

    def __init__(self, rnd, ns, folder):
        self.rnd, self.ns, self.folder = rnd, ns, folder
        self.grammar = Grammar(self.pepadm([b"help"])[1].decode())
        self.count = {0: 0, 1: 0, 2: 0, "endless": 0}

    def pepadm(self, words, stdin=b""):
        """Run pepadm; return the exit code, None when it does not end, and
        both outputs."""
        with Within(self.ns):
            child = subprocess.Popen(
                [env.PEPADM, *words], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=self.folder)
        endless = ENDLESS & set(words)
        try:
            out, err = child.communicate(stdin, 2 if endless else PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            if endless or b"-b" in words:
                return None, b"", b""
            raise Failure(f"pepadm {words} does not end") from None
        return child.returncode, out, err

    def state(self):
        """The present configuration."""
        code, out, err = self.pepadm([b"conf", b"save", b"-"])
        if code:
            raise Failure(f"conf save: {err}")
        return out

    def run(self, words, stdin=b"", watch=True):
        """Fail unless pepadm ends as it should. A command that fails changes
        nothing, except the first lines of a batch."""
        before = self.state() if watch else None
        code, _, err = self.pepadm(words, stdin)
        told = f"pepadm {words} {stdin[:2000]}: exit code {code}, {err[:500]}"
        if code is None:
            self.count["endless"] += 1
            return
        if code not in (0, 1, 2):
            raise Failure(told)
        self.count[code] += 1
        if code and (err.count(b"\n") != 1 or not err.startswith(b"pepadm: ")
                     or not err.endswith(b"\n")):
            raise Failure(told)
        if code and watch and self.state() != before:
            raise Failure(f"{told}: it has changed something: {before}")

    def line(self):
        """Words of a command, as bytes."""
        words = self.grammar.make(self.rnd, self.rnd.choice(
            self.grammar.lines))
        if self.rnd.random() < .3:
            words.insert(0, self.rnd.choice(OPTIONS))
        return [word.encode() for word in words]

    def strange(self):
        """A word that may be wrong in any place."""
        rnd = self.rnd
        return rnd.choice((
            lambda: rnd.choice(self.grammar.words).encode(),
            lambda: rnd.choice(rnd.choice(list(VALUES.values()))).encode(),
            lambda: rnd.randbytes(rnd.randrange(1, 20)).replace(b"\0", b"x"),
            lambda: b"", lambda: b"x" * rnd.choice((15, 16, 255, LONG)),
            lambda: rnd.choice((b"-x", b"--", b"-b", b"-N", b"--json=1",
                                b"-", b"#", b"%n%s", b"all,all")),
            lambda: rnd.choice((b"a\nb", b"\x1b[2J", b"\x7f", b"\t")),
            lambda: rnd.choice(OPTIONS).encode()))()

    def wrong(self, words):
        """Words with some of them changed."""
        rnd = self.rnd
        words = list(words)
        for _ in range(rnd.choice((1, 1, 2, 3))):
            at = rnd.randrange(len(words) + 1)
            how = rnd.randrange(5)
            if how == 0:
                del words[at:at + 1]
            elif how == 1:
                words[at:at] = words[at:at + rnd.randrange(1, 3)]
            elif how == 2:
                words[at:at + 1] = [self.strange()]
            elif how == 3:
                words.insert(at, self.strange())
            else:
                rnd.shuffle(words)
        return words

    def typed(self):
        """Run one command line, right or wrong."""
        words = self.line()
        if self.rnd.random() < .5:
            words = self.wrong(words)
        self.run(words, watch=self.rnd.random() < .3 and b"-b" not in words)

    def garbled(self, text):
        """A file with some of its lines or bytes changed."""
        rnd = self.rnd
        lines = text.split(b"\n")
        for _ in range(rnd.choice((0, 1, 1, 2, 4))):
            at = rnd.randrange(len(lines))
            how = rnd.randrange(7)
            if how == 0:
                lines.insert(at, lines[at])
            elif how == 1:
                del lines[at:at + 1]
                lines = lines or [b""]
            elif how == 2:
                lines[at] = b" ".join(self.wrong(lines[at].split()))
            elif how == 3:
                lines[at] += rnd.choice((b"\r", b"\0", b" #", b"\t", b"\\",
                                         b" " + b"y" * LONG))
            elif how == 4:
                data = bytearray(lines[at] or b"z")
                data[rnd.randrange(len(data))] = rnd.randrange(256)
                lines[at] = bytes(data)
            elif how == 5:
                lines[at] = rnd.randbytes(rnd.randrange(200))
            else:
                lines = lines[:at + 1]
        return b"\n".join(lines)[:4 * LONG]

    def read(self, conf, flows):
        """Let pepadm read one file: a configuration, a batch, or connections;
        right or wrong."""
        rnd = self.rnd
        how = rnd.randrange(3)
        if how == 0:
            words = [b"conf", rnd.choice((b"check", b"sync", b"load"))]
            text = self.garbled(conf)
        elif how == 1:
            words = [b"flow", b"restore"]
            text = self.garbled(flows)
        else:
            words = [b"-b"]
            text = self.garbled(b"\n".join(
                b" ".join(self.line()) for _ in range(4)))
        with open(f"{self.folder}/file", "wb") as file:
            file.write(text)
        name = rnd.choice((b"file", b"-"))
        self.run([*words, name], text if name == b"-" else b"", how != 2)
