"""10,000 pending builds and 200 runners that request them, against one read by primary key; and traces of 100 MB."""

import asyncio
import json
import random
import time
from statistics import median

from harness import BaseCase, Load, paired, plain, post
from harness.http import request
from harness.server import shell

RUNNERS, BUILDS, PIPELINES = 200, 10_000, 1000
# Seconds between two requests of a runner.
INTERVAL = 3
TRACE = 100_000_000
PIECES = (1 << 20, 64 << 10)

MAKE = f"""
    insert into runners (token_digest, active, shared, locked, run_untagged, tags, contacted_at, created_at)
    select sha256(('bench-runner-' || n)::bytea), true, true, false, true, array['t0', 't1', 't2', 't3'], now(), now()
    from generate_series(0, {RUNNERS - 1}) n;
    insert into tag_sets (tags) values ('{{}}'), ('{{t0}}'), ('{{t1}}'), ('{{t2}}'), ('{{t3}}'), ('{{elsewhere}}')"""

# The rows of a thousand pushes with ten jobs each, in a hundred projects; a tenth of the builds has tags that no runner
# has.
FILL = f"""
    delete from builds; delete from pipelines; delete from build_turns;
    insert into pipelines (project_id, user_id, ref, tag, sha, before_sha, commit, status, created_at, updated_at)
    select p.id, 1, 'main', false, repeat('a', 40), repeat('0', 40), jsonb_build_object('id', repeat('a', 40), 'message', 'm',
      'author_name', 'n', 'author_email', 'e', 'committer_name', 'n', 'committer_email', 'e', 'created_at', ''), 'pending',
      now(), now()
    from (select id from projects where builds_enabled and shared_runners_enabled order by id limit 100) p,
      generate_series(1, {PIPELINES // 100}) n;
    insert into builds (project_id, pipeline_id, user_id, name, stage, stage_index, status, run_when, allow_failure, tags,
      options, created_at, queued_at)
    select project_id, id, 1, 'job' || n, 'test', 0, 'pending', 'on_success', false, '{{}}',
      '{{"script": ["make", "make test"], "variables": [["A", "1"]]}}', now(), now()
    from pipelines, generate_series(1, {BUILDS // PIPELINES}) n;
    insert into build_queue (build_id, pipeline_id, project_id, tag_set_id, turn, shared, queued_at)
    select b.id, b.pipeline_id, b.project_id, t.id, row_number() over (partition by b.project_id order by b.id), true, now()
    from builds b join tag_sets t on t.tags = case b.id % 10 when 0 then array['elsewhere'] when 1 then array['t1']
      when 2 then array['t2'] when 3 then array['t3'] when 4 then array['t0'] else '{{}}'::text[] end;
    analyze builds; analyze build_queue; analyze pipelines"""


def body(number):
    return json.dumps({"token": f"bench-runner-{number}", "info": {"name": "bench"}})


class Flood(Load):
    """All runners request builds at once, repeatedly."""

    def __init__(self, name, instance, server, path, runners):
        super().__init__(name, server, path)
        self.instance, self.runners = instance, runners

    def arguments(self):
        return ["runners", self.path, str(RUNNERS)] if self.runners else []

    def measure(self, environment):
        if self.runners:
            self.instance.execute(FILL)
        connections, environment.connections = environment.connections, RUNNERS
        try:
            figures = super().measure(environment)
        finally:
            environment.connections = connections
        if self.runners:
            taken = self.instance.number("select count(*) from build_runs")
            if taken < min(figures["requests"], BUILDS * 0.9):
                raise RuntimeError(f"{self.name}: {figures['requests']} requests took {taken} builds")
        return figures


