"""Every route as every role: a route that the table lacks fails, and one that answers otherwise."""

import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pytest

HERE = "/competitions/toxicity"
API = "/api/v1"
KAGGLE = f"{API}/competitions.CompetitionApiService"
KAGGLE_COMPETITION = {"competitionName": "toxicity"}


@dataclass(frozen=True)
class Access:
    """A route's address, what is sent, and the status for a stranger, an outsider and the owner."""

    path: str
    statuses: tuple[int, int, int]
    data: Any = None
    revealed: tuple[int, int, int] | None = None


def upload() -> dict[str, Any]:
    return {"file": (BytesIO(b"id,prediction\n"), "p.csv")}


WEBHOOK = {"url": "https://board.example/", "events": "rank.changed"}
WEBHOOKS = (  # that of the team's page, which switched it off
    ("GET", "{}_list", "", 200, None),
    ("POST", "create_{}", "", 201, WEBHOOK),
    ("GET", "{}", "/1", 200, None),
    ("PATCH", "change_{}", "/1", 200, WEBHOOK),
    ("POST", "rotate_{}", "/1/secret", 201, None),
    ("POST", "test_{}", "/1/test", 400, None),
    ("GET", "{}_deliveries", "/1/deliveries", 200, None),
    ("POST", "redeliver_{}", "/1/deliveries/guessed/again", 404, None),
    ("DELETE", "delete_{}", "/1", 204, None),
)
TABLE = {
    ("GET", "static"): Access("/static/fairboard.css", (200, 200, 200)),
    ("GET", "health.livez"): Access("/livez", (200, 200, 200)),
    ("GET", "health.healthz"): Access("/healthz", (200, 200, 200)),
    ("GET", "health.readyz"): Access("/readyz", (200, 200, 200)),
    ("GET", "competitions.index"): Access("/", (200, 200, 200)),
    ("GET", "competitions.show"): Access(HERE, (200, 200, 200)),
    ("GET", "competitions.sample_submission"): Access(f"{HERE}/data/sample_submission.csv", (200, 200, 200)),
    ("GET", "leaderboards.public"): Access(f"{HERE}/leaderboard", (200, 200, 200)),
    ("GET", "leaderboards.version"): Access(f"{HERE}/leaderboard/version", (200, 200, 200)),
    ("GET", "leaderboards.public_csv"): Access(f"{HERE}/leaderboard.csv", (200, 200, 200)),
    ("GET", "leaderboards.private_csv"): Access(
        f"{HERE}/leaderboard/private.csv", (403, 403, 403), revealed=(200, 200, 200)
    ),
    ("GET", "leaderboards.counted"): Access(
        f"{HERE}/leaderboard/private/{{own}}", (403, 403, 403), revealed=(200, 200, 200)
    ),
    ("GET", "leaderboards.diagnosis"): Access(
        f"{HERE}/leaderboard/private/{{own}}/diagnosis", (403, 403, 403), revealed=(404, 404, 404)
    ),
    ("GET", "leaderboards.final"): Access(f"{HERE}/leaderboard/final/1", (404, 404, 404)),
    ("GET", "leaderboards.results"): Access(f"{HERE}/results", (302, 403, 403), revealed=(302, 200, 200)),
    ("GET", "leaderboards.private"): Access(
        f"{HERE}/leaderboard/private", (403, 403, 403), revealed=(200, 200, 200)
    ),
    ("GET", "submissions.submit"): Access(f"{HERE}/submit", (302, 302, 302)),
    ("POST", "submissions.submit"): Access(f"{HERE}/submit", (302, 422, 422), data=upload),
    ("POST", "submissions.submit_again"): Access(f"{HERE}/submissions/{{own}}/again", (302, 404, 303)),
    ("GET", "submissions.index"): Access(f"{HERE}/submissions", (302, 200, 200)),
    ("GET", "submissions.statuses"): Access(f"{HERE}/submissions/status", (302, 200, 200)),
    ("GET", "submissions.show"): Access(f"{HERE}/submissions/{{own}}", (302, 404, 200)),
    ("GET", "submissions.compare"): Access(
        f"{HERE}/submissions/compare?candidate={{own}}&baseline={{own}}",
        (302, 404, 200),
        revealed=(302, 200, 200),
    ),
    ("GET", "submissions.file"): Access(f"{HERE}/submissions/{{own}}/file", (302, 404, 200)),
    ("POST", "submissions.select"): Access(
        f"{HERE}/submissions/{{own}}/selection",
        (302, 404, 303),
        data={"selected": "yes"},
        revealed=(302, 404, 403),
    ),
    ("GET", "submissions.status"): Access(f"{HERE}/submissions/{{own}}/status", (302, 404, 200)),
    ("POST", "submissions.describe"): Access(
        f"{HERE}/submissions/{{own}}/description", (302, 404, 303), data={"description": "new"}
    ),
    ("GET", "team_webhooks.index"): Access(f"{HERE}/team/webhooks", (302, 200, 200)),
    ("POST", "team_webhooks.create"): Access(
        f"{HERE}/team/webhooks",
        (302, 201, 201),
        data={"url": "https://board.example/", "events": "rank.changed", "format": "json"},
    ),
    ("GET", "team_webhooks.show"): Access(f"{HERE}/team/webhooks/1", (302, 200, 200)),
    ("POST", "team_webhooks.act"): Access(f"{HERE}/team/webhooks/1/off", (302, 303, 303)),
    ("GET", "organize_webhooks.index"): Access(f"{HERE}/organize/webhooks", (302, 403, 403)),
    ("POST", "organize_webhooks.create"): Access(f"{HERE}/organize/webhooks", (302, 403, 403)),
    ("GET", "organize_webhooks.show"): Access(f"{HERE}/organize/webhooks/1", (302, 403, 403)),
    ("POST", "organize_webhooks.act"): Access(f"{HERE}/organize/webhooks/1/off", (302, 403, 403)),
    ("GET", "log.show"): Access(f"{HERE}/log", (200, 200, 200)),
    ("GET", "organize_audit.index"): Access(f"{HERE}/organize/audit", (302, 403, 403)),
    ("GET", "organize_organizers.index"): Access(f"{HERE}/organize/organizers", (302, 403, 403)),
    ("POST", "organize_organizers.add"): Access(
        f"{HERE}/organize/organizers", (302, 403, 403), data={"name": "Bob", "role": "owner"}
    ),
    ("POST", "organize_organizers.change"): Access(
        f"{HERE}/organize/organizers/change", (302, 403, 403), data={"name": "Bob", "role": "owner"}
    ),
    ("POST", "organize_organizers.remove"): Access(
        f"{HERE}/organize/organizers/remove", (302, 403, 403), data={"name": "Bob"}
    ),
    ("GET", "competitions.evaluation"): Access(f"{HERE}/evaluation", (200, 200, 200)),
    ("GET", "competition_data.show"): Access(f"{HERE}/data", (200, 200, 200)),
    ("GET", "competition_data.all_files"): Access(f"{HERE}/data/all.zip", (302, 200, 200)),
    ("GET", "competition_data.file"): Access(f"{HERE}/data/files/guessed.csv", (302, 404, 404)),
    ("GET", "kaggle_command.show"): Access(f"{HERE}/kaggle", (302, 200, 200)),
    ("GET", "organize_creating.show"): Access("/competitions/new", (302, 403, 403)),
    ("POST", "organize_creating.create"): Access(
        "/competitions/new", (302, 403, 403), data={"slug": "mine", "title": "Mine"}
    ),
    ("GET", "organize_settings.index"): Access(f"{HERE}/organize/settings", (302, 403, 403)),
    ("GET", "organize_settings.show"): Access(f"{HERE}/organize/settings/dates", (302, 403, 403)),
    ("POST", "organize_settings.save"): Access(
        f"{HERE}/organize/settings/dates", (302, 403, 403), data={"closes_at_date": "2999-01-01"}
    ),
    ("GET", "organize_settings.metric_status"): Access(
        f"{HERE}/organize/settings/metric/status", (302, 403, 403)
    ),
    ("POST", "organize_settings.accept_metric"): Access(
        f"{HERE}/organize/settings/metric/accept/1", (302, 403, 403)
    ),
    ("POST", "organize_settings.upload_figure"): Access(
        f"{HERE}/organize/settings/basics/figures", (302, 403, 403), data=upload
    ),
    ("POST", "organize_settings.remove_figure"): Access(
        f"{HERE}/organize/settings/basics/figures/plot.png/remove", (302, 403, 403)
    ),
    ("GET", "figures.show"): Access(f"{HERE}/figures/plot.png", (404, 404, 404)),
    ("POST", "organize_preview.draw"): Access(f"{HERE}/organize/preview", (302, 403, 403)),
    ("GET", "organize_data.index"): Access(f"{HERE}/organize/data", (302, 403, 403)),
    ("POST", "organize_data.upload"): Access(f"{HERE}/organize/data", (302, 403, 403), data=upload),
    ("POST", "organize_data.remove"): Access(
        f"{HERE}/organize/data/remove", (302, 403, 403), data={"name": "p.csv"}
    ),
    ("GET", "organize_data.status"): Access(f"{HERE}/organize/data/status", (302, 403, 403)),
    ("POST", "organize_data.allow"): Access(
        f"{HERE}/organize/data/allow", (302, 403, 403), data={"name": "p.csv", "typed": "publish Usage"}
    ),
    ("POST", "organize_data.check_again"): Access(
        f"{HERE}/organize/data/check", (302, 403, 403), data={"name": "p.csv"}
    ),
    ("POST", "organize_data.add_baseline"): Access(
        f"{HERE}/organize/data/baseline", (302, 403, 403), data=upload
    ),
    ("GET", "organize_solution.index"): Access(f"{HERE}/organize/solution", (302, 403, 403)),
    ("POST", "organize_solution.upload"): Access(f"{HERE}/organize/solution", (302, 403, 403), data=upload),
    ("GET", "organize_solution.show"): Access(f"{HERE}/organize/solution/1", (302, 403, 403)),
    ("GET", "organize_solution.status"): Access(f"{HERE}/organize/solution/1/status", (302, 403, 403)),
    ("GET", "organize_solution.changes"): Access(f"{HERE}/organize/solution/1/changes.csv", (302, 403, 403)),
    ("POST", "organize_solution.change_roles"): Access(f"{HERE}/organize/solution/1/roles", (302, 403, 403)),
    ("POST", "organize_solution.accept"): Access(f"{HERE}/organize/solution/1/accept", (302, 403, 403)),
    ("POST", "organize_solution.dismiss"): Access(f"{HERE}/organize/solution/1/dismiss", (302, 403, 403)),
    ("GET", "rescored.show"): Access(f"{HERE}/rescoring", (404, 404, 404)),
    ("GET", "organize_rescoring.index"): Access(f"{HERE}/organize/rescoring", (302, 403, 403)),
    ("POST", "organize_rescoring.prepare"): Access(
        f"{HERE}/organize/rescoring", (302, 403, 403), data={"solution": "1", "reason": "Why not."}
    ),
    ("GET", "organize_rescoring.settings"): Access(f"{HERE}/organize/rescoring/settings", (302, 403, 403)),
    ("POST", "organize_rescoring.check_settings"): Access(
        f"{HERE}/organize/rescoring/settings", (302, 403, 403), data={"power": "1"}
    ),
    ("GET", "organize_rescoring.settings_status"): Access(
        f"{HERE}/organize/rescoring/settings/status", (302, 403, 403)
    ),
    ("GET", "organize_rescoring.show"): Access(f"{HERE}/organize/rescoring/1", (302, 403, 403)),
    ("GET", "organize_rescoring.status"): Access(f"{HERE}/organize/rescoring/1/status", (302, 403, 403)),
    ("GET", "organize_rescoring.difference"): Access(
        f"{HERE}/organize/rescoring/1/difference", (302, 403, 403)
    ),
    ("GET", "organize_rescoring.submissions_csv"): Access(
        f"{HERE}/organize/rescoring/1/submissions.csv", (302, 403, 403)
    ),
    ("GET", "organize_rescoring.teams_csv"): Access(
        f"{HERE}/organize/rescoring/1/teams.csv", (302, 403, 403)
    ),
    ("GET", "organize_rescoring.selections_csv"): Access(
        f"{HERE}/organize/rescoring/1/selections.csv", (302, 403, 403)
    ),
    ("POST", "organize_rescoring.publish"): Access(f"{HERE}/organize/rescoring/1/publish", (302, 403, 403)),
    ("POST", "organize_rescoring.roll_back"): Access(
        f"{HERE}/organize/rescoring/1/rollback", (302, 403, 403), data={"reason": "Back."}
    ),
    ("POST", "organize_rescoring.drop"): Access(f"{HERE}/organize/rescoring/1/drop", (302, 403, 403)),
    ("GET", "organize_publishing.show"): Access(f"{HERE}/organize/state", (302, 403, 403)),
    ("POST", "organize_publishing.publish"): Access(f"{HERE}/organize/state/publish", (302, 403, 403)),
    ("POST", "organize_publishing.archive"): Access(f"{HERE}/organize/state/archive", (302, 403, 403)),
    ("POST", "organize_publishing.delete"): Access(
        f"{HERE}/organize/state/delete", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("GET", "submissions.receipt"): Access(f"{HERE}/submissions/{{own}}/receipt", (302, 404, 200)),
    ("GET", "competition_solution.download"): Access(f"{HERE}/data/solution.csv", (404, 404, 404)),
    ("GET", "competition_solution.nonce"): Access(f"{HERE}/data/solution-nonce.txt", (404, 404, 404)),
    ("GET", "competition_solution.canaries"): Access(f"{HERE}/data/solution-canaries.csv", (404, 404, 404)),
    ("POST", "submissions.question"): Access(
        f"{HERE}/submissions/{{own}}/question", (302, 404, 303), data={"question": "Is the label right?"}
    ),
    ("GET", "organize_console.index"): Access(f"{HERE}/organize", (302, 403, 403)),
    ("GET", "organize_console.ties"): Access(f"{HERE}/organize/ties", (302, 403, 403)),
    ("POST", "organize_console.compare_teams"): Access(f"{HERE}/organize/ties", (302, 403, 403)),
    ("POST", "organize_console.publish_ties"): Access(
        f"{HERE}/organize/ties/publish", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("GET", "organize_console.ties_status"): Access(f"{HERE}/organize/ties/status", (302, 403, 403)),
    ("POST", "organize_console.pause"): Access(f"{HERE}/organize/pause", (302, 403, 403)),
    ("POST", "organize_console.resume"): Access(f"{HERE}/organize/resume", (302, 403, 403)),
    ("GET", "organize_submissions.index"): Access(f"{HERE}/organize/submissions", (302, 403, 403)),
    ("GET", "organize_submissions.same_bytes"): Access(
        f"{HERE}/organize/submissions/equal-files", (302, 403, 403)
    ),
    ("POST", "organize_submissions.retry"): Access(
        f"{HERE}/organize/submissions/{{own}}/retry", (302, 403, 403)
    ),
    ("POST", "organize_submissions.retry_all"): Access(f"{HERE}/organize/submissions/retry", (302, 403, 403)),
    ("POST", "organize_submissions.mark"): Access(
        f"{HERE}/organize/submissions/{{own}}/kind", (302, 403, 403), data={"kind": "hidden"}
    ),
    ("GET", "organize_submissions.diagnosis"): Access(
        f"{HERE}/organize/submissions/{{own}}/diagnosis", (302, 403, 403)
    ),
    ("POST", "organize_submissions.diagnose"): Access(
        f"{HERE}/organize/submissions/{{own}}/diagnosis", (302, 403, 403)
    ),
    ("POST", "organize_submissions.publish_diagnosis"): Access(
        f"{HERE}/organize/submissions/{{own}}/diagnosis/publish", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("GET", "organize_submissions.diagnosis_status"): Access(
        f"{HERE}/organize/submissions/{{own}}/diagnosis/status", (302, 403, 403)
    ),
    ("GET", "organize_submissions.diagnosis_file"): Access(
        f"{HERE}/organize/submissions/{{own}}/diagnosis.json", (302, 403, 403)
    ),
    ("GET", "organize_teams.index"): Access(f"{HERE}/organize/teams", (302, 403, 403)),
    ("GET", "organize_teams.show"): Access(f"{HERE}/organize/teams/1", (302, 403, 403)),
    ("POST", "organize_teams.rename"): Access(f"{HERE}/organize/teams/1/name", (302, 403, 403)),
    ("POST", "organize_teams.free_name"): Access(f"{HERE}/organize/teams/1/name/free", (302, 403, 403)),
    ("POST", "organize_teams.disqualify"): Access(
        f"{HERE}/organize/teams/1/disqualification", (302, 403, 403), data={"reason": "Two accounts"}
    ),
    ("POST", "organize_teams.reinstate"): Access(f"{HERE}/organize/teams/1/reinstatement", (302, 403, 403)),
    ("POST", "organize_teams.grant"): Access(f"{HERE}/organize/teams/1/grants", (302, 403, 403)),
    ("POST", "organize_teams.grant_to_all"): Access(f"{HERE}/organize/teams/grants", (302, 403, 403)),
    ("GET", "fair_play.index"): Access(f"{HERE}/organize/fair-play", (302, 403, 403)),
    ("POST", "fair_play.look"): Access(f"{HERE}/organize/fair-play", (302, 403, 403)),
    ("GET", "fair_play.status"): Access(f"{HERE}/organize/fair-play/status", (302, 403, 403)),
    ("POST", "fair_play.mark"): Access(
        f"{HERE}/organize/fair-play/marks", (302, 403, 403), data={"line": "team 1", "reason": "Asked them."}
    ),
    ("GET", "fair_play.same"): Access(f"{HERE}/organize/fair-play/same-people", (302, 403, 403)),
    ("GET", "organize_disputes.index"): Access(f"{HERE}/organize/disputes", (302, 403, 403)),
    ("POST", "organize_disputes.answer"): Access(f"{HERE}/organize/disputes/1", (302, 403, 403)),
    ("POST", "organize_organizers.create_accounts"): Access(
        f"{HERE}/organize/organizers/accounts", (302, 403, 403)
    ),
    ("GET", "organize_announcements.index"): Access(f"{HERE}/organize/announcements", (302, 403, 403)),
    ("POST", "organize_announcements.post"): Access(f"{HERE}/organize/announcements", (302, 403, 403)),
    ("GET", "organize_announcements.show"): Access(f"{HERE}/organize/announcements/1", (302, 403, 403)),
    ("POST", "organize_announcements.edit"): Access(f"{HERE}/organize/announcements/1", (302, 403, 403)),
    ("POST", "organize_announcements.withdraw"): Access(
        f"{HERE}/organize/announcements/1/withdraw", (302, 403, 403)
    ),
    ("GET", "organize_exports.download"): Access(f"{HERE}/organize/exports/scores.csv", (302, 403, 403)),
    ("GET", "organize_close.index"): Access(f"{HERE}/organize/close", (302, 403, 403)),
    ("GET", "organize_close.status"): Access(f"{HERE}/organize/close/status", (302, 403, 403)),
    ("GET", "organize_close.download"): Access(f"{HERE}/organize/close/bundle/1", (302, 403, 403)),
    ("POST", "organize_close.now"): Access(f"{HERE}/organize/close/now", (302, 403, 403)),
    ("POST", "organize_close.verify"): Access(f"{HERE}/organize/close/verify", (302, 403, 403)),
    ("POST", "organize_close.reveal"): Access(
        f"{HERE}/organize/close/reveal", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("POST", "organize_close.finalize"): Access(
        f"{HERE}/organize/close/finalize", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("POST", "organize_close.publish_solution"): Access(
        f"{HERE}/organize/close/solution", (302, 403, 403), data={"confirm": "yes"}
    ),
    ("POST", "organize_close.bundle"): Access(
        f"{HERE}/organize/close/bundle", (302, 403, 403), data={"with_solution": "yes"}
    ),
    ("GET", "entry.show"): Access(f"{HERE}/join", (200, 200, 200)),
    ("POST", "entry.join"): Access(f"{HERE}/join", (302, 303, 303)),
    ("GET", "entry.requests"): Access(f"{HERE}/entries", (302, 403, 403)),
    ("POST", "entry.decide"): Access(f"{HERE}/entries", (302, 403, 403), data={"name": "Bob"}),
    ("GET", "teams.show"): Access(f"{HERE}/team", (302, 200, 200)),
    ("POST", "teams.create"): Access(f"{HERE}/team", (302, 409, 409), data={"name": "Another"}),
    ("POST", "teams.rename"): Access(
        f"{HERE}/team/name", (302, 303, 303), data={"name": "New name"}, revealed=(302, 403, 403)
    ),
    ("POST", "teams.hand_over"): Access(f"{HERE}/team/leader", (302, 409, 409), data={"user_id": "1000"}),
    ("POST", "teams.leave"): Access(f"{HERE}/team/leave", (302, 409, 409), revealed=(302, 403, 403)),
    ("POST", "teams.make_link"): Access(f"{HERE}/team/link", (302, 201, 201), revealed=(302, 403, 403)),
    ("POST", "teams.revoke_link"): Access(f"{HERE}/team/link/revoke", (302, 303, 303)),
    ("GET", "teams.invitation"): Access(f"{HERE}/team/link/guessed", (404, 404, 404)),
    ("GET", "teams.profile"): Access(f"{HERE}/teams/1", (200, 200, 200)),
    ("GET", "notifications.index"): Access("/notifications", (302, 200, 200)),
    ("POST", "notifications.mark_read"): Access("/notifications/read", (302, 303, 303)),
    ("POST", "teams.accept_link"): Access(f"{HERE}/team/link/guessed", (302, 404, 404)),
    ("POST", "teams.invite"): Access(
        f"{HERE}/team/invitations", (302, 404, 404), data={"name": "Nobody"}, revealed=(302, 403, 403)
    ),
    ("POST", "teams.answer_invitation"): Access(f"{HERE}/team/invitations/1/accept", (302, 404, 404)),
    ("POST", "teams.request_merge"): Access(
        f"{HERE}/team/mergers", (302, 404, 404), data={"name": "Nobody"}, revealed=(302, 403, 403)
    ),
    ("POST", "teams.answer_merge"): Access(f"{HERE}/team/mergers/1/accept", (302, 404, 404)),
    ("GET", "account.log_in"): Access("/login", (200, 302, 302)),
    ("POST", "account.log_in"): Access("/login", (422, 422, 422), data={"name": "Ann", "password": "wrong"}),
    ("GET", "account.sign_up"): Access("/sign-up", (200, 200, 200)),
    ("POST", "account.sign_up"): Access("/sign-up", (422, 422, 422), data={"name": "", "password": ""}),
    ("GET", "account.set_up"): Access("/setup/guessed", (404, 404, 404)),
    ("POST", "account.set_up"): Access(
        "/setup/guessed", (404, 404, 404), data={"name": "Eve", "password": "correct horse"}
    ),
    ("GET", "account.sign_up_by_link"): Access("/sign-up/guessed", (404, 404, 404)),
    ("POST", "account.sign_up_by_link"): Access(
        "/sign-up/guessed", (404, 404, 404), data={"name": "Eve", "password": "correct horse"}
    ),
    ("GET", "account.verify"): Access("/verify/guessed", (404, 404, 404)),
    ("POST", "account.verify"): Access("/verify/guessed", (404, 404, 404)),
    ("GET", "account.ask_for_reset"): Access("/reset", (200, 200, 200)),
    ("POST", "account.ask_for_reset"): Access("/reset", (404, 404, 404), data={"email": "ann@example.org"}),
    ("GET", "account.log_in_by_link"): Access("/login/guessed", (404, 404, 404)),
    ("POST", "account.log_in_by_link"): Access("/login/guessed", (404, 404, 404)),
    ("GET", "account.reset"): Access("/reset/guessed", (404, 404, 404)),
    ("POST", "account.reset"): Access("/reset/guessed", (404, 404, 404), data={"password": "correct horse"}),
    ("POST", "account.describe"): Access("/account/profile", (302, 302, 302), data={"about": "Me."}),
    ("POST", "account.change_email"): Access(
        "/account/email", (302, 422, 422), data={"email": "x@example.org", "current_password": "wrong"}
    ),
    ("POST", "account.choose_notices"): Access("/account/notices", (302, 302, 302), data={"notice": "team"}),
    ("POST", "account.change_password"): Access(
        "/account/password", (302, 422, 422), data={"new_password": "correct horse"}
    ),
    ("POST", "account.end_login"): Access("/account/logins/999/end", (302, 404, 404)),
    ("GET", "account.delete"): Access("/account/delete", (302, 200, 200)),
    ("POST", "account.delete"): Access(
        "/account/delete", (302, 422, 422), data={"current_password": "wrong"}
    ),
    ("GET", "account.preview"): Access("/account/page", (302, 200, 200)),
    ("POST", "account.switch_page"): Access("/account/page", (302, 302, 302), data={"page": "on"}),
    ("POST", "account.draw_avatar"): Access("/account/avatar", (302, 302, 302)),
    ("GET", "people.profile"): Access("/people/guessed", (404, 404, 404)),
    ("GET", "people.index"): Access("/people", (302, 403, 403)),
    ("POST", "people.create_reset_link"): Access("/people/1/reset-link", (302, 403, 403)),
    ("POST", "people.invite"): Access("/people/invitations", (302, 403, 403)),
    ("GET", "account.show"): Access("/account", (302, 200, 200)),
    ("POST", "account.create_token"): Access("/account/tokens", (302, 201, 201), data={"token_name": "t"}),
    ("POST", "account.revoke_token"): Access("/account/tokens/{token}/revoke", (302, 404, 409)),
    ("POST", "account.log_out_everywhere"): Access("/account/logins/end", (302, 302, 302)),
    ("POST", "account.log_out"): Access("/logout", (302, 302, 302)),
    ("GET", "openapi.description"): Access("/api/openapi.json", (200, 200, 200)),
    ("GET", "openapi.show"): Access("/api", (200, 200, 200)),
    ("GET", "design.show"): Access("/design", (200, 200, 200)),
    ("GET", "documentation.index"): Access("/docs", (200, 200, 200)),
    ("GET", "documentation.show"): Access("/docs/glossary", (200, 200, 200)),
    ("GET", "documentation.search"): Access("/docs/search?q=leak", (200, 200, 200)),
    ("GET", "documentation.file"): Access("/docs/images/table-2.svg", (200, 200, 200)),
    ("GET", "api.me"): Access(f"{API}/me", (401, 200, 200)),
    ("GET", "api.token_list"): Access(f"{API}/tokens", (401, 200, 200)),
    ("POST", "api.create_token"): Access(f"{API}/tokens", (401, 201, 201), data={"name": "t"}),
    ("DELETE", "api.revoke_token"): Access(f"{API}/tokens/{{token}}", (401, 404, 204)),
    ("PATCH", "api.change_me"): Access(f"{API}/me", (401, 200, 200), data={"about": "Me."}),
    ("POST", "api.draw_avatar"): Access(f"{API}/me/avatar", (401, 204, 204)),
    ("GET", "api.person_page"): Access(f"{API}/people/guessed", (404, 404, 404)),
    ("GET", "api.team_profile"): Access(f"{API}{HERE}/teams/1", (200, 200, 200)),
    ("GET", "api.waiting_list"): Access(f"{API}/waiting", (401, 200, 200)),
    ("GET", "api.notification_list"): Access(f"{API}/notifications", (401, 200, 200)),
    ("POST", "api.mark_notifications_read"): Access(f"{API}/notifications/read", (401, 204, 204)),
    ("GET", "api.competition_pages"): Access(f"{API}{HERE}/pages", (200, 200, 200)),
    ("GET", "api.data_file_list"): Access(f"{API}{HERE}/data", (401, 200, 200)),
    ("GET", "api.data_file"): Access(f"{API}{HERE}/data/guessed.csv", (401, 404, 404)),
    ("GET", "api.sample_submission"): Access(f"{API}{HERE}/sample-submission", (200, 200, 200)),
    ("GET", "api.published_solution"): Access(f"{API}{HERE}/solution", (404, 404, 404)),
    ("GET", "api.published_nonce"): Access(f"{API}{HERE}/solution-nonce", (404, 404, 404)),
    ("GET", "api.published_canaries"): Access(f"{API}{HERE}/solution-canaries", (404, 404, 404)),
    ("GET", "api.public_log"): Access(f"{API}{HERE}/log", (200, 200, 200)),
    ("GET", "api.last_rescoring"): Access(f"{API}{HERE}/rescoring", (404, 404, 404)),
    ("GET", "api.own_results"): Access(f"{API}{HERE}/results", (401, 403, 403), revealed=(401, 200, 200)),
    ("GET", "api.published_diagnosis"): Access(
        f"{API}{HERE}/leaderboard/private/{{own}}/diagnosis", (403, 403, 403), revealed=(404, 404, 404)
    ),
    ("POST", "api.create_team"): Access(f"{API}{HERE}/team", (401, 409, 409), data={"name": "Another"}),
    ("POST", "api.rename_team"): Access(
        f"{API}{HERE}/team/name", (401, 200, 200), data={"name": "New name"}, revealed=(401, 403, 403)
    ),
    ("POST", "api.hand_over_team"): Access(f"{API}{HERE}/team/leader", (401, 404, 404), data={"name": "Eve"}),
    ("POST", "api.leave_team"): Access(f"{API}{HERE}/team/leave", (401, 409, 409), revealed=(401, 403, 403)),
    ("POST", "api.make_team_link"): Access(
        f"{API}{HERE}/team/link", (401, 201, 201), revealed=(401, 403, 403)
    ),
    ("DELETE", "api.revoke_team_link"): Access(f"{API}{HERE}/team/link", (401, 200, 200)),
    ("GET", "api.team_of_link"): Access(f"{API}{HERE}/team/link/guessed", (401, 404, 404)),
    ("POST", "api.accept_team_link"): Access(f"{API}{HERE}/team/link/guessed", (401, 404, 404)),
    ("POST", "api.invite_to_team"): Access(
        f"{API}{HERE}/team/invitations", (401, 404, 404), data={"name": "Eve"}, revealed=(401, 403, 403)
    ),
    ("POST", "api.answer_team_invitation"): Access(f"{API}{HERE}/team/invitations/1/accept", (401, 404, 404)),
    ("POST", "api.ask_to_merge"): Access(
        f"{API}{HERE}/team/mergers", (401, 404, 404), data={"name": "Eve"}, revealed=(401, 403, 403)
    ),
    ("GET", "api.merger_outlook"): Access(f"{API}{HERE}/team/mergers/1", (401, 404, 404)),
    ("POST", "api.answer_merger"): Access(f"{API}{HERE}/team/mergers/1/accept", (401, 404, 404)),
    ("PATCH", "api.describe_submission"): Access(
        f"{API}/submissions/{{own}}", (401, 404, 200), data={"description": "new"}
    ),
    ("POST", "api.submit_again"): Access(f"{API}/submissions/{{own}}/again", (401, 404, 201)),
    ("GET", "api.submission_receipt"): Access(f"{API}/submissions/{{own}}/receipt", (401, 404, 200)),
    ("GET", "api.submission_gains"): Access(f"{API}/submissions/{{own}}/gains", (401, 404, 200)),
    ("GET", "api.question_list"): Access(f"{API}/submissions/{{own}}/questions", (401, 404, 200)),
    ("POST", "api.ask_question"): Access(
        f"{API}/submissions/{{own}}/questions", (401, 404, 409), data={"question": "Is row 7 right?"}
    ),
    ("GET", "api.competition_list"): Access(f"{API}/competitions", (401, 200, 200)),
    ("GET", "api.competition"): Access(f"{API}/competitions/toxicity", (401, 200, 200)),
    ("GET", "api.person_list"): Access(f"{API}/people", (401, 403, 403)),
    ("POST", "api.create_reset_link"): Access(f"{API}/people/1/reset-link", (401, 403, 403)),
    ("POST", "api.invite_person"): Access(f"{API}/invitations", (401, 403, 403)),
    ("POST", "api.invite_people"): Access(f"{API}/invitations/csv", (401, 403, 403), data=upload),
    ("POST", "api.create_competition"): Access(
        f"{API}/competitions", (401, 403, 403), data={"slug": "mine", "title": "Mine"}
    ),
    ("POST", "api.join"): Access(f"{API}/competitions/toxicity/join", (401, 200, 200)),
    ("GET", "api.team"): Access(f"{API}/competitions/toxicity/team", (401, 200, 200)),
    ("GET", "api.leaderboard"): Access(f"{API}/competitions/toxicity/leaderboard", (200, 200, 200)),
    ("GET", "api.counted"): Access(
        f"{API}/competitions/toxicity/leaderboard/private/{{own}}", (403, 403, 403), revealed=(200, 200, 200)
    ),
    ("GET", "api.final_standings"): Access(f"{API}/competitions/toxicity/final-standings/1", (404, 404, 404)),
    ("POST", "api.submit"): Access(f"{API}/competitions/toxicity/submissions", (401, 201, 201), data=upload),
    ("POST", "api.check"): Access(f"{API}/competitions/toxicity/check", (401, 200, 200), data=upload),
    ("GET", "api.submission_list"): Access(f"{API}/competitions/toxicity/submissions", (401, 200, 200)),
    ("GET", "api.submission"): Access(f"{API}/submissions/{{own}}", (401, 404, 200)),
    ("GET", "api.submission_file"): Access(f"{API}/submissions/{{own}}/file", (401, 404, 200)),
    ("POST", "api.select"): Access(
        f"{API}/submissions/{{own}}/select", (401, 404, 200), revealed=(401, 404, 403)
    ),
    ("POST", "kaggle.introspect_token"): Access(
        f"{API}/security.OAuthService/IntrospectToken", (200, 200, 200), data={"token": "guessed"}
    ),
    ("POST", "kaggle.other_method"): Access(
        f"{API}/datasets.DatasetApiService/ListDatasets", (403, 501, 501)
    ),
    ("POST", "kaggle.list_competitions"): Access(f"{KAGGLE}/ListCompetitions", (403, 200, 200)),
    ("POST", "kaggle.get_competition"): Access(
        f"{KAGGLE}/GetCompetition", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.list_competition_pages"): Access(
        f"{KAGGLE}/ListCompetitionPages", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.list_data_files"): Access(
        f"{KAGGLE}/ListDataFiles", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.download_data_file"): Access(
        f"{KAGGLE}/DownloadDataFile", (403, 404, 404), data={**KAGGLE_COMPETITION, "fileName": "guessed.csv"}
    ),
    ("POST", "kaggle.download_data_files"): Access(
        f"{KAGGLE}/DownloadDataFiles", (403, 302, 302), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.start_submission_upload"): Access(
        f"{KAGGLE}/StartSubmissionUpload", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.start_blob_upload"): Access(
        f"{API}/blobs.BlobApiService/StartBlobUpload",
        (403, 403, 403),
        data={"type": "DATASET", "name": "a.csv"},
    ),
    ("POST", "kaggle.create_submission"): Access(
        f"{KAGGLE}/CreateSubmission",
        (403, 404, 404),
        data={**KAGGLE_COMPETITION, "blobFileTokens": "guessed"},
    ),
    ("POST", "kaggle.create_code_submission"): Access(
        f"{KAGGLE}/CreateCodeSubmission", (403, 501, 501), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.list_submissions"): Access(
        f"{KAGGLE}/ListSubmissions", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.get_submission"): Access(
        f"{KAGGLE}/GetSubmission", (403, 404, 200), data={"ref": "{own}"}
    ),
    ("POST", "kaggle.download_submission"): Access(
        f"{KAGGLE}/DownloadSubmission", (403, 404, 302), data={"submissionId": "{own}"}
    ),
    ("POST", "kaggle.get_submission_limits"): Access(
        f"{KAGGLE}/GetSubmissionLimits", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.get_leaderboard"): Access(
        f"{KAGGLE}/GetLeaderboard", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.download_leaderboard"): Access(
        f"{KAGGLE}/DownloadLeaderboard", (403, 302, 302), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.list_team_public_submissions"): Access(
        f"{KAGGLE}/ListTeamPublicSubmissions", (403, 200, 200), data={"teamId": "1"}
    ),
    ("POST", "kaggle.create_competition"): Access(
        f"{KAGGLE}/CreateCompetition", (403, 403, 403), data={"slug": "mine", "title": "Mine"}
    ),
    ("POST", "kaggle.create_competition_data"): Access(
        f"{KAGGLE}/CreateCompetitionData", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.create_competition_solution"): Access(
        f"{KAGGLE}/CreateCompetitionSolution", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.get_competition_solution_status"): Access(
        f"{KAGGLE}/GetCompetitionSolutionStatus", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.launch_competition"): Access(
        f"{KAGGLE}/LaunchCompetition", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.list_competition_hosts"): Access(
        f"{KAGGLE}/ListCompetitionHosts", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.add_competition_host"): Access(
        f"{KAGGLE}/AddCompetitionHost", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.get_competition_settings"): Access(
        f"{KAGGLE}/GetCompetitionSettings", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.update_competition_settings"): Access(
        f"{KAGGLE}/UpdateCompetitionSettings", (403, 403, 403), data=KAGGLE_COMPETITION
    ),
    ("GET", "kaggle.old_competitions"): Access(f"{API}/competitions/list", (403, 200, 200)),
    ("GET", "kaggle.old_files"): Access(f"{API}/competitions/data/list/toxicity", (403, 200, 200)),
    ("GET", "kaggle.old_file"): Access(
        f"{API}/competitions/data/download/toxicity/guessed.csv", (403, 404, 404)
    ),
    ("GET", "kaggle.old_all_files"): Access(
        f"{API}/competitions/data/download-all/toxicity", (403, 302, 302)
    ),
    ("POST", "kaggle.old_upload"): Access(
        f"{API}/competitions/toxicity/submissions/url/9/0", (403, 200, 200), data={"fileName": "p.csv"}
    ),
    ("POST", "kaggle.old_upload_by_form"): Access(
        f"{API}/competitions/submission-url", (403, 200, 200), data=KAGGLE_COMPETITION
    ),
    ("POST", "kaggle.old_submission"): Access(
        f"{API}/competitions/submissions/submit/toxicity", (403, 404, 404), data={"blobFileTokens": "guessed"}
    ),
    ("GET", "kaggle.old_submissions"): Access(
        f"{API}/competitions/submissions/list/toxicity", (403, 200, 200)
    ),
    ("GET", "kaggle.old_leaderboard"): Access(
        f"{API}/competitions/toxicity/leaderboard/view", (403, 200, 200)
    ),
    ("GET", "kaggle.old_leaderboard_file"): Access(
        f"{API}/competitions/toxicity/leaderboard/download", (403, 302, 302)
    ),
    ("GET", "kaggle.signed_file"): Access(f"{API}/downloads/train.csv?key=guessed", (410, 410, 410)),
    ("PUT", "kaggle.receive"): Access(f"{API}/uploads/guessed", (404, 404, 404), data={}),
    ("GET", "api.events"): Access(f"{API}/competitions/toxicity/events", (401, 200, 200)),
    **{
        (method, f"api.{name.format('team_webhook')}"): Access(
            f"{API}/competitions/toxicity/team/webhooks{path}", (401, status, status), data=data
        )
        for method, name, path, status, data in WEBHOOKS
    },
    **{
        (method, f"api.{name.format('webhook')}"): Access(
            f"{API}/competitions/toxicity/webhooks{path}", (401, 403, 403), data=data
        )
        for method, name, path, _, data in WEBHOOKS
    },
}
# The organizers' operations of the API, which are refused like their pages: method, name, place at the desk.
DESK = (
    ("GET", "organized_settings", "/settings"),
    ("PUT", "replace_settings", "/settings"),
    ("PATCH", "change_settings", "/settings"),
    ("GET", "settings_text", "/settings.toml"),
    ("POST", "accept_metric", "/settings/metric/1/accept"),
    ("GET", "organized_solution", "/solution"),
    ("POST", "upload_solution", "/solution"),
    ("GET", "solution_check", "/solution/1"),
    ("POST", "change_solution_roles", "/solution/1/roles"),
    ("POST", "accept_solution", "/solution/1/accept"),
    ("DELETE", "dismiss_solution_check", "/solution/1"),
    ("GET", "solution_changes", "/solution/1/changes.csv"),
    ("GET", "organized_data", "/data"),
    ("POST", "upload_data_file", "/data"),
    ("DELETE", "remove_data_file", "/data/p.csv"),
    ("POST", "allow_data_file", "/data/p.csv/allow"),
    ("POST", "check_data_file", "/data/p.csv/check"),
    ("POST", "add_baseline", "/data/baseline"),
    ("GET", "figure_list", "/figures"),
    ("POST", "upload_figure", "/figures"),
    ("DELETE", "remove_figure", "/figures/plot.png"),
    ("GET", "organized_state", "/state"),
    ("POST", "publish_competition", "/state/publish"),
    ("POST", "archive_competition", "/state/archive"),
    ("POST", "unarchive_competition", "/state/unarchive"),
    ("DELETE", "delete_draft", ""),
    ("GET", "scoring_versions", "/rescoring"),
    ("POST", "prepare_rescoring", "/rescoring"),
    ("GET", "rescoring_settings", "/rescoring/settings"),
    ("POST", "check_rescoring_settings", "/rescoring/settings"),
    ("GET", "scoring_version", "/rescoring/1"),
    ("GET", "rescoring_changes", "/rescoring/1/difference"),
    ("GET", "rescoring_table", "/rescoring/1/teams.csv"),
    ("POST", "publish_rescoring", "/rescoring/1/publish"),
    ("POST", "roll_back_rescoring", "/rescoring/1/rollback"),
    ("DELETE", "drop_rescoring", "/rescoring/1"),
    ("GET", "closing_state", "/close"),
    ("POST", "close_competition", "/close/now"),
    ("POST", "verify_standings", "/close/verify"),
    ("POST", "reveal_standings", "/close/reveal"),
    ("POST", "finalize_standings", "/close/finalize"),
    ("POST", "publish_solution", "/close/solution"),
    ("POST", "make_bundle", "/close/bundle"),
    ("GET", "results_bundle", "/close/bundle/1"),
    ("GET", "results_file", "/close/bundle/1/file"),
    ("GET", "console", ""),
    ("POST", "pause_submissions", "/pause"),
    ("POST", "resume_submissions", "/resume"),
    ("GET", "organized_submissions", "/submissions"),
    ("GET", "equal_file_list", "/submissions/equal-files"),
    ("POST", "retry_submission", "/submissions/1/retry"),
    ("POST", "retry_submissions", "/submissions/retry"),
    ("POST", "mark_submission", "/submissions/1/kind"),
    ("GET", "organized_diagnosis", "/submissions/1/diagnosis"),
    ("POST", "diagnose_submission", "/submissions/1/diagnosis"),
    ("POST", "publish_diagnosis", "/submissions/1/diagnosis/publish"),
    ("GET", "diagnosis_page", "/submissions/1/diagnosis.html"),
    ("GET", "organized_teams", "/teams"),
    ("GET", "organized_team", "/teams/1"),
    ("PUT", "give_team_name", "/teams/1/name"),
    ("DELETE", "free_team_name", "/teams/1/name"),
    ("POST", "disqualify_team", "/teams/1/disqualification"),
    ("POST", "reinstate_team", "/teams/1/reinstatement"),
    ("GET", "grant_list", "/teams/grants"),
    ("POST", "grant_submissions", "/teams/1/grants"),
    ("POST", "grant_submissions_to_all", "/teams/grants"),
    ("GET", "fair_play", "/fair-play"),
    ("POST", "look_at_submissions", "/fair-play"),
    ("POST", "mark_fair_play", "/fair-play/marks"),
    ("GET", "same_people", "/fair-play/same-people"),
    ("GET", "dispute_list", "/disputes"),
    ("POST", "answer_dispute", "/disputes/1"),
    ("POST", "create_accounts", "/accounts"),
    ("GET", "announcement_list", "/announcements"),
    ("POST", "post_announcement", "/announcements"),
    ("PATCH", "edit_announcement", "/announcements/1"),
    ("DELETE", "withdraw_announcement", "/announcements/1"),
    ("GET", "organizer_list", "/organizers"),
    ("POST", "add_organizer", "/organizers"),
    ("PATCH", "change_organizer", "/organizers/1"),
    ("DELETE", "remove_organizer", "/organizers/1"),
    ("GET", "audit_list", "/audit"),
    ("GET", "export_csv", "/exports/scores.csv"),
    ("GET", "export_json", "/exports/scores.json"),
    ("GET", "organized_ties", "/ties"),
    ("POST", "compare_teams", "/ties"),
    ("POST", "publish_ties", "/ties/publish"),
    ("GET", "entry_requests", "/entries"),
    ("POST", "decide_entry", "/entries"),
)
TABLE |= {
    (method, f"api.{name}"): Access(f"{API}/competitions/toxicity/organize{place}", (401, 403, 403))
    for method, name, place in DESK
}
ROLES = ("stranger", "outsider", "owner")


def test_every_route_stands_in_the_table(arena: Any) -> None:
    routes = {
        (method, rule.endpoint)
        for rule in arena.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert routes == set(TABLE)


@pytest.mark.parametrize("is_revealed", [False, True])
@pytest.mark.parametrize("place", range(len(ROLES)))
def test_every_route_answers_each_role_as_the_table_says(
    make_scene: Any, place: int, is_revealed: bool
) -> None:
    scene, role = make_scene(revealed=is_revealed), ROLES[place]
    wrong = []
    for (method, endpoint), access in TABLE.items():
        statuses = access.revealed if is_revealed and access.revealed else access.statuses
        answer = _ask(scene, role, method, access)
        if answer.status_code != statuses[place]:
            wrong.append(f"{method} {endpoint}: {answer.status_code}, not {statuses[place]}")
        if endpoint == "account.log_out_everywhere" and role != "stranger":
            scene.arena.log_in(scene.browser(role), {"outsider": "Bob", "owner": "Ann"}[role])
    assert not wrong


def test_nothing_unsafe_happens_without_the_token_of_a_form(make_scene: Any) -> None:
    scene = make_scene()
    for (method, endpoint), access in TABLE.items():
        if method == "POST" and not endpoint.startswith(("api.", "kaggle.")):
            answer = _ask(scene, "owner", method, access, csrf_token="guessed")
            assert answer.status_code == 403, endpoint
            assert "another site" in answer.text


def test_nothing_unsafe_happens_from_a_foreign_page_even_with_the_token(make_scene: Any) -> None:
    scene = make_scene()
    for foreign in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        for (method, endpoint), access in TABLE.items():
            if method == "POST" and not endpoint.startswith(("api.", "kaggle.")):
                answer = _ask(scene, "owner", method, access, headers=foreign)
                assert answer.status_code == 403, endpoint


def test_a_login_cookie_opens_nothing_in_the_api(scene: Any) -> None:
    answer = scene.ann.browser.get(f"{API}/submissions/{scene.scored_id}")
    assert answer.status_code == 401
    assert answer.json["code"] == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_token_opens_nothing(scene: Any) -> None:
    page = scene.ann.post("/account/tokens", {"token_name": "laptop"}).text
    token = re.findall(r"<code>(fb_[^<…]+)</code>", page)[0]
    bearer, api = {"Authorization": f"Bearer {token}"}, scene.arena.app.test_client()
    assert api.get(f"{API}/competitions", headers=bearer).status_code == 200
    newest = scene.spare_token_id + 1
    scene.ann.confirm(f"/account/tokens/{newest}/revoke")
    assert api.get(f"{API}/competitions", headers=bearer).status_code == 401


def test_columns_that_are_sent_along_change_nothing(scene: Any) -> None:
    scene.bob.post("/account/tokens", {"token_name": "x", "user_id": "1", "is_admin": "1", "revoked_at": ""})
    submission_id = scene.arena.submit(
        scene.bob,
        scene.arena.truth.predictions(),
        status="scored",
        team_id="1",
        submitted_at="2000-01-01T00:00:00Z",
        public_score="1",
    )
    answer = scene.arena.app.test_client().get(f"{API}/submissions/{submission_id}", headers=scene.bob.bearer)
    assert answer.json["status"] == "pending"
    assert not answer.json["submitted_at"].startswith("2000")
    assert "Administrator" not in scene.bob.browser.get("/account").text


def _ask(
    scene: Any,
    role: str,
    method: str,
    access: Access,
    *,
    csrf_token: str | None = None,
    headers: dict[str, str] | None = None,
) -> Any:
    path = access.path.format(own=scene.scored_id, token=scene.spare_token_id)
    if path.startswith(API):
        data = access.data() if callable(access.data) else access.data
        data = {name: scene.scored_id if value == "{own}" else value for name, value in (data or {}).items()}
        client = scene.arena.app.test_client()
        return client.open(path, method=method, data=data, headers=scene.bearer(role))
    browser = scene.browser(role)
    if method == "GET":
        return browser.get(path)
    form_page = "/login" if role == "stranger" else "/account"
    token = csrf_token or scene.arena.form_token(browser, form_page)
    data = access.data() if callable(access.data) else access.data
    return browser.post(path, data={**(data or {}), "csrf_token": token}, headers=headers)
