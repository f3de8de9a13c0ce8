"""B16: GET repository/raw_blobs of a file of large, against `git cat-file --batch` of it."""

from harness.git import RateCase, client

# Bytes; larger files of this repository are not text.
TEXT = 100_000


class Case(RateCase):
    name = "content_raw"
    what = "GET raw_blobs/:sha"

    def operations(self, git):
        """Reads the largest text file, which has 3 KB."""
        files = client.git("-C", git.fixtures["large"], "ls-tree", "-r", "-l", "HEAD").decode().splitlines()
        sizes = {oid: int(size) for _, _, oid, size, *_ in map(str.split, files) if int(size) < TEXT}
        self.request = max(sizes, key=sizes.get)
        self.path = f"raw_blobs/{self.request}"
        return super().operations(git)
