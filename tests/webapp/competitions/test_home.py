"""Home page: first panel and primary button for each role and phase."""

import re
from datetime import timedelta

import pytest

from grader.prose.markdown import MAX_LENGTH, cut, first_line
from grader.services.competitions import acting, lookup
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.services.teams import rosters
from grader.visibility import Feedback
from tests.fixtures.arena import main_text
from tests.fixtures.statements import recorded

HERE = "/competitions/toxicity"
DAY = timedelta(days=1)


def button(page):
    found = re.search(r'<div class="next-step">\s*<a class="button" href="([^"]*)">([^<]*)</a>', page)
    assert found is not None
    return found[2], found[1]


def words(page):
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_button_changes_in_the_course_of_the_competition(arena):
    now = arena.now()
    arena.competition(rules="Be fair.", closes_at=now + 9 * DAY, max_daily_submissions=2)
    ann = arena.person("Ann")

    def seen() -> tuple[str, str]:
        return button(ann.browser.get(HERE).text)

    assert seen() == ("Join", f"{HERE}/join")
    ann.post(f"{HERE}/join", {"accepted_rules_version": "1"})
    assert seen() == ("Submit", f"{HERE}/submissions")
    assert "Submissions left 2 today" in words(ann.browser.get(HERE).text)
    for seed in (1, 2):
        arena.submit(ann, arena.truth.predictions(noise=2, seed=seed))
    arena.score_all()
    assert seen()[0] == "Select submissions"
    assert (
        "2 unused selections of 2. If you select nothing, the submission with the best public score counts."
        in ann.browser.get(HERE).text
    )
    for submission_id in (1, 2):
        ann.post(f"{HERE}/submissions/{submission_id}/select", {"selected": "yes"})
    assert seen()[0] == "Submissions"
    arena.reveal()
    assert seen() == ("See results", f"{HERE}/submissions")


def test_a_visitor_logs_in_to_home_with_its_first_steps(arena):
    arena.competition()
    words, target = button(arena.app.test_client().get(HERE).text)
    assert (words, target.partition("?next=")[2].replace("%2F", "/")) == ("Log in to join", HERE)
    assert 'aria-label="First steps"' in arena.person("Ann").browser.get(HERE).text


@pytest.mark.parametrize("feedback", Feedback)
def test_the_state_of_the_teams_files_is_shown_as_the_feedback_mode_allows(arena, feedback):
    arena.competition(feedback=feedback, closes_at=arena.now() + 9 * DAY)
    ann = arena.person("Ann")
    for noise in (2, 9, 3):
        arena.submit(ann, arena.truth.predictions(noise=noise, seed=int(noise)))
    arena.score_all()
    ann.post(f"{HERE}/submissions/2/select", {"selected": "yes"})
    page = main_text(ann.browser.get(HERE))
    if feedback is Feedback.BLIND:
        assert "Latest submission #3 scored its score is shown after the reveal" in page
    else:
        assert re.search(r"Latest submission #3 0\.\d+ does not change your rank; #1 is your entry", page)
    automatic = "" if feedback.is_coarse else ", #1 automatic"
    later = ", 1 filled automatically" if feedback.is_coarse else ""
    assert f"Final selection #2{automatic} 1 of 2 selected{later}; change until" in page
    assert ("Weakest identity" in page) == (feedback is Feedback.OPEN)
    arena.reveal()
    after = main_text(ann.browser.get(HERE))
    assert re.search(r"Latest submission #3 0\.\d{5} does not change your rank; #\d is your entry", after)
    assert re.search(r"Final submission #[12] your final entry", after)
    assert "Weakest identity in #" in after and "Submissions left" not in after
    assert "behind" in after and "private rows" in after


