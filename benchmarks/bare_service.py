"""Bare scoring service (Flask, Celery, pandas, scikit-learn) as reference for service.py.

An upload is saved to a folder and recorded in SQLite. A Celery task reads the file with pandas, merges it
with the solution and scores both splits with the public kernel. There are no accounts, limits, checks or
leases, and an accepted file is not synchronized to the disk.
"""

import os
import pickle
import sqlite3
import uuid
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import reference_kernel
from celery import Celery
from flask import Flask, request

FOLDER = Path(os.environ.get("BARE_FOLDER", "."))
BROKER = f"redis+socket://{FOLDER / 'valkey.sock'}"

app = Flask("bare")
celery_app = Celery("bare", broker=BROKER)
celery_app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(FOLDER / "bare.db", timeout=30, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS submission (id INTEGER PRIMARY KEY, path TEXT, public REAL, private REAL)"
    )
    return connection


@app.get("/waiting")
def waiting() -> dict[str, int]:
    connection = database()
    (count,) = connection.execute("SELECT count(*) FROM submission WHERE public IS NULL").fetchone()
    connection.close()
    return {"waiting": count}


@app.post("/submissions")
def submit() -> tuple[dict[str, Any], int]:
    path = FOLDER / f"{uuid.uuid4()}.csv"
    request.files["file"].save(path)
    connection = database()
    number = connection.execute("INSERT INTO submission (path) VALUES (?)", (str(path),)).lastrowid
    connection.close()
    score.delay(number)
    return {"id": number}, 201


@app.get("/submissions/<int:number>")
def submission(number: int) -> dict[str, Any]:
    connection = database()
    (public,) = connection.execute("SELECT public FROM submission WHERE id = ?", (number,)).fetchone()
    connection.close()
    return {"id": number, "status": "pending" if public is None else "scored"}


@cache
def solution() -> pd.DataFrame:
    frame: pd.DataFrame = pickle.loads((FOLDER / "solution.pickle").read_bytes())
    return frame


@celery_app.task(name="score", ignore_result=True)
def score(number: int) -> None:
    connection = database()
    (path,) = connection.execute("SELECT path FROM submission WHERE id = ?", (number,)).fetchone()
    merged = solution().merge(pd.read_csv(path), on="id")
    identities = [name for name in solution().columns if name not in ("id", "label", "is_public")]
    scores = [
        reference_kernel.score(merged[merged["is_public"] == is_public], identities)
        for is_public in (True, False)
    ]
    connection.execute("UPDATE submission SET public = ?, private = ? WHERE id = ?", (*scores, number))
    connection.close()
