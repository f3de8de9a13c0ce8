"""A runner without a machine: it speaks the runner protocol (v4), and the test says what its builds do."""
import io
import zipfile

import requests

from suite.client import HTTP_TIMEOUT, data, status


def archive(files):
    """A zip archive of the files, as bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return packed.getvalue()


def unpacked(content):
    """The files of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        return {name: source.read(name) for name in source.namelist()}


class Job:
    """A build that the runner has taken."""

    def __init__(self, runner, body):
        self.runner, self.body = runner, body
        self.id, self.token, self.sent = body["id"], body["token"], 0

    @property
    def name(self):
        return self.body["job_info"]["name"]

    @property
    def variables(self):
        """Name and value of its variables; the last of a name counts."""
        return {variable["key"]: variable["value"] for variable in self.body["variables"]}

    def call(self, method, path="", headers=None, **rest):
        return self.runner.call(method, "/jobs/%d%s" % (self.id, path),
                                headers=dict({"JOB-TOKEN": self.token}, **headers or {}), **rest)

    def say(self, text):
        """Appends to the trace; gives the answer."""
        body = text.encode()
        span = "%d-%d" % (self.sent, self.sent + len(body) - 1)
        resp = self.call("PATCH", "/trace", {"Content-Type": "text/plain", "Content-Range": span}, data=body)
        if resp.status_code == 202:
            self.sent += len(body)
        return resp

    def upload(self, files, **query):
        """Sends artifacts."""
        status(self.call("POST", "/artifacts", params=query, files={"file": ("artifacts.zip", archive(files))}), 201)
        return self

    def put(self, state):
        """Tells a state; gives the answer."""
        return self.runner.call("PUT", "/jobs/%d" % self.id, json={"token": self.token, "state": state})

    def end(self, state, text=""):
        """Says the text and ends the build so."""
        if text:
            status(self.say(text), 202)
        status(self.put(state), 200)
        return self


class Runner:
    """A runner registered with a registration token."""

    def __init__(self, base_url, registration, tags, **extra):
        self.api_url = base_url + "/api/v4"
        self.session = requests.Session()
        self.session.trust_env = False
        made = data(self.call("POST", "/runners", json=dict(
            {"token": registration, "description": "a runner of the suite", "tag_list": ",".join(tags),
             "run_untagged": False, "info": {"name": "conformance", "version": "1"}}, **extra)), 201)
        self.id, self.token = made["id"], made["token"]

    def call(self, method, path, **rest):
        return self.session.request(method, self.api_url + path, timeout=HTTP_TIMEOUT, allow_redirects=False, **rest)

    def ask(self):
        """The next job, or None."""
        resp = status(self.call("POST", "/jobs/request", json={"token": self.token, "info": {}}), 201, 204)
        return Job(self, resp.json()) if resp.status_code == 201 else None

    def take(self, name):
        """The next job, which must be this one."""
        job = self.ask()
        assert job and job.name == name, "expected the build %s, got %s" % (name, job and job.name)
        return job
