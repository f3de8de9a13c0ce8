"""Calls every endpoint of the specification with curl and writes docs/tour.md. Started by dev/tour, which runs a server."""
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

URL, SCRATCH, CHECK = sys.argv[1], Path(sys.argv[2]), "--check" in sys.argv
ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "docs" / "tour.md"
API = f"{URL}/api/v3"
TOKENS = {"TOKEN": os.environ["TOKEN"]}
DEADLINE = 30

text, walked = [], []


def say(words):
    text.append(words.strip() + "\n")


def hide(line):
    """Replaces tokens and addresses, which differ in each run, by variables."""
    for name, token in TOKENS.items():
        line = line.replace(token, f"${name}")
    line = line.replace(API, "$API").replace(URL, "$URL").replace(URL.removeprefix("http://"), "$HOST")
    return re.sub(r"ssh://git@127\.0\.0\.1:\d+", "ssh://git@$HOST", line)


def brief(value, keep):
    """Returns the fields of a response that are named in `keep`, and … for the others."""
    if isinstance(value, list):
        shown = [brief(item, keep) for item in value[:2]]
        return shown + ["…"] if len(value) > 2 else shown
    if isinstance(value, dict):
        # A nested object is shown whole unless some of its fields are named.
        keep = keep if any(key in keep for key in value) else ()
        shown = {key: brief(value[key], keep) for key in value if not keep or key in keep}
        return {**shown, "…": "…"} if len(shown) < len(value) else shown
    return value


def as_text(value):
    return json.dumps(value, ensure_ascii=False).replace('"…": "…"', "…").replace('"…"', "…")


