"""Identity providers: settings in TOML, problems, and claims."""

import pytest
from pydantic import SecretStr, ValidationError

from grader.identity_providers import GOOGLE, Provider, SignUp, read
from grader.settings import Settings

CAMPUS = """
[campus]
label = "Example University"
issuer = "https://id.example.org/realms/main"
client_id = "fairboard"
client_secret = "hush"
accounts = "invite"
"""


def provider(**settings):
    known = {"slug": "campus", "label": "Campus", "issuer": "https://id.example.org", "client_id": "f"}
    return Provider(**(known | settings))


def test_each_table_is_a_provider():
    (found,) = Settings(oidc_providers=SecretStr(CAMPUS)).providers()
    assert (found.slug, found.accounts, found.scopes[0]) == ("campus", SignUp.INVITE, "openid")
    assert "hush" not in repr(found)


def test_all_problems_are_reported_at_once_without_the_secret():
    text = CAMPUS.replace("https", "http") + "issuers = 1\n[Other]\nlabel = 7\nclient_secret = 'hush'\n"
    with pytest.raises(ValidationError) as caught:
        Settings(oidc_providers=SecretStr(text + "\n[third]\nadmin_claim = 'x'\n"))
    told = str(caught.value)
    places = ("campus.issuer: must be", "campus.issuers", "Other.label", "Other.issuer", "third.client_id")
    for place in places:
        assert place in told
    assert "hush" not in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[campus", "is not valid TOML"),
        ("campus = 1", "campus: Input should be"),
        (CAMPUS + CAMPUS.replace("[campus]", "[twin]"), "is listed twice"),
        (CAMPUS.replace("[campus]", "[Campus]"), "Campus.*should match"),
        (CAMPUS + "admin_claim = 'groups'", "must be set together"),
        (CAMPUS + "scopes = ['email']", "must contain openid"),
        (CAMPUS.replace("https://", "https://user@"), "must be an https:// URL"),
    ],
)
def test_an_invalid_text_is_rejected(text, problem):
    with pytest.raises(ValueError, match=problem):
        read(text)


def test_password_login_can_be_turned_off_only_if_someone_can_log_in():
    with pytest.raises(ValidationError, match="requires a provider and a rescue administrator"):
        Settings(password_login=False, oidc_providers=SecretStr(CAMPUS))
    assert not Settings(
        password_login=False, oidc_providers=SecretStr(CAMPUS), rescue_administrator="root"
    ).password_login


@pytest.mark.parametrize(
    ("claims", "name", "is_admin"),
    [
        ({"groups": ["a", "x"]}, "groups", True),
        ({"role": "x"}, "role", True),
        ({"realm": {"roles": ["x"]}}, "realm.roles", True),
        ({"https://example.org/roles": ["x"]}, "https://example.org/roles", True),
        ({"realm": ["x"]}, "realm.roles", False),
        ({"role": "xx"}, "role", False),
        ({}, "role", False),
    ],
)
def test_a_value_of_a_claim_makes_an_administrator(claims, name, is_admin):
    assert provider(admin_claim=name, admin_value="x").makes_admin(claims) is is_admin


@pytest.mark.parametrize(
    ("claims", "is_admitted"),
    [
        ({"email": "a@example.org", "email_verified": True}, True),
        ({"email": "a@EXAMPLE.org", "email_verified": "true"}, True),
        ({"email": "a@example.org"}, False),
        ({"email": "example.org", "email_verified": True}, False),
        ({"email": "a@sub.example.org", "email_verified": True}, False),
        ({"email": "a@example.org@evil.example", "email_verified": True}, False),
        ({}, False),
    ],
)
def test_only_verified_addresses_of_the_domain_are_admitted(claims, is_admitted):
    assert provider(allowed_domains=["example.org"]).admits(claims) is is_admitted
    assert provider().admits(claims)


def test_domains_are_compared_in_ascii_without_merging_different_ones():
    campus = provider(allowed_domains=["Straße.example"])
    for domain, is_admitted in (
        ("straße.example", True),
        ("xn--strae-oqa.example", True),
        ("strasse.example", False),
        ("a..b", False),
    ):
        assert campus.admits({"email": f"a@{domain}", "email_verified": True}) is is_admitted
        google = provider(issuer=GOOGLE, allowed_domains=["straße.example"])
        assert google.admits({"hd": domain}) is is_admitted
        assert not google.admits({"email": f"a@{domain}", "email_verified": True})


def test_an_operator_can_trust_addresses_that_a_provider_does_not_mark_as_verified():
    assert provider(trusts_email=True).verified_email({"email": "a@example.org"}) == "a@example.org"
    assert provider().verified_email({"email": "a@example.org"}) is None
    stated = {"email": "a@example.org", "email_verified": False}
    assert provider(trusts_email=True).verified_email(stated) is None
