"""The time from the start of the process to the first responses, with a current schema."""

import time

from harness import BaseCase, plain


class Start:
    name = "start"

    def __init__(self, instance):
        self.instance = instance

    def measure(self, _environment):
        server = self.instance.start_ours()
        try:
            server.wait_for("/healthz")
            alive = time.monotonic()
            server.wait_for("/api/v3/user")
            answered = time.monotonic()
            return {"healthz": alive - server.started, "api": answered - server.started}
        finally:
            server.stop()


class Case(BaseCase):
    def measurements(self, environment):
        return [Start(environment.instance("small"))]

    def results(self, measured):
        lines = {"first 200 of /healthz": "healthz", "first 200 of GET /user": "api"}
        return [
            plain("start", what, "seconds", [m[figure] for m in measured["start"]], at_most=0.3, gate=1.0)
            for what, figure in lines.items()
        ]
