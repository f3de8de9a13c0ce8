"""Pages of 20 events of a project and of a user out of 10,000,000, against the same out of 10,000; see bench/seed."""

from harness import BaseCase, Load, compare, plain

SIZES = {"small": "feed_small", "large": "feed_large"}
PROJECT = "select p.id from projects p join namespaces n on n.id = p.namespace_id where n.path || '/' || p.path = '{}'"
USER = "select id from users where username = '{}'"
PUBLIC, PRIVATE, AUTHOR = "bench-member/bench-public", "bench-member/bench-private", "bench-author"
# The feed, its viewer, and the later page. A guest sees no pushes, so the guest's feed has fewer than 50 pages.
VIEWS = [
    (PUBLIC, "owner", "bench-member", 50),
    (PUBLIC, "stranger", "bench-stranger", 50),
    (PRIVATE, "guest", "bench-guest", 25),
    (AUTHOR, "administrator", "root", 50),
    (AUTHOR, "himself", "bench-author", 50),
    (AUTHOR, "stranger", "bench-stranger", 50),
]


class Case(BaseCase):
    growth_at_most = 2.0

    def measurements(self, environment):
        self._views = {}
        for size, name in SIZES.items():
            instance = environment.instance(name)
            for of, reader, username, later in VIEWS:
                project = "/" in of
                found = instance.number((PROJECT if project else USER).format(of))
                path = f"/api/v3/{'projects' if project else 'users'}/{found}/events"
                for page in (1, later):
                    view = f"{of.split('/')[-1]} as {reader}, page {page}"
                    server = instance.ours_as(username)
                    load = Load(f"feed {size}: {view}", server, f"{path}?page={page}" if page > 1 else path)
                    self._views.setdefault(view, {})[size] = load
        return [load for by_size in self._views.values() for load in by_size.values()]

    def check(self, _environment):
        for view, by_size in self._views.items():
            for load in by_size.values():
                self._check(view, load)

    def _check(self, view, load):
        events = load.answer()
        if len(events) != 20:
            raise RuntimeError(f"{load.name}: {len(events)} events instead of 20")
        times = [event["created_at"] for event in events]
        if times != sorted(times, reverse=True):
            raise RuntimeError(f"{load.name}: not the newest first")
        kind, found = load.path.split("/")[3:5]
        whose = "project_id" if kind == "projects" else "author_id"
        if any(event[whose] != int(found) for event in events):
            raise RuntimeError(f"{load.name}: not what was asked for")
        # 70 % of the events are pushes.
        if any(event["data"] for event in events) == ("as guest" in view):
            raise RuntimeError(f"{load.name}: pushes are hidden from the wrong reader")

    def results(self, measured):
        results = []
        for view, by_size in self._views.items():
            small, large = (measured[by_size[size].name] for size in SIZES)
            results += compare("feed", f"{view}: large against small", large, small, None, ("rate", "database_cpu"))
            costs = [few["rate"] / many["rate"] for few, many in zip(small, large)]
            results.append(plain("feed", view, "growth", costs, at_most=self.growth_at_most))
        return results
