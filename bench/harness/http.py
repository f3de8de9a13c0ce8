"""One request at a time, to look at an answer rather than at its speed."""

import http.client


def get(port, path, headers=None):
    """Status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
