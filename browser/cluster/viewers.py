"""Many viewers of one live page, without a browser: each follows the stream of events as EventSource does."""
import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

#: A browser waits this long before it connects again (`retry` of the stream).
RETRY_SECONDS = 1
DEADLINE = 60
MAX_EVENT_BYTES = 1 << 20


class Viewer:
    def __init__(self, port, path, cookie):
        self.port, self.path, self.cookie = port, path, cookie
        self.last_id, self.text, self.connections, self.refused = None, "", 0, []
        self._changed = asyncio.Event()

    async def follow(self):
        while True:
            try:
                await self._read_stream()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            await asyncio.sleep(RETRY_SECONDS)

    async def _read_stream(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=MAX_EVENT_BYTES)
        headers = ["GET %s HTTP/1.0" % self.path, "Host: 127.0.0.1:%d" % self.port, "Cookie: " + self.cookie,
                   "Accept: text/event-stream"]
        if self.last_id:
            headers.append("Last-Event-ID: " + self.last_id)
        try:
            writer.write("\r\n".join(headers + ["", ""]).encode())
            status = int((await reader.readuntil(b"\r\n\r\n")).split()[1])
            if status != 200:
                self.refused.append(status)
                return
            self.connections += 1
            while True:
                self._receive((await reader.readuntil(b"\n\n")).decode())
        finally:
            writer.close()

    def _receive(self, event):
        fields = [line.partition(": ") for line in event.splitlines()]
        self.last_id = next((value for name, _, value in fields if name == "id"), self.last_id)
        self.text += "\n".join(value for name, _, value in fields if name == "data")
        self._changed.set()

    async def wait_for(self, pattern):
        """Waits until the events have contained this."""
        while not re.search(pattern, self.text):
            self._changed.clear()
            await self._changed.wait()


class Crowd:
    """Viewers that follow one stream until the block ends, each with a session."""

    def __init__(self, port, path, cookies):
        self.viewers = [Viewer(port, path, cookie) for cookie in cookies]

    async def __aenter__(self):
        self._tasks = [asyncio.create_task(viewer.follow()) for viewer in self.viewers]
        return self

    async def __aexit__(self, *_):
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def wait_for(self, pattern):
        """Waits until all viewers have got this."""
        await asyncio.wait_for(asyncio.gather(*(viewer.wait_for(pattern) for viewer in self.viewers)), DEADLINE)


def run(coroutine):
    """Runs a coroutine in a thread of its own: Playwright keeps an event loop in that of the tests."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
