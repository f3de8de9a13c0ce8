"""Lets a real runner execute the pipelines of a project. Started by dev/runners, which runs a server.

A failed expectation prints the expected and the actual value. Nothing sleeps for a fixed time; everything is polled with a
deadline.
"""
import argparse
import hashlib
import io
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import zipfile
from urllib.parse import quote

import requests

from suite.gitrepo import LocalRepo, repo_url

DEADLINE = 60
PAUSE = 0.1
TAG = "scenario"
ANSWER = "< json:"

# One file for all runners. The secret is printed as a digest; SWITCH is the cause of a failure outside of the
# repository.
PIPELINE = """
stages: [build, test, deploy]

compile:
  stage: build
  tags: [scenario]
  except: [tags]
  cache:
    paths: [cached/]
  before_script:
    - echo "preparing $(cat version)"
  script:
    - if [ -e cached/version ]; then echo "cached by $(cat cached/version)"; else echo "nothing cached"; fi
    - mkdir -p cached out/deep
    - cp version cached/version
    - echo "made of $(cat version)" >out/deep/result
    - echo "the digest is $(printf %s "$SECRET" | sha256sum | cut -c 1-16)"
  artifacts:
    paths: [out/]

unit:
  stage: test
  tags: [scenario]
  except: [tags]
  script:
    - echo "tested what was $(cat out/deep/result)"
  after_script:
    - echo "cleaning up after unit"

soft:
  stage: test
  tags: [scenario]
  except: [tags]
  allow_failure: true
  script:
    - echo "this one may fail"
    - exit 3
    - echo "never said"
  after_script:
    - echo "cleaning up after soft"

gate:
  stage: test
  tags: [scenario]
  except: [tags]
  script:
    - echo "the switch is $SWITCH"
    - test "$SWITCH" = on
    - echo "the gate is open"

publish:
  stage: deploy
  tags: [scenario]
  except: [tags]
  script:
    - echo "published what was $(cat out/deep/result)"

release:
  stage: deploy
  tags: [scenario]
  except: [tags]
  when: manual
  script:
    - echo "released by hand"

package:
  stage: build
  tags: [scenario]
  only: [tags]
  script:
    - echo "packed $(git describe --tags --exact-match)"
"""

# No runner has the second tag of the second build.
ENDLESS = """
endless:
  tags: [scenario]
  script:
    - echo "process $$"
    - setsid sleep 600 >/dev/null 2>&1 & echo "daemon $!"
    - while sleep 0.3; do echo "still here"; done

elsewhere:
  tags: [scenario, moon]
  script:
    - echo "never said"
"""


class Unexpected(Exception):
    """The actual value is not the expected one."""


def say(text):
    print("         " + text, file=sys.stderr, flush=True)


def same(what, seen, expected):
    if seen != expected:
        raise Unexpected("%s\n  expected: %r\n  seen:     %r" % (what, expected, seen))


def holds(what, condition, seen):
    if not condition:
        raise Unexpected("%s\n  seen: %s" % (what, seen))


def tail(path, lines=40):
    """Returns the last lines of a log, without the polling requests."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            interesting = [line for line in handle if not re.search("method.*GET.*status.*=.*200", line)]
            return "".join(interesting[-lines:])
    except OSError as error:
        return "(%s)\n" % error


def alive(pid):
    """Returns whether the process is running; a zombie is not."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as handle:
            return handle.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


# ---------------------------------------------------------------- runners

