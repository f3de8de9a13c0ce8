"""GET /groups as administrator: the first 20 by name."""

from harness import ListCase


class Case(ListCase):
    name = "groups"
    path = "/api/v3/groups"
    references = {"page": "/axum-list/groups", "page + total": "/axum-list/groups-total"}
