"""GET /users as administrator: the newest 20."""

from harness import ListCase


class Case(ListCase):
    name = "users"
    path = "/api/v3/users"
    references = {"page": "/axum-list/users", "page + total": "/axum-list/users-total"}
