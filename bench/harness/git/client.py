"""The git client, with fixed settings only."""

import os
import subprocess

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
}


def git(*arguments, stdin=None):
    """Runs git, and returns its output as bytes."""
    done = subprocess.run(["git", *arguments], input=stdin, capture_output=True, env=ENVIRONMENT)
    if done.returncode:
        command = " ".join(str(argument) for argument in arguments)[:300]
        raise RuntimeError(f"git {command} failed:\n{done.stderr.decode(errors='replace')[-1000:]}")
    return done.stdout


def refs_of(output):
    """Parses the output of `ls-remote` or `show-ref` into ids by name."""
    return {name: oid for oid, name in (line.split() for line in output.decode().splitlines())}
