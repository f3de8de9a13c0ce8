"""Runs the named flows of a client and prints one line for each: `passed` or `FAILED`, its name, and the reason.

A flow is a function with the decorator @flow(NAME). It fails if it raises an exception. The flows run in the order of
their definition. The environment has the address of the server (BASE_URL), a token of the administrator root (TOKEN),
an empty directory (WORK), one for logs (LOGS), and optionally a part of the names of the only flows to run (FLOWS).
"""
import functools
import json
import os
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request

URL, TOKEN, WORK, LOGS = (os.environ[name] for name in ("BASE_URL", "TOKEN", "WORK", "LOGS"))
DEADLINE = 60

FLOWS = []


def flow(name):
    def register(function):
        FLOWS.append((name, function))
        return function
    return register


def once(function):
    """Makes what several flows use at the first call. If that fails, all flows that use it fail for this reason."""
    made = []

    @functools.wraps(function)
    def get_or_make():
        if not made:
            try:
                made.append((function(), None, None))
            except Exception as error:  # pylint: disable=broad-except
                made.append((None, error, error.__traceback__))
        value, error, trace = made[0]
        if error:
            raise error.with_traceback(trace)
        return value
    return get_or_make


def run():
    """Runs the flows and exits; the status is 1 if one of them failed."""
    failed = 0
    for name, function in FLOWS:
        if os.environ.get("FLOWS", "") not in name:
            continue
        try:
            function()
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print("FAILED  %s: %s" % (name, reason(error)), flush=True)
        else:
            print("passed  %s" % name, flush=True)
    sys.exit(1 if failed else 0)


def reason(error):
    """Returns the error in one line, with the line of the flow and the function that it comes from."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.basename(frame.filename) == "flows.py"]
    text = "%.600s" % " ".join(("%s %s" % (type(error).__name__, error)).split())
    if not frames:
        return text
    within = "" if frames[-1].name in ("_", "<lambda>") else ", in %s()" % frames[-1].name
    return "%s (line %d%s: %s)" % (text, frames[0].lineno, within, frames[0].line)


def same(seen, expected):
    assert seen == expected, "expected %r, seen %r" % (expected, seen)


def contains(items, wanted):
    assert wanted in items, "%r is not in %r" % (wanted, items)


def eventually(function, seconds=DEADLINE):
    """Calls the function until its result is true, and returns that; fails after the time."""
    deadline = time.monotonic() + seconds
    while True:
        result = function()
        if result:
            return result
        assert time.monotonic() < deadline, "not within %d seconds, the last result: %r" % (seconds, result)
        time.sleep(0.2)


def call(method, path, body=None):
    """Returns the response of the API to a request without the client: to prepare a flow, or to check its result."""
    headers = {"PRIVATE-TOKEN": TOKEN, "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + "/api/v4" + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        said = error.read().decode("utf-8", "replace")
        raise AssertionError("%s %s: %d %s" % (method, path, error.code, said)) from None


get, post, put = (functools.partial(call, method) for method in ("GET", "POST", "PUT"))


def program(*command, cwd=None, environment=None, seconds=90, check=True):
    """Runs a program with only this environment beside the usual variables; returns it when it has ended.

    With check, another exit status than 0 fails the flow, with the last lines of the output.
    """
    kept = ("PATH", "LANG", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
    full = {key: os.environ[key] for key in kept if key in os.environ}
    full.update(HOME=WORK, GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0", NO_COLOR="1")
    full.update(environment or {})
    done = subprocess.run(command, cwd=cwd or WORK, env=full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=seconds, check=False)
    if check and done.returncode:
        said = (done.stdout + "\n" + done.stderr).strip()
        raise AssertionError("%s: exit status %d: %s" % (os.path.basename(command[0]), done.returncode, said[-500:]))
    return done


def git(*arguments, cwd=None):
    """Runs git as an author of its own, and returns its output."""
    author = ["-c", "user.name=Client", "-c", "user.email=client@example.com", "-c", "credential.helper="]
    return program("git", *author, *arguments, cwd=cwd).stdout.strip()


def repository_url(project):
    """Returns the URL of a repository, with the credentials of root."""
    return "%s/%s.git" % (URL.replace("://", "://root:%s@" % TOKEN), project)


def public_key():
    """Returns a new SSH public key."""
    path = os.path.join(WORK, "key-%d" % time.monotonic_ns())
    program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "client", "-f", path)
    with open(path + ".pub", encoding="ascii") as handle:
        return handle.read().strip()
