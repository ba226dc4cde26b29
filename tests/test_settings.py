"""Settings: variables, files, and transfer to child processes."""

import re
import stat
import threading
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr, ValidationError

from grader.identity_providers import SignUp
from grader.settings import Settings, UnusableVariables, load


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    import os

    for name in list(os.environ):
        if name.startswith("FAIRBOARD_"):
            monkeypatch.delenv(name)


def test_defaults_suit_one_machine():
    settings = load()
    assert settings.port == 7777
    assert settings.database().endswith("/var/fairboard.db")
    assert urlsplit(settings.storage()).scheme == "file"
    assert settings.scoring_lease().total_seconds() > settings.scoring_time_limit_seconds


def test_variables_and_files_of_variables_are_read(monkeypatch, tmp_path):
    (tmp_path / "url").write_text("postgresql://db/fairboard\n")
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("FAIRBOARD_PORT", "8000")
    settings = load()
    assert (settings.database(), settings.port) == ("postgresql://db/fairboard", 8000)
    (tmp_path / "url").write_text("")
    with pytest.raises(UnusableVariables, match="it is empty"):
        load()
    (tmp_path / "url").write_bytes(b"\xff")
    with pytest.raises(UnusableVariables, match="specified by FAIRBOARD_DATABASE_URL_FILE, cannot be read"):
        load()


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        (
            "FAIRBOARD_DATABSE_URL",
            "FAIRBOARD_DATABSE_URL is not a setting. Did you mean FAIRBOARD_DATABASE_URL?",
        ),
        ("FAIRBOARD_SECRETKEY_FILE", "not a setting. Did you mean FAIRBOARD_SECRET_KEY_FILE?"),
        ("fairboard_sign_pu", "fairboard_sign_pu is not a setting. Did you mean FAIRBOARD_SIGN_UP?"),
    ],
)
def test_misspelled_variable_is_rejected_with_a_suggestion(monkeypatch, variable, sentence):
    monkeypatch.setenv(variable, "/no/such/file")
    with pytest.raises(UnusableVariables, match=re.escape(sentence) + "$"):
        load()


def test_unrelated_variable_is_ignored(monkeypatch):
    foreign = ("FAIRBOARD_SERVICE_HOST", "FAIRBOARD_PORT_7777_TCP_ADDR", "FAIRBOARD_TOKEN")
    for name in ("FAIRBOARDS", "MY_FAIRBOARD_PORT", "FAIRBOARD_PUBLISH", "FAIRBOARD_CRASH_AT", *foreign):
        monkeypatch.setenv(name, "x")
    assert load() == Settings()


def test_empty_variable_counts_as_unset(monkeypatch):
    for name in ("FAIRBOARD_SECRET_KEY", "FAIRBOARD_DATABASE_URL_FILE", "FAIRBOARD_PORT"):
        monkeypatch.setenv(name, "")
    assert load() == Settings()


def test_settings_are_immutable_and_hide_secrets():
    settings = Settings(secret_key=SecretStr("hush"), database_url=SecretStr("postgresql://u:hush@db/x"))
    assert "hush" not in repr(settings)
    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, "http://127.0.0.1:7777"),
        ({"host": "0.0.0.0", "port": 80}, "http://localhost:80"),
        ({"host": "::1"}, "http://[::1]:7777"),
        ({"base_url": "HTTPS://Board.example.org:443/"}, "https://board.example.org"),
    ],
)
def test_links_use_the_sites_public_address(given, address):
    assert Settings(**given).site() == address  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("database_url", url)
            for url in ("postgresql://u:p@host:port/x", "postgresql+no://h/x", "sqlite://")
        ),
        *(("storage_url", url) for url in ("s3:///x", "s3://b ucket", "file://folder")),
        *(("broker_url", "redis://host:port"), ("backup_target", "s3://b ucket"), ("data_dir", "s3://b/x")),
        *((name, float("inf")) for name in ("sweep_after_seconds", "backup_keep_days")),
        ("scoring_time_limit_seconds", 10**11),
    ],
)
def test_values_that_would_fail_later_are_rejected(name, value):
    with pytest.raises(ValidationError, match=name):
        Settings(**{name: value})


def test_public_address_with_a_path_is_rejected_with_the_reason():
    with pytest.raises(ValidationError, match="expected an address without user name and path"):
        Settings(base_url="https://example.org/board")


def test_hosts_are_stored_in_ascii():
    mail = {"smtp_host": "Straße.example", "smtp_sender": "a@b.example", "base_url": "https://b.example"}
    settings = Settings(trusted_hosts=".Straße.example, [2001:DB8::1]", **mail)
    assert settings.trusted_names() >= {".xn--strae-oqa.example", "2001:db8::1"}
    assert settings.smtp_host == "xn--strae-oqa.example"
    with pytest.raises(ValidationError, match="is not a host name"):
        Settings(trusted_hosts="*.example.org")


def test_another_process_receives_the_same_settings(monkeypatch, tmp_path):
    settings = Settings(data_dir=tmp_path, secret_key=SecretStr("hush"), sign_up=SignUp.CLOSED, web_threads=3)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert load() == settings


def test_secret_key_is_generated_once_for_all_processes_and_is_private(tmp_path):
    settings, found = Settings(data_dir=tmp_path / "var"), []
    threads = [threading.Thread(target=lambda: found.append(settings.secret())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1 and len(found[0]) >= 32
    assert stat.S_IMODE((tmp_path / "var" / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["secret_key"]


def test_mail_needs_a_sender_and_a_public_address_for_its_links():
    whole = {"smtp_host": "mail", "base_url": "https://x", "smtp_sender": "Board <board@x.org>"}
    settings = Settings(**whole)  # type: ignore[arg-type]
    assert settings.sends_mail() and str(settings.sender()) == "Board <board@x.org>"
    for missing in ("base_url", "smtp_sender"):
        with pytest.raises(ValidationError, match=missing.upper()):
            Settings(**whole | {missing: None})  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="must be set together"):
        Settings(**whole, smtp_user="board")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sender", ["x", "a@b, c@d", "Evil <a@b>\nBcc: x@y", "ada@żółw.example", "<@>", "a@b@c", "a..b@c"]
)
def test_sender_that_is_invalid_in_a_header_is_rejected(sender):
    with pytest.raises(ValidationError, match="SMTP_SENDER"):
        Settings(smtp_host="mail", base_url="https://x", smtp_sender=sender)


def test_metrics_are_recorded_if_they_are_served(tmp_path):
    assert load(data_dir=tmp_path).metrics_dir() is None
    assert load(data_dir=tmp_path, metrics_token="x" * 16).metrics_dir() == tmp_path / "metrics"
    with pytest.raises(ValidationError, match="metrics_token"):
        load(metrics_token="too short")
