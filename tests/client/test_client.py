"""`grader.client` against a real site: what it reads, sends, repeats, and what it says of an error."""

import io

import pandas as pd


def frame(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content))


def test_a_table_is_sent_scored_and_found_on_the_leaderboard(service, live_site, predictions_csv):
    service.competition(max_daily_submissions=5)
    with live_site.client() as client:
        sent = client.submit(frame(predictions_csv(skill=0.3)), description="from a table")
        assert (sent.status, sent.limits.left_today) == ("pending", 4)
        scored = client.wait(sent)
        assert (scored.status, scored.description, scored.file_name) == (
            "scored",
            "from a table",
            "predictions.csv",
        )
        assert scored.weakest_term in scored.terms
        assert set(scored.to_frame()["name"]) == {"female", "muslim"}
        board = client.leaderboard()
        assert [(row.rank, row.team, row.score) for row in board.rows] == [(1, "ada", scored.public_score)]
        table = board.to_frame()
        assert table.loc[0, "overall_auc"] == scored.terms["overall_auc"]
        assert [each.id for each in client.submissions().submissions] == [sent.id]
