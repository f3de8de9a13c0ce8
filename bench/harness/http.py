"""Single requests, for checking responses rather than measuring them."""

import http.client


def request(method, port, path, headers=None, body=None):
    """Returns status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def get(port, path, headers=None):
    return request("GET", port, path, headers)


def post(port, path, body, kind, headers=None):
    return request("POST", port, path, {"Content-Type": kind} | (headers or {}), body)
