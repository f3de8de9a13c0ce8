"""B16: GET repository/tree of the root of large, against `git cat-file --batch` of the same tree."""

from harness.git import RateCase


class Case(RateCase):
    name = "content_tree"
    what = "GET tree"
    path = "tree?per_page=100"
    request = "HEAD^{tree}"
