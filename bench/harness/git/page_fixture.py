"""A repository for pages: large directories, long source files, and a commit with a large diff."""

import subprocess

from . import client

WHO = "Bench <bench@example.com>"
EPOCH = 1_600_000_000


class PageFixture:
    """Each of `commits` commits adds one file. The last commit changes `changed_lines` lines in each of
    `changed_files` files."""

    def __init__(self, commits, directories, sources, source_lines, changed_files, changed_lines):
        self.commits, self.directories = commits, directories
        self.sources, self.source_lines = sources, source_lines
        self.changed_files, self.changed_lines = changed_files, changed_lines

    def write(self, name, directory):
        importer = subprocess.Popen(
            ["nice", "git", "-C", directory, "fast-import", "--quiet"], stdin=subprocess.PIPE, env=client.ENVIRONMENT
        )
        with importer.stdin as stream:
            for number in range(self.commits):
                changes = {self.entry(number): f"{number}\n"}
                if number == 0:
                    changes |= {self.source(index): self._source(index) for index in range(self.sources)}
                    changes |= {f"changed/{index:03}.txt": self._lines(index, "old") for index in self._changed()}
                self._commit(stream, number, changes)
            changes = {f"changed/{index:03}.txt": self._lines(index, "new") for index in self._changed()}
            self._commit(stream, self.commits, changes)
        if importer.wait():
            raise RuntimeError(f"git fast-import of {name} failed")

    def entry(self, number):
        return f"entries{number % self.directories:02}/{number // self.directories:04}.txt"

    def source(self, index):
        return f"source/{index:02}.rs"

    def _changed(self):
        return range(self.changed_files)

    def _source(self, index):
        lines = (
            f"/// Returns the value of line {line}.\npub fn value_{index}_{line}(input: &str) -> Option<usize> {{\n"
            f'    let text = format!("{{input}} of {line}");\n    text.find("{index}").map(|at| at + {line}) // found\n}}\n'
            for line in range(self.source_lines // 5)
        )
        return "".join(lines)

    def _lines(self, index, word):
        return "".join(f"The {word} line {line} of file {index}.\n" for line in range(self.changed_lines))

    def _commit(self, stream, number, changes):
        message = f"Change {number}\n"
        stream.write(f"commit refs/heads/main\ncommitter {WHO} {EPOCH + number} +0000\n".encode())
        stream.write(f"data {len(message)}\n{message}".encode())
        for path, content in changes.items():
            stream.write(f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode())
