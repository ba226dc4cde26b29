import click
import pytest


@pytest.fixture(autouse=True)
def config_folder(tmp_path, monkeypatch):
    """A user without a login, a keyring or settings of their own; return where a login is stored."""
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    for name in ("SERVER", "TOKEN", "COMPETITION"):
        monkeypatch.delenv(f"FAIRBOARD_{name}", raising=False)
    monkeypatch.setattr(click, "get_app_dir", lambda name: str(tmp_path / "config" / name))
    return tmp_path / "config" / "fairboard"


@pytest.fixture
def ada(run, live_site, monkeypatch):
    """Run `fairboard` as ada, whose server and token the environment names."""
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    return run
