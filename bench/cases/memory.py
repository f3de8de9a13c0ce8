"""Memory of the server: idle, and after the load of the other cases."""

import time

from harness import BaseCase, plain, proc

REST = 60


class Case(BaseCase):
    after_load = None

    def before(self, environment):
        server = environment.instance("small").start_ours()
        try:
            server.wait_for("/healthz")
            server.wait_for("/api/v3/user")
            time.sleep(REST)
            self.idle = proc.pss(server.pid)
        finally:
            server.stop()

    def after(self, environment):
        # Two servers would share the pages of the program, and each would count half of them.
        running = [instance for instance in environment.instances if instance.running("ours")]
        running.sort(key=lambda instance: proc.cpu(instance.running("ours").pid))
        for instance in running[:-1]:
            instance.stop("ours")
        if running:
            self.after_load = proc.pss(running[-1].running("ours").pid)

    def results(self, measured):
        results = [plain("memory", f"at rest for {REST} s", "bytes", [self.idle], at_most=40e6, gate=60e6)]
        if self.after_load:
            results.append(plain("memory", "after load", "bytes", [self.after_load], at_most=2 * self.idle))
        return results