class Runner:
    """A runner in a directory of its own, with an environment without the settings of the server."""

    caches = hands_on_variables = stops_canceled = True

    def __init__(self, options):
        self.url, self.directory = options.url, options.directory
        self.log, self.process = os.path.join(options.directory, "runner.log"), None
        os.makedirs(os.path.join(self.directory, "tmp"))
        kept = ("PATH", "LANG", "NO_PROXY", "no_proxy")
        self.environment = {key: os.environ[key] for key in kept if key in os.environ}
        self.environment.update(HOME=self.directory, TMPDIR=os.path.join(self.directory, "tmp"),
                                GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0")

    def start(self, *arguments):
        with open(self.log, "ab") as log:
            return subprocess.Popen(self.program + list(arguments), cwd=self.directory, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def command(self, *arguments):
        same("the status of the runner's command %s" % arguments[0], self.start(*arguments).wait(DEADLINE), 0)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as handle:
            return handle.read()

    def kill(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Own(Runner):
    """`holdfast runner`, which runs all the time."""

    def __init__(self, options):
        super().__init__(options)
        self.program = [options.holdfast, "runner"]
        self.config = os.path.join(self.directory, "holdfast-runner.toml")

    def register(self, token):
        self.environment["HOLDFAST_REGISTRATION_TOKEN"] = token
        self.command("register", "--url", self.url, "--tags", TAG, "--description", "own")
        del self.environment["HOLDFAST_REGISTRATION_TOKEN"]
        with open(self.config, encoding="utf-8") as handle:
            written = handle.read()
        # The test has many short builds.
        with open(self.config, "w", encoding="utf-8") as handle:
            handle.write(re.sub("(?m)^poll_seconds = .*", "poll_seconds = 1", written))
        self.process = self.start("run")

    def work(self, _pending):
        same("the runner runs (its status)", self.process.poll(), None)

    def finish(self):
        self.process.terminate()
        same("the status of the runner after SIGTERM", self.process.wait(DEADLINE), 0)
        self.command("unregister")
        holds("unregistering removes the configuration", not os.path.exists(self.config), self.config)


class Python(Runner):
    """gitlab-python-runner 14.3.20 with gitlab-emulator 1.1.9.

    It requests builds every 40 seconds when idle, so it is started for each pending build.

    Its limitations:
    - caches: not supported, as its features say (`"cache": false`);
    - variables: it reads those of the job after it has created the environment of the script, which therefore gets
      only those of the pipeline file and of the runner's own environment;
    - stop a canceled script: the 403 ends the thread that reads the script's output, and the runner then waits for
      the script to end by itself.
    """

    caches = hands_on_variables = stops_canceled = False

    def __init__(self, options):
        super().__init__(options)
        self.program = [sys.executable, "-m", "GitlabPyRunner"]

    def register(self, token):
        self.command("--register", self.url, "--regtoken", token, "--tag", TAG, "--desc", "python")

    def work(self, pending):
        if pending and (self.process is None or self.process.poll() is not None):
            self.process = self.start("--start", "gitlab-runner.yml", "--once", "--trace-http")

    def job_responses(self):
        """Returns the jobs that the server assigned, from the HTTP trace of the runner."""
        with open(os.path.join(self.directory, "http.trace"), encoding="utf-8") as handle:
            notes = [note.strip() for note in handle.read().split("---\n")]
        jobs = [json.loads(note[len(ANSWER):]) for note in notes if note.startswith(ANSWER)]
        return {job["job_info"]["name"]: job for job in jobs}

    def finish(self):
        self.process.wait(DEADLINE)
        self.command("--unregister")


# ---------------------------------------------------------------- the server

class Api:
    """The REST API, as one user."""

    def __init__(self, url, token=None):
        self.url, self.session = url + "/api/v3", requests.Session()
        self.session.trust_env = False
        if token:
            self.session.headers["PRIVATE-TOKEN"] = token

    def call(self, expected, method, path, **form):
        where = {"params" if method == "GET" else "data": form}
        answer = self.session.request(method, self.url + path, timeout=DEADLINE, **where)
        same("the status of %s %s (%s)" % (method, path, answer.text[:300]), answer.status_code, expected)
        return answer

    def get(self, path, **query):
        return self.call(200, "GET", path, **query).json()


class RunnerScenario:
    """The project, and the steps of the test."""

    def __init__(self, options, runner):
        self.runner, self.server_log = runner, options.server_log
        name, password = "ada-" + options.runner, secrets.token_hex(12)
        Api(options.url, os.environ["ADMIN_TOKEN"]).call(
            201, "POST", "/users", username=name, name="Ada", email=name + "@example.com", password=password,
            confirm="false")
        token = Api(options.url).call(201, "POST", "/session", login=name, password=password).json()["private_token"]
        self.api = Api(options.url, token)
        self.project = self.api.call(201, "POST", "/projects", name="scenario").json()
        self.path = "/projects/%d" % self.project["id"]
        self.secret = secrets.token_hex(12)
        for key, value in (("SECRET", self.secret), ("SWITCH", "off")):
            self.api.call(201, "POST", self.path + "/variables", key=key, value=value)
        self.repo = LocalRepo(os.path.join(options.directory, "repository"))
        self.remote = repo_url(self.project, name, token)

    # Requests that are repeated

    def builds(self, pipeline):
        """Returns the newest build of each name."""
        found = self.api.get(self.path + "/builds", per_page=100)
        return {b["name"]: b for b in reversed(found) if b["pipeline"]["id"] == pipeline["id"]}

    def pipeline(self, pipeline):
        return self.api.get("%s/pipelines/%d" % (self.path, pipeline["id"]))

    def trace(self, build):
        return self.api.call(200, "GET", "%s/builds/%d/trace" % (self.path, build["id"])).text

    def act(self, expected, build, action):
        return self.api.call(expected, "POST", "%s/builds/%d/%s" % (self.path, build["id"], action)).json()

    def eventually(self, what, probe, expected=True):
        """Lets the runner work until the probe returns the expected value."""
        deadline = time.monotonic() + DEADLINE
        while True:
            pending = self.api.get(self.path + "/builds", scope="pending")
            self.runner.work([b for b in pending if b["name"] != "elsewhere"])
            seen = probe()
            if seen == expected:
                return
            if time.monotonic() > deadline:
                same("within %d s: %s" % (DEADLINE, what), seen, expected)
            time.sleep(PAUSE)

    def becomes(self, pipeline, status, builds):
        """Waits until the pipeline and all of its builds have these statuses."""
        def state():
            return self.pipeline(pipeline)["status"], {n: b["status"] for n, b in self.builds(pipeline).items()}
        self.eventually("pipeline %d on %s" % (pipeline["id"], pipeline["ref"]), state, (status, builds))
        return self.builds(pipeline)

    def push(self, *refs):
        """Pushes, and returns the resulting pipeline."""
        def pipelines():
            return {p["id"]: p for p in self.api.get(self.path + "/pipelines", per_page=100)}
        before = pipelines()
        self.repo.push(self.remote, *refs)
        self.eventually("pipelines after the push of " + " ".join(refs), lambda: len(pipelines()), len(before) + 1)
        made, = (p for number, p in pipelines().items() if number not in before)
        same("the commit of the pipeline", made["sha"], self.repo.rev("HEAD"))
        return made

    def commit(self, version, pipeline=PIPELINE):
        self.repo.commit({".gitlab-ci.yml": pipeline.encode(), "version": version.encode()}, "Version " + version)

    # Checks of builds

    def said(self, build, *texts, never=()):
        """Checks the output of the script in the trace, at the start of lines: elsewhere the text may be the script
        itself."""
        lines = [re.sub("\x1b\\[[0-9;]*[mK]", "", line).strip() for line in self.trace(build).splitlines()]
        for text in texts:
            holds("the trace of %s says %r" % (build["name"], text), text in lines, "\n" + "\n".join(lines))
        for text in never:
            holds("the trace of %s does not say %r" % (build["name"], text), text not in lines, "\n" + "\n".join(lines))

    def ran(self, build):
        """Checks that the build was executed by this runner, and that its times are set."""
        same("the runner of " + build["name"], (build["runner"] or {}).get("id"), self.registered["id"])
        times = [build[field] for field in ("created_at", "started_at", "finished_at")]
        holds("the times of %s are set, in order" % build["name"], None not in times and times == sorted(times), times)

    def done(self, pipeline):
        """Checks that the times of the pipeline are set."""
        seen = self.pipeline(pipeline)
        times = [seen[field] for field in ("created_at", "started_at", "finished_at")]
        holds("the times of the pipeline are set, in order", None not in times and times == sorted(times), times)
        holds("the duration is a number of seconds", type(seen["duration"]) is int and 0 <= seen["duration"] < DEADLINE,
              repr(seen["duration"]))

    def artifact(self, path, version, **query):
        """Checks that the artifacts contain the one file, built from this version."""
        answer = self.api.call(200, "GET", self.path + path, **query)
        holds("the archive comes as a file", answer.headers.get("Content-Disposition", "").startswith("attachment"),
              answer.headers)
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist() if not name.endswith("/")}
        same("the artifacts at " + path, files, {"out/deep/result": "made of %s\n" % version})

    # The steps

    def registers(self):
        """Registers the runner."""
        self.runner.register(self.project["runners_token"])
        found = self.api.get(self.path + "/runners")
        same("the runners of the project", [(r["active"], r["is_shared"]) for r in found], [(True, False)])
        self.registered = self.api.get("/runners/%d" % found[0]["id"])
        same("the tags of the runner", self.registered["tag_list"], [TAG])

    def fails_and_is_retried(self):
        """A pipeline fails, its cause is fixed outside of the repository, and a retry continues it."""
        self.commit("one")
        pipeline = self.push("master")
        builds = self.becomes(pipeline, "failed", dict(
            compile="success", unit="success", soft="failed", gate="failed", publish="skipped", release="skipped"))
        digest = hashlib.sha256(self.secret.encode()).hexdigest()[:16]
        self.said(builds["compile"], "preparing one", "nothing cached")
        if self.runner.hands_on_variables:
            self.said(builds["compile"], "the digest is " + digest)
        else:
            sent = {v["key"]: v["value"] for v in self.runner.job_responses()["compile"]["variables"]}
            same("the variables that the server sent", (sent.get("SECRET"), sent.get("SWITCH")), (self.secret, "off"))
        self.said(builds["unit"], "tested what was made of one", "cleaning up after unit")
        self.said(builds["soft"], "this one may fail", "cleaning up after soft", never=["never said"])
        self.said(builds["gate"], never=["the gate is open"])

        self.api.call(200, "PUT", self.path + "/variables/SWITCH", value="on")
        if not self.runner.hands_on_variables:
            self.runner.environment["SWITCH"] = "on"
        failed = builds["gate"]
        again = self.act(201, failed, "retry")
        holds("a retry is a new build", again["id"] > failed["id"], again)
        same("the name and the status of the retry", (again["name"], again["status"]), ("gate", "pending"))
        builds = self.becomes(pipeline, "success", dict(
            compile="success", unit="success", soft="failed", gate="success", publish="success", release="skipped"))
        self.said(builds["gate"], "the switch is on", "the gate is open")
        self.said(builds["publish"], "published what was made of one")
        same("the retried build stays as it was",
             self.api.get("%s/builds/%d" % (self.path, failed["id"]))["status"], "failed")
        for name in ("compile", "unit", "soft", "gate", "publish"):
            self.ran(builds[name])
        self.done(pipeline)
        self.artifact("/builds/%d/artifacts" % builds["compile"]["id"], "one")
        self.artifact("/builds/artifacts/master/download", "one", job="compile")
        self.first = pipeline, builds

    def is_played(self):
        """The manual build is played."""
        pipeline, builds = self.first
        played = self.act(200, builds["release"], "play")
        same("the build that is played", (played["id"], played["status"]), (builds["release"]["id"], "pending"))
        builds = self.becomes(pipeline, "success", dict(
            compile="success", unit="success", soft="failed", gate="success", publish="success", release="success"))
        self.said(builds["release"], "released by hand")
        self.ran(builds["release"])

    def is_canceled(self):
        """A build is canceled while its script runs. One with a tag that the runner lacks is never claimed."""
        self.repo.checkout("endless", create=True)
        self.commit("endless", ENDLESS)
        pipeline = self.push("endless")
        build = self.builds(pipeline)["endless"]
        self.eventually("the script of endless talks", lambda: "\nstill here" in self.trace(build))
        text = self.trace(build)
        script, daemon = (int(re.search("(?m)^%s (\\d+)" % word, text).group(1)) for word in ("process", "daemon"))
        same("the script and its daemon run", (alive(script), alive(daemon)), (True, True))
        stopped = time.monotonic()
        same("the status of the canceled build", self.act(201, build, "cancel")["status"], "canceled")
        if not self.runner.stops_canceled:
            self.eventually("the runner is refused", lambda: "403 Client Error" in self.runner.said())
            for pid in (script, daemon):
                os.kill(pid, signal.SIGTERM)
        self.eventually("the script and its daemon are gone", lambda: (alive(script), alive(daemon)), (False, False))
        say("the script was gone %.1f s after the cancel" % (time.monotonic() - stopped))
        if not self.runner.stops_canceled:
            self.eventually("the runner gives up", self.runner.process.poll, 1)
            holds("the runner knows why", "was cancelled" in self.runner.said(), self.runner.said()[-500:])
        self.becomes(pipeline, "running", dict(endless="canceled", elsewhere="pending"))
        same("the answer to the cancel of the pipeline", self.api.call(
            200, "POST", "%s/pipelines/%d/cancel" % (self.path, pipeline["id"])).json()["status"], "canceled")
        self.becomes(pipeline, "canceled", dict(endless="canceled", elsewhere="canceled"))
        same("nobody took the build with a foreign tag", self.builds(pipeline)["elsewhere"]["runner"], None)
        self.said(build, "process %d" % script, "still here")
        self.canceled = pipeline, self.api.get("%s/builds/%d" % (self.path, build["id"])), self.trace(build)

    def goes_well(self):
        """The next push: only the allowed failure occurs, and the cache is restored. Then a tag."""
        self.repo.checkout("master")
        self.commit("two")
        pipeline = self.push("master")
        builds = self.becomes(pipeline, "success", dict(
            compile="success", unit="success", soft="failed", gate="success", publish="success", release="skipped"))
        self.said(builds["compile"], "preparing two", "cached by one" if self.runner.caches else "nothing cached")
        self.said(builds["publish"], "published what was made of two")
        self.done(pipeline)
        self.artifact("/builds/artifacts/%s/download" % quote("master", safe=""), "two", job="compile")
        self.artifact("/builds/%d/artifacts" % self.first[1]["compile"]["id"], "one")

        self.repo.tag("v1")
        pipeline = self.push("v1")
        same("the pipeline of a tag", (pipeline["ref"], pipeline["tag"]), ("v1", True))
        builds = self.becomes(pipeline, "success", dict(package="success"))
        self.said(builds["package"], "packed v1")

    def ends(self):
        """The runner is stopped. The canceled build is still canceled, although the runner has reported it since."""
        pipeline, build, text = self.canceled
        self.runner.finish()
        same("the canceled pipeline", self.pipeline(pipeline)["status"], "canceled")
        seen = self.api.get("%s/builds/%d" % (self.path, build["id"]))
        same("the canceled build", (seen["status"], seen["finished_at"]), ("canceled", build["finished_at"]))
        same("the trace of the canceled build", self.trace(build), text)
        same("the runners of the project", self.api.get(self.path + "/runners"), [])
        with open(self.server_log, encoding="utf-8", errors="replace") as handle:
            errors = [line for line in handle if re.search("\\bERROR\\b|panicked", line)]
        same("the errors in the log of the server", errors, [])

    def steps(self):
        return [self.registers, self.fails_and_is_retried, self.is_played, self.is_canceled, self.goes_well, self.ends]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runner", choices=["own", "python"])
    for option in ("--url", "--directory", "--server-log", "--holdfast"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runner = {"own": Own, "python": Python}[options.runner](options)
    try:
        scenario = RunnerScenario(options, runner)
        for step in scenario.steps():
            begin = time.monotonic()
            step()
            say("%s: %.1f s" % (step.__name__.replace("_", " "), time.monotonic() - begin))
    except (Unexpected, requests.RequestException, AssertionError, subprocess.TimeoutExpired) as error:
        for title, path in (("server", options.server_log), ("runner", runner.log)):
            print("--- the end of the log of the %s\n%s" % (title, tail(path)), file=sys.stderr)
        print("error, with the %s runner: %s" % (options.runner, error), file=sys.stderr)
        sys.exit(1)
    finally:
        runner.kill()


if __name__ == "__main__":
    main()
