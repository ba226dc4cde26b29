import click
import pytest

from grader import db
from grader.services.accounts import administrators, api_tokens
from grader.services.accounts.api_tokens import Scope
from grader.services.audit.log import Actor


@pytest.fixture(autouse=True)
def config_folder(tmp_path, monkeypatch):
    """A user without a login, a keyring or settings of their own; return where a login is stored."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for name in ("SERVER", "TOKEN", "COMPETITION"):
        monkeypatch.delenv(f"FAIRBOARD_{name}", raising=False)
    monkeypatch.setattr(click, "get_app_dir", lambda name: str(tmp_path / "config" / name))
    return tmp_path / "config" / "fairboard"


@pytest.fixture
def olga(run, service, live_site, monkeypatch):
    """Run `fairboard` as Olga, an administrator, whose site does organizers' jobs."""
    with service.database.write() as session:
        user, now = session.merge(service.user("olga")), db.now(session)
        administrators.change(session, user=user, is_admin=True, actor=Actor.shell(), now=now)
        token = api_tokens.create(session, user=user, name="desk", scopes=tuple(Scope), now=now)[1]
    monkeypatch.setenv("FAIRBOARD_TOKEN", token)
    monkeypatch.setattr("grader.client.organizer.POLL_SECONDS", 0.05)
    live_site.work_for_organizers()
    return lambda *words, **options: run(*words, "--server", live_site.address, **options)
