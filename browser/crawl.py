"""Finds the addresses of pages by following links, and groups them by the declared page that serves them."""
import itertools
import os
import re
import subprocess
import urllib.parse
from html.parser import HTMLParser

import requests

#: How many addresses of one declared page are opened.
MAX_PER_PAGE = 10


_numbers = itertools.count(1)


def new_address():
    """A header that makes a request come from an address of its own, so that no limit for one address ends a test."""
    number = next(_numbers)
    return {"X-Forwarded-For": "10.%d.%d.%d" % (number >> 16, number >> 8 & 255, number & 255)}


class Links(HTMLParser):
    """The addresses that links and forms without a change lead to."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        address = attributes.get("href") if tag == "a" else None
        if tag == "form" and (attributes.get("method") or "get") == "get":
            address = attributes.get("action")
        if address:
            self.found.append(address)


def declared_pages():
    """The paths of all declared pages, those with fewer parameters first, as regular expressions."""
    listed = subprocess.run([os.environ["HOLDFAST"], "routes", "--pages"], stdout=subprocess.PIPE, check=True, timeout=60)
    paths = {line.split()[1] for line in listed.stdout.decode().splitlines() if line.startswith("GET")}

    def expression(path):
        parts = [".+" if part.startswith("*") else "[^/]+" if part.startswith(":") else re.escape(part)
                 for part in path.split("/")]
        return re.compile("/".join(parts) + "$")
    fixed_first = sorted(paths, key=lambda path: (path.count(":") + path.count("*"), path))
    return [(path, expression(path)) for path in fixed_first]


def page_of(pages, address):
    """The declared page that serves an address, or None."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(address).path)
    return next((name for name, expression in pages if expression.match(path)), None)


def crawl(base_url, cookies, start, first=()):
    """The addresses and sizes of HTML pages, by declared page, {page: [(address, bytes)]}, and the broken links. Only
    addresses below `start` are opened, and the pages `first` and what they lead to before others."""
    pages = declared_pages()
    session = requests.Session()
    session.trust_env = False
    session.cookies.update(cookies)
    found, broken, opened, queue, seen = {}, [], {}, [base_url + path for path in (*first, start)], set()
    while queue:
        address = queue.pop(0)
        page = page_of(pages, address)
        if page is None or opened.get(page, 0) >= MAX_PER_PAGE:
            continue
        opened[page] = opened.get(page, 0) + 1
        with session.get(address, headers=new_address(), stream=True, timeout=60) as resp:
            if resp.status_code != 200:
                broken.append("%s is %d" % (address, resp.status_code))
                continue
            if not resp.headers["Content-Type"].startswith("text/html"):
                continue
            # A redirect leads to another page than the link said.
            address, text = resp.url, resp.text
        page = page_of(pages, address)
        if address not in [known for known, _ in found.setdefault(page, [])]:
            found[page].append((address, len(text)))
        for link in Links(text).found:
            link = urllib.parse.urldefrag(urllib.parse.urljoin(address, link))[0]
            if link.startswith(base_url + start) and link not in seen:
                seen.add(link)
                queue.append(link)
    return found, broken
