"""Take a competition from its draft to the results bundle over the API.

Needs httpx; the variables FAIRBOARD_SITE and FAIRBOARD_TOKEN (scopes read and organize); and the files
solution.csv, corrected.csv and train.csv.
"""

import os
import time
from pathlib import Path

import httpx

site = httpx.Client(
    base_url=os.environ["FAIRBOARD_SITE"],
    headers={"Authorization": f"Bearer {os.environ['FAIRBOARD_TOKEN']}"},
    timeout=600,
)
API = "/api/v1/competitions/toxic/organize"


def call(method, path, **options):
    """Send a request and return its JSON; stop with the server's message on an error."""
    response = site.request(method, path, **options)
    if response.status_code == 409 and response.json()["error"] == "unconfirmed":
        print(response.json()["questions"])
        confirmed = {**options.get("json", {}), "confirm": response.json()["confirm"]}
        response = site.request(method, path, json=confirmed)
    if response.is_error:
        raise SystemExit(response.json()["message"])
    return response.json() if response.content else None


def wait(path, is_done):
    """Poll a URL until its JSON meets a condition."""
    while not is_done(answer := call("GET", path)):
        time.sleep(2)
    return answer


def check_solution(path):
    """Upload a solution and wait for its check."""
    content = Path(path).read_bytes()
    check = call("POST", f"{API}/solution", content=content, headers={"Content-Type": "text/csv"})
    result = wait(check["url"], lambda answer: answer["job"]["is_final"])
    if result["why_not"] is not None:
        raise SystemExit(result["why_not"])
    return check


call("POST", "/api/v1/competitions", json={"slug": "toxic", "title": "Toxic comments"})
dates = {"opens_at": "2030-01-01T00:00:00Z", "closes_at": "2030-02-01T00:00:00Z"}
call("PATCH", f"{API}/settings", json={"contact": "olga@example.org"} | dates)
call("POST", check_solution("solution.csv")["url"] + "/accept")
train = {"file": ("train.csv", Path("train.csv").read_bytes())}
call("POST", f"{API}/data", files=train, data={"description": "Comments"})
wait(f"{API}/data", lambda data: all(file["state"] == "passed" for file in data["files"]))
call("POST", f"{API}/state/publish")

# A label was wrong: preview the effect of a corrected solution, then publish it.
check = check_solution("corrected.csv")
version = call("POST", f"{API}/rescoring", json={"solution": check["id"], "reason": "A label was wrong."})
wait(version["url"], lambda version: version["is_final"])
print(call("GET", version["url"] + "/difference")["sentences"])
call("POST", version["url"] + "/publish", json={"notice": "One label was wrong."})

# After the close.
wait(f"{API}/close", lambda close: close["stage"] == "settled")
call("POST", f"{API}/close/reveal")
Path("results.zip").write_bytes(site.get(f"{API}/exports/results.zip").content)
