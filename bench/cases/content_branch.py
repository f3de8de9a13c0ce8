"""B16: GET repository/branches/main of large, against `git cat-file --batch` of that branch."""

from harness.git import RateCase


class Case(RateCase):
    name = "content_branch"
    what = "GET branches/:branch"
    path = "branches/main"
    request = "refs/heads/main"
