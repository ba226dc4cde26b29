"""Everything that a page does has its operation in the API, and the reverse: both lists are complete."""

from typing import Any

PROVES_A_PERSON = "a browser proves a person; a program has a token"
OWN_SAFETY = "what guards an account is changed by its person, in a browser"
POLLED = "a page asks it again and again; a program asks the thing itself, with an ETag"
NO_ACT = "it shows a form, and the act has its operation"

# By page, the operations that do and show the same.
PAIRS = {
    "GET competitions.index": "competition_list",
    "GET competitions.show": "competition competition_pages",
    "GET competitions.evaluation": "competition competition_pages",
    "GET competitions.sample_submission": "sample_submission",
    "GET competition_data.show": "data_file_list competition_pages",
    "GET competition_data.file": "data_file",
    "GET competition_solution.download": "published_solution",
    "GET competition_solution.nonce": "published_nonce",
    "GET competition_solution.canaries": "published_canaries",
    "GET log.show": "public_log",
    "GET rescored.show": "last_rescoring",
    "GET leaderboards.public": "leaderboard",
    "GET leaderboards.private": "leaderboard",
    "GET leaderboards.public_csv": "leaderboard",
    "GET leaderboards.private_csv": "leaderboard",
    "GET leaderboards.counted": "counted",
    "GET leaderboards.diagnosis": "published_diagnosis",
    "GET leaderboards.final": "final_standings",
    "GET leaderboards.results": "own_results",
    "POST submissions.submit": "submit check",
    "POST submissions.submit_again": "submit_again",
    "GET submissions.index": "submission_list",
    "GET submissions.show": "submission submission_gains question_list",
    "GET submissions.file": "submission_file",
    "GET submissions.receipt": "submission_receipt",
    "POST submissions.describe": "describe_submission",
    "POST submissions.select": "select",
    "POST submissions.question": "ask_question",
    "GET entry.show": "team competition_pages",
    "POST entry.join": "join",
    "GET entry.requests": "entry_requests",
    "POST entry.decide": "decide_entry",
    "GET teams.show": "team merger_outlook",
    "POST teams.create": "create_team",
    "POST teams.rename": "rename_team",
    "POST teams.hand_over": "hand_over_team",
    "POST teams.leave": "leave_team",
    "POST teams.make_link": "make_team_link",
    "POST teams.revoke_link": "revoke_team_link",
    "GET teams.invitation": "team_of_link",
    "POST teams.accept_link": "accept_team_link",
    "POST teams.invite": "invite_to_team",
    "POST teams.answer_invitation": "answer_team_invitation",
    "POST teams.request_merge": "ask_to_merge",
    "POST teams.answer_merge": "answer_merger",
    "GET team_webhooks.index": "team_webhook_list",
    "GET team_webhooks.show": "team_webhook team_webhook_deliveries",
    "POST team_webhooks.create": "create_team_webhook",
    "POST team_webhooks.act": (
        "change_team_webhook rotate_team_webhook test_team_webhook delete_team_webhook"
    ),
    "GET organize_creating.show": "competition_list",
    "POST organize_creating.create": "create_competition",
    "GET organize_settings.index": "organized_settings settings_text",
    "GET organize_settings.show": "organized_settings",
    "POST organize_settings.save": "change_settings replace_settings",
    "GET organize_solution.index": "organized_solution",
    "POST organize_solution.upload": "upload_solution",
    "GET organize_solution.show": "solution_check",
    "POST organize_solution.change_roles": "change_solution_roles",
    "POST organize_solution.accept": "accept_solution",
    "POST organize_solution.dismiss": "dismiss_solution_check",
    "GET organize_solution.changes": "solution_changes",
    "GET organize_data.index": "organized_data",
    "POST organize_data.upload": "upload_data_file",
    "POST organize_data.remove": "remove_data_file",
    "POST organize_data.allow": "allow_data_file",
    "POST organize_data.check_again": "check_data_file",
    "POST organize_data.add_baseline": "add_baseline",
    "GET organize_publishing.show": "organized_state",
    "POST organize_publishing.publish": "publish_competition",
    "POST organize_publishing.archive": "archive_competition unarchive_competition",
    "POST organize_publishing.delete": "delete_draft",
    "GET organize_console.index": "console",
    "POST organize_console.pause": "pause_submissions",
    "POST organize_console.resume": "resume_submissions",
    "GET organize_console.ties": "organized_ties",
    "POST organize_console.compare_teams": "compare_teams",
    "POST organize_console.publish_ties": "publish_ties",
    "GET organize_submissions.index": "organized_submissions",
    "GET organize_submissions.same_bytes": "equal_file_list",
    "POST organize_submissions.retry": "retry_submission",
    "POST organize_submissions.retry_all": "retry_submissions",
    "POST organize_submissions.mark": "mark_submission",
    "GET organize_submissions.diagnosis": "organized_diagnosis",
    "POST organize_submissions.diagnose": "diagnose_submission",
    "POST organize_submissions.publish_diagnosis": "publish_diagnosis",
    "GET organize_submissions.diagnosis_file": "organized_diagnosis diagnosis_page",
    "GET organize_teams.index": "organized_teams grant_list",
    "GET organize_teams.show": "organized_team",
    "POST organize_teams.rename": "give_team_name",
    "POST organize_teams.free_name": "free_team_name",
    "POST organize_teams.disqualify": "disqualify_team",
    "POST organize_teams.reinstate": "reinstate_team",
    "POST organize_teams.grant": "grant_submissions",
    "POST organize_teams.grant_to_all": "grant_submissions_to_all",
    "GET fair_play.index": "fair_play",
    "GET organize_disputes.index": "dispute_list",
    "POST organize_disputes.answer": "answer_dispute",
    "GET organize_announcements.index": "announcement_list",
    "POST organize_announcements.post": "post_announcement",
    "POST organize_announcements.withdraw": "withdraw_announcement",
    "GET organize_organizers.index": "organizer_list",
    "POST organize_organizers.add": "add_organizer",
    "POST organize_organizers.change": "change_organizer",
    "POST organize_organizers.remove": "remove_organizer",
    "GET organize_audit.index": "audit_list",
    "GET organize_exports.download": "export_csv export_json",
    "GET organize_webhooks.index": "webhook_list",
    "GET organize_webhooks.show": "webhook webhook_deliveries",
    "POST organize_webhooks.create": "create_webhook",
    "POST organize_webhooks.act": "change_webhook rotate_webhook test_webhook delete_webhook",
    "GET organize_rescoring.index": "scoring_versions",
    "POST organize_rescoring.prepare": "prepare_rescoring",
    "GET organize_rescoring.settings": "rescoring_settings",
    "POST organize_rescoring.check_settings": "check_rescoring_settings",
    "GET organize_rescoring.show": "scoring_version",
    "GET organize_rescoring.difference": "rescoring_changes",
    "GET organize_rescoring.submissions_csv": "rescoring_table",
    "GET organize_rescoring.teams_csv": "rescoring_table",
    "GET organize_rescoring.selections_csv": "rescoring_table",
    "POST organize_rescoring.publish": "publish_rescoring",
    "POST organize_rescoring.roll_back": "roll_back_rescoring",
    "POST organize_rescoring.drop": "drop_rescoring",
    "GET organize_close.index": "closing_state",
    "POST organize_close.verify": "verify_standings",
    "POST organize_close.reveal": "reveal_standings",
    "POST organize_close.finalize": "finalize_standings",
    "POST organize_close.publish_solution": "publish_solution",
    "POST organize_close.bundle": "make_bundle results_bundle",
    "GET organize_close.download": "results_file",
    "GET people.index": "person_list",
    "POST people.create_reset_link": "create_reset_link",
    "POST people.invite": "invite_person invite_people",
    "GET account.show": "me token_list",
    "POST account.describe": "change_me",
    "POST account.choose_notices": "change_me",
    "POST account.create_token": "create_token",
    "POST account.revoke_token": "revoke_token",
}
WITHOUT_OPERATION = {
    "GET account.log_in": PROVES_A_PERSON,
    "POST account.log_in": PROVES_A_PERSON,
    "POST account.log_out": PROVES_A_PERSON,
    "POST account.log_out_everywhere": PROVES_A_PERSON,
    "POST account.end_login": PROVES_A_PERSON,
    "GET account.sign_up": PROVES_A_PERSON,
    "POST account.sign_up": PROVES_A_PERSON,
    "GET account.sign_up_by_link": PROVES_A_PERSON,
    "POST account.sign_up_by_link": PROVES_A_PERSON,
    "GET account.set_up": PROVES_A_PERSON,
    "POST account.set_up": PROVES_A_PERSON,
    "GET account.verify": PROVES_A_PERSON,
    "POST account.verify": PROVES_A_PERSON,
    "GET account.ask_for_reset": PROVES_A_PERSON,
    "POST account.ask_for_reset": PROVES_A_PERSON,
    "GET account.reset": PROVES_A_PERSON,
    "POST account.reset": PROVES_A_PERSON,
    "POST account.change_email": OWN_SAFETY,
    "POST account.change_password": OWN_SAFETY,
    "GET account.delete": OWN_SAFETY,
    "POST account.delete": OWN_SAFETY,
    "GET submissions.submit": NO_ACT,
    "GET submissions.status": POLLED,
    "GET submissions.statuses": POLLED,
    "GET organize_data.status": POLLED,
    "GET organize_solution.status": POLLED,
    "GET organize_rescoring.status": POLLED,
    "GET organize_rescoring.settings_status": POLLED,
    "GET organize_console.ties_status": POLLED,
    "GET organize_submissions.diagnosis_status": POLLED,
    "GET organize_close.status": POLLED,
    "GET submissions.compare": "made of two answers of `submission`, and of nothing else",
}
WITHOUT_PAGE = {
    "events": "a stream for programs; pages ask again instead",
}
NO_PAGES = ("api", "health", "openapi", "static")


def test_every_page_has_its_operations_or_a_reason(arena: Any) -> None:
    listed = [*PAIRS, *WITHOUT_OPERATION]
    assert len(listed) == len(set(listed))
    assert _pages(arena) == set(listed)


def test_every_operation_has_its_page_or_a_reason(arena: Any) -> None:
    paired = {name for names in PAIRS.values() for name in names.split()}
    rules = arena.app.url_map.iter_rules()
    there = {r.endpoint.removeprefix("api.") for r in rules if r.endpoint.startswith("api.")}
    assert there == paired | set(WITHOUT_PAGE)


def _pages(arena: Any) -> set[str]:
    rules = arena.app.url_map.iter_rules()
    return {
        f"{method} {rule.endpoint}"
        for rule in rules
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint.split(".")[0] not in NO_PAGES and not rule.endpoint.startswith("kaggle")
    }
