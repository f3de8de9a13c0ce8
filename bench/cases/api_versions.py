"""Responses of version 4 of the API against those of version 3 about the same things: the cost of the second
presentation, and of numbers within the project in paths instead of ids."""

from harness import BaseCase, Load, compare
from harness.merge_requests import insert_merge_requests

USER = "bench-member"
PROJECT = """select p.id from projects p join namespaces n on n.id = p.namespace_id
    where n.path || '/' || p.path = 'bench-member/bench-public'"""
MERGE_REQUESTS = 200
# The target branch, which the pages of merge requests read.
MAIN = """insert into refs (repository_id, name, target)
    select id, 'refs/heads/main', decode(md5('main') || left(md5('tip'), 8), 'hex') from repositories
    where project_id = {} on conflict do nothing"""
COMMENTED_ISSUE = "select min(n.issue_id) from notes n join issues i on i.id = n.issue_id where i.project_id = {}"
# What is read, with the paths of version 3 and of version 4 below the prefix of the API.
PAIRS = {
    "user": ("/user", "/user"),
    "users": ("/users?per_page=20", "/users?per_page=20"),
    "project": ("/projects/{project}", "/projects/{project}"),
    "projects": ("/projects?per_page=20", "/projects?membership=true&order_by=created_at&per_page=20"),
    "labels": ("/projects/{project}/labels", "/projects/{project}/labels"),
    "milestones": ("/projects/{project}/milestones", "/projects/{project}/milestones"),
    "events": ("/projects/{project}/events", "/projects/{project}/events"),
    "issues": ("/projects/{project}/issues", "/projects/{project}/issues"),
    "issue": ("/projects/{project}/issues/{issue}", "/projects/{project}/issues/{issue_iid}"),
    "notes": ("/projects/{project}/issues/{issue}/notes", "/projects/{project}/issues/{issue_iid}/notes"),
    "merge requests": ("/projects/{project}/merge_requests", "/projects/{project}/merge_requests"),
}


class Case(BaseCase):
    # A response of version 4 may cost 1.05 times as much.
    rate_at_least = 1 / 1.05

    def measurements(self, environment):
        instance = environment.instance("feed_small")
        project = instance.number(PROJECT)
        instance.execute(MAIN.format(project))
        insert_merge_requests(instance, project, MERGE_REQUESTS)
        issue = instance.number(COMMENTED_ISSUE.format(project))
        ids = {
            "project": project,
            "issue": issue,
            "issue_iid": instance.number(f"select iid from issues where id = {issue}"),
        }
        self._pairs = {
            what: [
                Load(f"api_versions {what} v{version}", instance.ours_as(USER), f"/api/v{version}{path.format(**ids)}")
                for version, path in zip((3, 4), paths)
            ]
            for what, paths in PAIRS.items()
        }
        return [load for pair in self._pairs.values() for load in pair]

    def check(self, _environment):
        for older, newer in self._pairs.values():
            if len(as_list(older.answer())) != len(as_list(newer.answer())):
                raise RuntimeError(f"{older.path} and {newer.path} have different numbers of rows")

    def results(self, measured):
        results = []
        for what, (older, newer) in self._pairs.items():
            pair = measured[newer.name], measured[older.name]
            results += compare("api_versions", f"{what}, v4 against v3", *pair, at_least=self.rate_at_least)
        return results


def as_list(answer):
    return answer if isinstance(answer, list) else [answer]