def test_a_disqualified_team_is_offered_no_forbidden_action(arena):
    arena.competition(closes_at=arena.now() + 2 * DAY, max_daily_submissions=4)
    ann = arena.person("Ann")
    for seed in (1, 2):
        arena.submit(ann, arena.truth.predictions(noise=2, seed=seed))
    arena.score_all()
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        team = rosters.find_team(session, competition=competition, user=ann.user)
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"))
        decisions.disqualify(act, team=team.name, reason="Copied.")
    home = ann.browser.get(HERE).text
    assert button(home) == ("Submissions", f"{HERE}/submissions")
    assert re.search("Your rank . disqualified", words(home)) and "Select submissions" not in home
    assert "You: disqualified" in words(ann.browser.get("/").text)


def test_the_panel_shows_the_viewers_rank_and_gap_and_marks_the_row(arena):
    arena.competition()
    ann = arena.person("Ann")
    for place in range(6):
        arena.submit(arena.person(f"Bot {place}"), arena.truth.predictions(noise=1 + place / 9, seed=place))
    arena.submit(ann, arena.truth.predictions(noise=9, seed=5))
    arena.score_all()
    text = words(ann.browser.get(HERE).text)
    assert re.search(r"Your rank 7th of 7 teams Your score 0\.\d{5} 0\.\d{5} behind the 6th Closes", text)
    assert re.search(r"7 \S+ Your team you 0\.\d{5}", text)
    bob = arena.person("Bob")
    arena.submit(bob, arena.truth.predictions(noise=9, seed=5))
    arena.score_all()
    assert "same as the 7th, submitted later" in words(bob.browser.get(HERE).text)
    stranger = arena.app.test_client().get(HERE).text
    assert "Teams 8 " in words(stranger)
    assert "Your team" not in stranger
    assert 'class="own"' not in stranger


def test_the_list_shows_the_rank_of_the_viewers_team(arena):
    ann, bob = arena.person("Ann"), arena.person("Bob")
    for slug in ("first", "second"):
        arena.competition(slug, title=slug, overview="Find *harm*.", max_daily_submissions=3)
        arena.submit(bob, arena.truth.predictions(noise=1), slug)
    arena.submit(ann, arena.truth.predictions(noise=9), "first")
    arena.score_all()
    arena.format_texts()
    with recorded(arena.database) as sent:
        text = words(ann.browser.get("/").text)
    assert re.search(r"second open Find harm\. Team 1 ", text)
    assert re.search(r"first open Find harm\. Teams 2 .* You: 2nd", text)
    assert text.count("You:") == 1
    arena.competition("third", title="third")
    arena.submit(ann, arena.truth.predictions(noise=9), "third")
    with recorded(arena.database) as again:
        assert words(ann.browser.get("/").text).count("You:") == 2
    assert again.count == sent.count
    assert "You:" not in arena.app.test_client().get("/").text


def test_the_list_search_matches_all_words(arena):
    def shown(query: str = "") -> str:
        return arena.app.test_client().get("/" + query, follow_redirects=True).text

    arena.competition("harm", title="Finding Harm", overview="Comments of 2018.")
    arena.competition("spam", title="Finding spam")
    assert all(title in shown() for title in ("Finding Harm", "Finding spam"))
    found = shown("?q=finding+comments")
    assert "Finding Harm" in found
    assert "Finding spam" not in found
    assert "1 competition found" in found
    assert "0 competitions found" in shown("?q=<zzz>")


@pytest.mark.parametrize(
    ("overview", "line"),
    [
        ("", ""),
        ("# A title\n\n- a list\n", ""),
        ("## Task\n\nFind *bad* `ones`\nwith [this](https://x.org).\n\nMore.", "Find bad ones with this."),
        ("A <b>&\n", "A <b>&"),
    ],
)
def test_the_summary_is_the_first_paragraph(overview, line):
    assert first_line(overview) == line


def test_a_long_summary_is_cut_between_words():
    assert cut("word " * 99, 18) == "word word word…"
    assert len(cut("x" * 999, MAX_LENGTH)) == MAX_LENGTH
