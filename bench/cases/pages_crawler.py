"""W18: the latency of a page for a signed-in viewer while an anonymous crawler opens heavy pages with 50 connections."""

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from statistics import quantiles

from harness.git.browsing import BrowsingCase, ask
from harness.git.case import Operation

HOME = "/root/large"
CONNECTIONS = 50
REQUESTS = 400
PUBLIC = 20


class Viewed(Operation):
    """Sequential requests of the page of a project."""

    def __init__(self, case):
        self.case = case

    def run(self, target, _prepared):
        times = [ask(target, "GET", HOME, self.case.headers).complete for _ in range(REQUESTS)]
        return {"p50": quantiles(times, n=2)[0], "p99": quantiles(times, n=100)[98]}


class ViewedBesideCrawler(Viewed):
    """The same while a crawler reads commits, comparisons and searches for files, as fast as it can."""

    def run(self, target, prepared):
        end, numbers, statuses = threading.Event(), count(), []

        def crawl():
            while not end.is_set():
                number = next(numbers)
                page = ("commits/main?page=%d", "compare/main~%d...main", "find/main?q=%d")[number % 3] % (number + 1)
                connection = http.client.HTTPConnection("127.0.0.1", target.port, timeout=60)
                connection.request("GET", f"{HOME}/{page}")
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
                connection.close()

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            crawlers = [pool.submit(crawl) for _ in range(CONNECTIONS)]
            try:
                figures = super().run(target, prepared)
            finally:
                end.set()
            for crawler in crawlers:
                crawler.result()
        served = statuses.count(200)
        if not served:
            raise RuntimeError(f"the crawler got no page: {set(statuses)}")
        return figures | {"served": served, "refused": len(statuses) - served}


class Case(BrowsingCase):
    name = "pages_crawler"
    projects = {"large": "large"}

    def measurements(self, environment):
        measurements = super().measurements(environment)
        self.local.put(f"/projects/{self.local.project_ids['large']}", visibility_level=PUBLIC)
        return measurements

    def operations(self, _git):
        return {"beside a crawler": ViewedBesideCrawler(self), "alone": Viewed(self)}

    def results(self, measured):
        return [
            *self.within(measured, "beside a crawler", "alone", "p99", at_most=2.0),
            *self.within(measured, "beside a crawler", "alone", "p50"),
            *self.alone(self.targets, measured, "beside a crawler", "served"),
            *self.alone(self.targets, measured, "beside a crawler", "refused"),
        ]
