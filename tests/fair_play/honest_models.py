"""A hundred honest models of the demo's comments: ten feature sets, ten learners each.

Bernoulli naive Bayes is not included, because word weights do not change its model.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from grader.demo import dataset
from grader.demo.classifiers import positive

TRAIN_ROWS, TEST_ROWS = 3000, 4096
LOOKS: tuple[tuple[Any, ...], ...] = (
    (TfidfVectorizer(sublinear_tf=True, min_df=2),),
    (TfidfVectorizer(ngram_range=(1, 2), min_df=2),),
    (CountVectorizer(binary=True, min_df=5),),
    (CountVectorizer(ngram_range=(1, 3), min_df=3),),
    (TfidfVectorizer(stop_words="english", min_df=2),),
    (TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=3),),
    (TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=3, sublinear_tf=True),),
    (TfidfVectorizer(analyzer="char", ngram_range=(2, 5), min_df=5, max_features=8000),),
    (TfidfVectorizer(min_df=2), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), min_df=3)),
    (TfidfVectorizer(ngram_range=(2, 3), min_df=2),),
)


def learners(seed: int) -> tuple[Any, ...]:
    return (
        LogisticRegression(C=1.0, max_iter=1000),
        LogisticRegression(C=20.0, max_iter=1000, class_weight="balanced"),
        LinearSVC(C=0.3),
        MultinomialNB(alpha=0.5),
        SGDClassifier(loss="modified_huber", alpha=1e-3, random_state=seed),
        RidgeClassifier(alpha=2.0),
        LogisticRegression(l1_ratio=1, solver="liblinear", C=2.0),
        RandomForestClassifier(50, max_depth=12, random_state=seed),
        make_pipeline(
            TruncatedSVD(30, random_state=seed),
            HistGradientBoostingClassifier(max_iter=40, random_state=seed),
        ),
        make_pipeline(
            TruncatedSVD(60, random_state=seed),
            StandardScaler(),
            MLPClassifier((16,), max_iter=40, early_stopping=True, random_state=seed),
        ),
    )


def predictions(looks: int = len(LOOKS), ways: int = 10) -> Iterator[NDArray[np.float64]]:
    """Yield the predictions of models trained on the same comments."""
    data = dataset.generate(train_rows=TRAIN_ROWS, test_rows=TEST_ROWS)
    truth = positive(data.train)
    for place, look in enumerate(LOOKS[:looks]):
        seen = hstack([each.fit_transform(data.train.comment_text) for each in look]).tocsr()
        asked = hstack([each.transform(data.test.comment_text) for each in look]).tocsr()
        for learner in learners(10 * place)[:ways]:
            model = learner.fit(seen, truth)
            if hasattr(model, "predict_proba"):
                yield np.asarray(model.predict_proba(asked)[:, 1])
            else:
                yield np.asarray(model.decision_function(asked))