def walk(row, *arguments, status, keep="", by="TOKEN", raw=False):
    """Calls one endpoint with curl, adds command and response to the page, and returns the response."""
    method, pattern = row.split(" ")
    path = arguments[0] if arguments and arguments[0].startswith("/") else pattern
    options = [word for word in arguments if word != path]
    command = ["curl", *(["-X", method] if method != "GET" and not (method == "POST" and options) else [])]
    command += ["-H", f"PRIVATE-TOKEN: {TOKENS[by]}", *options, f"{API}{path}"]
    output = SCRATCH / "answer"
    done = subprocess.run([*command, "-sS", "-o", output, "-w", "%{http_code}"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{row}: curl failed: {done.stderr}")
    body = output.read_bytes() if output.exists() else b""
    if int(done.stdout) != status:
        sys.exit(f"{row} {path}: {done.stdout} instead of {status}: {body[:500]!r}")
    shown = hide(" ".join(shlex.quote(word) if word != command[-1] or "?" in word else word for word in command))
    # The shell expands variables only in double quotes.
    shown = re.sub(r"'(PRIVATE-TOKEN: \$\w+|\$API[^']*)'", r'"\1"', shown)
    answer = None
    if raw or not body:
        words = raw(body) if raw else ""
    else:
        answer = json.loads(body)
        words = as_text(brief(answer, keep.split()))
    text.append(f"```\n$ {shown}\n{status}{' ' + hide(words) if words else ''}\n```\n")
    walked.append(row)
    output.unlink(missing_ok=True)
    return answer


def shell(command, **options):
    shown = hide(command)
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, cwd=SCRATCH, **options)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    text.append(f"```\n$ {shown}\n```\n")
    return done.stdout


def until(what):
    """Waits until the function returns something, and returns that."""
    end = time.monotonic() + DEADLINE
    while not (found := what()):
        if time.monotonic() > end:
            sys.exit(f"timed out after {DEADLINE} seconds")
        time.sleep(0.1)
    return found


def ask(path, by="TOKEN"):
    done = subprocess.run(["curl", "-sS", "-H", f"PRIVATE-TOKEN: {TOKENS[by]}", f"{API}{path}"], capture_output=True)
    return json.loads(done.stdout)


def people():
    say("""
# API tour

This page calls every endpoint of the specification once with curl, on a new server, from the first user to the final
cleanup. [routes.txt](routes.txt) lists all endpoints. `dev/tour` runs the calls and writes this page. Each response begins
with its status. Of long responses some fields are shown, and `…` for the rest.

```
API=http://127.0.0.1:8080/api/v3
TOKEN=…     # a token of an administrator; dev/up prints one
```

## Users and tokens
""")
    walk("GET /user", status=200, keep="id username name state is_admin email")
    say("Only administrators create users. The e-mail address is confirmed unless `confirm=false`.")
    ada = walk("POST /users", "-d", "username=ada", "-d", "name=Ada Lovelace", "-d", "email=ada@example.com",
               "-d", "password=long enough", status=201, keep="id username name state email projects_limit")
    done = subprocess.run(["curl", "-sS", "-d", "login=ada", "-d", "password=long enough", f"{API}/session"],
                          capture_output=True, check=True)
    TOKENS["ADA"] = json.loads(done.stdout)["private_token"]
    say("Ada signs in with `POST /session`. The response has a token, `$ADA` below. Users who are not administrators see fewer "
        "fields of other users:")
    bob = walk("POST /users", "-d", "username=bob", "-d", "name=Bob", "-d", "email=bob@example.com",
               "-d", "password=long enough", status=201, keep="id username")
    walk("GET /users", "/users?search=bob", status=200, by="ADA")
    walk("GET /users/:id", f"/users/{bob['id']}", status=200, by="ADA", keep="id username name state created_at is_admin")
    walk("PUT /users/:id", f"/users/{bob['id']}", "-d", "organization=Analytical Engines", status=200,
         keep="id username organization")
    walk("PUT /users/:uid/block", f"/users/{bob['id']}/block", status=200, raw=bytes.decode)
    walk("PUT /users/:uid/unblock", f"/users/{bob['id']}/unblock", status=200, raw=bytes.decode)
    say("### SSH keys and e-mail addresses\n\nAn SSH key authenticates git over SSH. An e-mail address links commits to a user.")
    for name in ("one", "two"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", SCRATCH / name], check=True)
    one, two = ((SCRATCH / f"{name}.pub").read_text().strip() for name in ("one", "two"))
    key = walk("POST /user/keys", "-d", "title=laptop", "--data-urlencode", f"key={one}", status=201, by="ADA",
               keep="id title created_at")
    walk("GET /user/keys", status=200, by="ADA", keep="id title")
    walk("GET /user/keys/:id", f"/user/keys/{key['id']}", status=200, by="ADA", keep="id title")
    other = walk("POST /users/:id/keys", f"/users/{ada['id']}/keys", "-d", "title=desk", "--data-urlencode",
                 f"key={two}", status=201, keep="id title")
    walk("GET /users/:uid/keys", f"/users/{ada['id']}/keys", status=200, keep="id title")
    walk("DELETE /users/:uid/keys/:id", f"/users/{ada['id']}/keys/{other['id']}", status=200, keep="id title")
    walk("DELETE /user/keys/:id", f"/user/keys/{key['id']}", status=200, by="ADA", keep="id title")
    mail = walk("POST /user/emails", "-d", "email=ada@work.example", status=201, by="ADA")
    walk("GET /user/emails", status=200, by="ADA")
    walk("GET /user/emails/:id", f"/user/emails/{mail['id']}", status=200, by="ADA")
    other = walk("POST /users/:id/emails", f"/users/{ada['id']}/emails", "-d", "email=ada@home.example", status=201)
    walk("GET /users/:uid/emails", f"/users/{ada['id']}/emails", status=200)
    walk("DELETE /users/:uid/emails/:id", f"/users/{ada['id']}/emails/{other['id']}", status=200)
    walk("DELETE /user/emails/:id", f"/user/emails/{mail['id']}", status=200, by="ADA")
    return ada, bob


def groups_and_projects(ada):
    say("## Groups")
    group = walk("POST /groups", "-d", "name=Engines", "-d", "path=engines", "-d", "visibility_level=20", status=201,
                 by="ADA", keep="id name path visibility_level web_url")
    walk("GET /groups", "/groups?search=eng", status=200, by="ADA", keep="id name path description")
    walk("GET /groups/owned", status=200, by="ADA", keep="id path")
    walk("PUT /groups/:id", f"/groups/{group['id']}", "-d", "description=That compute", status=200, by="ADA",
         keep="id path description")
    say("## Projects")
    project = walk("POST /projects", "-d", "name=Difference Engine", "-d", "path=difference", "-d", "visibility_level=20",
                   status=201, by="ADA", keep="id path_with_namespace visibility_level http_url_to_repo default_branch")
    id_ = project["id"]
    moved = walk("POST /projects/user/:user_id", f"/projects/user/{ada['id']}", "-d", "name=mill", status=201,
                 keep="id path_with_namespace owner")
    walk("POST /groups/:id/projects/:project_id", f"/groups/engines/projects/{moved['id']}", status=201,
         keep="id path projects path_with_namespace")
    walk("GET /groups/:id/projects", "/groups/engines/projects", status=200, by="ADA", keep="id path_with_namespace")
    walk("GET /groups/:id", "/groups/engines", status=200, by="ADA", keep="id path projects path_with_namespace")
    say("`:id` of a project is its number, or its path with an encoded slash.")
    walk("GET /projects/:id", "/projects/ada%2Fdifference", status=200, by="ADA",
         keep="id name path_with_namespace star_count open_issues_count")
    walk("PUT /projects/:id", f"/projects/{id_}", "-d", "name=Difference Engine", "-d", "description=Tabulates", status=200,
         by="ADA", keep="id name description")
    walk("GET /projects", "/projects?simple=true", status=200, by="ADA")
    walk("GET /projects/visible", "/projects/visible?order_by=name&sort=asc", status=200, by="ADA",
         keep="id path_with_namespace")
    walk("GET /projects/owned", status=200, by="ADA", keep="id path_with_namespace")
    walk("GET /projects/all", status=200, keep="id path_with_namespace")
    walk("POST /projects/:id/star", f"/projects/{id_}/star", status=201, by="ADA", keep="id star_count")
    walk("GET /projects/starred", status=200, by="ADA", keep="id star_count")
    walk("DELETE /projects/:id/star", f"/projects/{id_}/star", status=200, by="ADA", keep="id star_count")
    walk("POST /projects/:id/share", f"/projects/{id_}/share", "-d", f"group_id={group['id']}", "-d", "group_access=30",
         status=201, by="ADA")
    (SCRATCH / "notes.txt").write_text("for the record\n")
    os.chdir(SCRATCH)
    walk("POST /projects/:id/uploads", f"/projects/{id_}/uploads", "-F", "file=@notes.txt", status=201, by="ADA")
    return id_, group


def repository(id_):
    at = f"/projects/{id_}/repository"
    say("## Repositories\n\nA push is visible at once. Git sends the token as password.")
    tree = SCRATCH / "work"
    tree.mkdir()
    git = "git -c user.name=Ada -c user.email=ada@example.com"
    (tree / "README.md").write_text("# Difference Engine\n")
    (tree / "src").mkdir()
    (tree / "src" / "mill.c").write_text("int main(void) { return 0; }\n")
    (tree / ".gitlab-ci.yml").write_text("test:\n  script: make\n")
    token = TOKENS["ADA"]
    shell(f"git init -q -b main work && cd work && git add -A && {git} commit -q -m 'First drawing' && "
          f"git push -q http://ada:{token}@{URL.removeprefix('http://')}/ada/difference.git main")
    walk("GET /projects/:id/repository/branches", f"{at}/branches", status=200, by="ADA",
         keep="name protected commit id message")
    walk("POST /projects/:id/repository/branches", f"{at}/branches", "-d", "branch_name=carry", "-d", "ref=main", status=200,
         by="ADA", keep="name protected")
    walk("PUT /projects/:id/repository/branches/:branch/protect", f"{at}/branches/carry/protect", "-d",
         "developers_can_push=true", status=200, by="ADA", keep="name protected developers_can_push")
    walk("PUT /projects/:id/repository/branches/:branch/unprotect", f"{at}/branches/carry/unprotect", status=200, by="ADA",
         keep="name protected developers_can_push")
    walk("GET /projects/:id/repository/branches/:branch", f"{at}/branches/carry", status=200, by="ADA",
         keep="name commit id author_name authored_date")
    (tree / "src" / "mill.c").write_text("int main(void) { return 1; }\n")
    shell(f"cd work && {git} commit -q -a -m 'Carry the one' && "
          f"git push -q http://ada:{token}@{URL.removeprefix('http://')}/ada/difference.git main")
    walk("GET /projects/:id/repository/compare", f"{at}/compare?from=carry&to=main", status=200, by="ADA",
         keep="commits title diffs new_path diff compare_same_ref")
    say("A background job deletes the branches that are merged into the default branch.")
    walk("DELETE /projects/:id/repository/merged_branches", f"{at}/merged_branches", status=200, by="ADA",
         raw=lambda body: body.decode()[:60])
    until(lambda: len(ask(f"{at}/branches", "ADA")) == 1)
    ask_branch = ("-d", "branch_name=spare", "-d", "ref=main")
    subprocess.run(["curl", "-sS", "-o", "/dev/null", "-H", f"PRIVATE-TOKEN: {token}", *ask_branch, f"{API}{at}/branches"],
                   check=True)
    walk("DELETE /projects/:id/repository/branches/:branch", f"{at}/branches/spare", status=200, by="ADA")
    walk("POST /projects/:id/repository/tags", f"{at}/tags", "-d", "tag_name=v1", "-d", "ref=main", "-d",
         "message=The first one", status=201, by="ADA", keep="name message release")
    walk("GET /projects/:id/repository/tags", f"{at}/tags", status=200, by="ADA", keep="name message release")
    walk("POST /projects/:id/repository/tags/:tag_name/release", f"{at}/tags/v1/release", "-d", "description=It runs",
         status=201, by="ADA")
    walk("PUT /projects/:id/repository/tags/:tag_name/release", f"{at}/tags/v1/release", "-d", "description=It runs well",
         status=200, by="ADA")
    walk("GET /projects/:id/repository/tags/:tag_name", f"{at}/tags/v1", status=200, by="ADA", keep="name message release")
    entries = walk("GET /projects/:id/repository/tree", f"{at}/tree?recursive=true", status=200, by="ADA")
    blob = next(entry["id"] for entry in entries if entry["path"] == "README.md")
    walk("GET /projects/:id/repository/blobs/:sha", f"{at}/blobs/main?filepath=src/mill.c", status=200, by="ADA",
         raw=bytes.decode)
    walk("GET /projects/:id/repository/raw_blobs/:sha", f"{at}/raw_blobs/{blob}", status=200, by="ADA", raw=bytes.decode)
    walk("GET /projects/:id/repository/archive", f"{at}/archive", status=200, by="ADA",
         raw=lambda body: f"({len(body)} bytes, a .tar.gz)")
    until(lambda: isinstance(ask(f"{at}/contributors", "ADA"), list))
    walk("GET /projects/:id/repository/contributors", f"{at}/contributors", status=200, by="ADA")
    walk("DELETE /projects/:id/repository/tags/:tag_name", f"{at}/tags/v1", status=200, by="ADA")
    return f"http://ada:{token}@{URL.removeprefix('http://')}/ada/difference.git"


def planning(id_):
    at = f"/projects/{id_}"
    say("## Labels and boards")
    label = walk("POST /projects/:id/labels", f"{at}/labels", "-d", "name=bug", "-d", "color=#d9534f", status=200, by="ADA",
                 keep="id name color open_issues_count priority")
    walk("PUT /projects/:id/labels", f"{at}/labels", "-d", "name=bug", "-d", "new_name=defect", "-d",
         "priority=1", status=200, by="ADA", keep="id name priority")
    walk("POST /projects/:id/labels/:label_id/subscription", f"{at}/labels/{label['id']}/subscription", status=201, by="ADA",
         keep="id name subscribed")
    walk("DELETE /projects/:id/labels/:label_id/subscription", f"{at}/labels/{label['id']}/subscription", status=200,
         by="ADA", keep="id name subscribed")
    walk("GET /projects/:id/labels", f"{at}/labels", status=200, by="ADA", keep="id name color priority")
    board = walk("GET /projects/:id/boards", f"{at}/boards", status=200, by="ADA")[0]["id"]
    made = walk("POST /projects/:id/boards/:board_id/lists", f"{at}/boards/{board}/lists", "-d", f"label_id={label['id']}",
                status=200, by="ADA")
    walk("GET /projects/:id/boards/:board_id/lists", f"{at}/boards/{board}/lists", status=200, by="ADA")
    one = f"{at}/boards/{board}/lists/{made['id']}"
    row = "/projects/:id/boards/:board_id/lists/:list_id"
    walk(f"GET {row}", one, status=200, by="ADA")
    walk(f"PUT {row}", one, "-d", "position=0", status=200, by="ADA", keep="id position")
    walk(f"DELETE {row}", one, status=200, by="ADA", keep="id position")
    walk("DELETE /projects/:id/labels", f"{at}/labels?name=defect", status=200, by="ADA", keep="id name")


def hooks_and_pipelines(id_):
    at = f"/projects/{id_}"
    say("## Webhooks\n\nA hook receives events in order; see [Webhooks](hooks.md). Its token is never shown again.")
    hook = walk("POST /projects/:id/hooks", f"{at}/hooks", "-d", "url=https://ci.example.com/hook", "-d", "token=secret",
                "-d", "issues_events=true", status=201, by="ADA", keep="id url push_events issues_events")
    one = f"{at}/hooks/{hook['id']}"
    walk("GET /projects/:id/hooks", f"{at}/hooks", status=200, by="ADA", keep="id url")
    walk("GET /projects/:id/hooks/:hook_id", one, status=200, by="ADA", keep="id url push_events issues_events")
    walk("PUT /projects/:id/hooks/:hook_id", one, "-d", "url=https://ci.example.com/new", status=200, by="ADA", keep="id url")
    walk("DELETE /projects/:id/hooks/:hook_id", one, status=200, by="ADA", keep="id url")
    say("System hooks receive events of the whole instance. Only administrators create them.")
    hook = walk("POST /hooks", "-d", "url=https://audit.example.com/hook", status=201, keep="id url push_events")
    hook = hook[0] if isinstance(hook, list) else hook
    walk("GET /hooks", status=200, keep="id url push_events tag_push_events")
    walk("GET /hooks/:id", f"/hooks/{hook['id']}", status=200)
    walk("DELETE /hooks/:id", f"/hooks/{hook['id']}", status=200, keep="id url")
    say("## Pipelines\n\nThe pushes above created pipelines, because the repository has a `.gitlab-ci.yml`. A runner would execute "
        "them ([Runner](runner.md)).")
    until(lambda: ask(f"{at}/pipelines", "ADA"))
    walk("GET /projects/:id/pipelines", f"{at}/pipelines", status=200, by="ADA", keep="id status ref sha")
    made = walk("POST /projects/:id/pipeline", f"{at}/pipeline", "-d", "ref=main", status=201, by="ADA",
                keep="id status ref tag user username")
    one = f"{at}/pipelines/{made['id']}"
    walk("GET /projects/:id/pipelines/:pipeline_id", one, status=200, by="ADA", keep="id status ref created_at duration")
    walk("POST /projects/:id/pipelines/:pipeline_id/cancel", f"{one}/cancel", status=200, by="ADA", keep="id status")
    walk("POST /projects/:id/pipelines/:pipeline_id/retry", f"{one}/retry", status=201, by="ADA", keep="id status")


def the_end(ada, bob, id_, group):
    say("## Activity")
    walk("GET /projects/:id/events", f"/projects/{id_}/events", status=200, by="ADA",
         keep="action_name author_username data ref total_commits_count")
    walk("GET /users/:id/events", f"/users/{ada['id']}/events", status=200, by="ADA",
         keep="action_name project_id target_type")
    say("## Forks, archives and deletion\n\nA fork has the whole history at once and costs a few rows.")
    walk("POST /projects/fork/:id", f"/projects/fork/{id_}", "-d", "namespace=engines", status=201, by="ADA",
         keep="id path_with_namespace forked_from_project")
    walk("POST /projects/:id/archive", f"/projects/{id_}/archive", status=201, by="ADA", keep="id archived")
    walk("POST /projects/:id/unarchive", f"/projects/{id_}/unarchive", status=201, by="ADA", keep="id archived")
    walk("DELETE /projects/:id", f"/projects/{id_}", status=200, by="ADA", raw=lambda body: body.decode()[:60])
    walk("DELETE /groups/:id", f"/groups/{group['id']}", status=200, by="ADA", keep="id path")
    walk("DELETE /users/:id", f"/users/{bob['id']}", status=200, keep="id username")


def promised(page):
    """Returns the commands and statuses, which are the same in each run."""
    blocks = re.findall(r"^\$ (.*)\n(\d{3})?", page, re.M)
    volatile = re.compile(r"[0-9a-f]{40}|'key=[^']*'|(?<=pipelines/)\d+")
    return [(volatile.sub("…", command), status) for command, status in blocks]


ada, bob = people()
id_, group = groups_and_projects(ada)
repository(id_)
planning(id_)
hooks_and_pipelines(id_)
the_end(ada, bob, id_, group)
rows = {line.strip() for line in (ROOT / "conformance" / "endpoints.txt").read_text().splitlines() if line.strip()}
if missed := rows - set(walked):
    sys.exit("endpoints that were not called: " + ", ".join(sorted(missed)))
page = "\n".join(text)
if CHECK:
    if promised(TOUR.read_text()) != promised(page):
        sys.exit("docs/tour.md is outdated: run dev/tour")
else:
    TOUR.write_text(page)
print(f"{len(rows)} endpoints, {len(walked)} calls", file=sys.stderr)