class Paced:
    """Each runner requests a build every few seconds, as real runners do."""

    quiet_wait = 0

    def __init__(self, name, instance, server, path, runners):
        self.name, self.instance, self.server, self.path, self.runners = name, instance, server, path, runners

    def measure(self, _environment):
        if self.runners:
            self.instance.execute(FILL)
        times = asyncio.run(self._all())
        times.sort()
        return {"p50": median(times), "p99": times[len(times) * 99 // 100], "elsewhere": 0}

    async def _all(self):
        gathered = await asyncio.gather(*(self._one(number) for number in range(RUNNERS)))
        return [taken for times in gathered for taken in times]

    async def _one(self, number):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        headers = "".join(f"{name}: {value}\r\n" for name, value in self.server.headers.items())
        if self.runners:
            content = body(number)
            headers += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
            sent = f"POST {self.path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n{content}".encode()
        else:
            sent = f"GET {self.path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode()
        times = []
        start = time.monotonic() + random.random() * INTERVAL
        for turn in range(3):
            await asyncio.sleep(max(0, start + turn * INTERVAL - time.monotonic()))
            begin = time.monotonic()
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            await reader.readexactly(length)
            times.append(time.monotonic() - begin)
            expected = b"201" if self.runners else b"200"
            if head.split()[1] != expected:
                raise RuntimeError(f"{self.name}: {head[:200]!r}")
        writer.close()
        return times


class Trace:
    """One build sends a trace of 100 MB in chunks."""

    quiet_wait = 0

    def __init__(self, name, instance, piece):
        self.name, self.instance, self.piece = name, instance, piece

    def measure(self, _environment):
        self.instance.execute(FILL)
        port = self.instance.ours.port
        status, answer = post(port, "/api/v4/jobs/request", body(0), "application/json")
        if status != 201:
            raise RuntimeError(f"{self.name}: no build: {status}")
        job = json.loads(answer)
        content, times = b"x" * self.piece, []
        for start in range(0, TRACE, self.piece):
            headers = {"JOB-TOKEN": job["token"], "Content-Range": f"{start}-{start + self.piece - 1}"}
            begin = time.monotonic()
            status, answer = request("PATCH", port, f"/api/v4/jobs/{job['id']}/trace", headers, content)
            times.append(time.monotonic() - begin)
            if status != 202:
                raise RuntimeError(f"{self.name}: {status} {answer[:200]!r}")
        tenth = len(times) // 10
        here = self.instance.number("select coalesce(sum(bytes), 0)::bigint from trace_pieces where content is not null")
        return {"first": sum(times[:tenth]), "last": sum(times[-tenth:]), "total": sum(times), "here": here,
                "elsewhere": 0}


class Case(BaseCase):
    def measurements(self, environment):
        self._instance = instance = environment.instance("projects_small")
        instance.execute = lambda sql: shell('"$POSTGRES/psql" -qAtX "$URL" -v ON_ERROR_STOP=1 -c "$SQL"',
                                             URL=instance.url, SQL=sql)
        instance.execute(MAKE)
        pk = f"/axum-pk/user/{instance.root_id}"
        ask = "/api/v4/jobs/request"
        self._pairs = {
            "all at once": [Flood("flood ours", instance, instance.ours, ask, True),
                            Flood("flood axum-pk", instance, instance.reference, pk, False)],
            "every 3 s": [Paced("paced ours", instance, instance.ours, ask, True),
                          Paced("paced axum-pk", instance, instance.reference, pk, False)],
        }
        self._traces = [Trace(f"trace {piece >> 10} KiB", instance, piece) for piece in PIECES]
        return [measurement for pair in self._pairs.values() for measurement in pair] + self._traces

    def results(self, measured):
        results = []
        for what, pair in self._pairs.items():
            ours, reference = ([m["p50"] for m in measured[measurement.name]] for measurement in pair)
            results.append(paired("runners", f"request, {what}: axum-pk, p50", "milliseconds", ours, reference, at_most=5))
        rates = [m["rate"] for m in measured["flood ours"]]
        results.append(plain("runners", "builds taken, all at once", "rate", rates))
        for measurement in self._traces:
            last, first = ([m[part] for m in measured[measurement.name]] for part in ("last", "first"))
            what = f"100 MB in pieces of {measurement.piece >> 10} KiB: last tenth, first tenth"
            results.append(paired("runners", what, "seconds", last, first, at_most=1.5))
        return results
