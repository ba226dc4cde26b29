"""Starter script that learns toxic words from train.csv and writes submission.csv.

Put this script in the same folder as train.csv and test.csv, and run `python first_submission.py`. It needs
pandas and scikit-learn (pip install pandas scikit-learn).
"""

from pathlib import Path

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

folder = Path(__file__).parent
train, test = pd.read_csv(folder / "train.csv"), pd.read_csv(folder / "test.csv")

# A comment is toxic if at least half of its raters found it toxic.
model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
model.fit(train["comment_text"], train["target"] >= 0.5)

# Only the order of the predictions affects the score.
predictions = model.predict_proba(test["comment_text"])[:, 1]
pd.DataFrame({"id": test["id"], "prediction": predictions}).to_csv(folder / "submission.csv", index=False)
print(f"{folder / 'submission.csv'} has {len(test):,} predictions. Upload it on the Submissions page.")

# Next steps: the submission's page shows the identities for which the model raises false alarms. Use the
# identity columns of train.csv to weight the comments that mention them, or mask the words that do.
