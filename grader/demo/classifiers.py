"""Scikit-learn models of the demo's teams, trained without hidden labels.

They differ in their features (words, word pairs, letters), algorithms and handling of bias in the training
comments, so overall AUC and the bias terms rank them differently.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from grader.demo.corpus import IDENTITIES, IDENTITY_WORDS, INSULTS, SLIGHTS

SEED = 7
Predict = Callable[[pd.DataFrame, Sequence[str]], np.ndarray]
Preprocessor = Callable[[str], str] | None


@dataclass(frozen=True, slots=True)
class Model:
    """A team's model, with its description and prediction function."""

    name: str
    team: str
    description: str
    predict: Predict


def positive(train: pd.DataFrame) -> np.ndarray:
    """Return a mask of the training comments that at least half of the raters found toxic."""
    return train["target"].to_numpy() >= 0.5


def mentions(train: pd.DataFrame) -> np.ndarray:
    """Return a mask of the annotated training comments that mention at least one identity."""
    return (train[list(IDENTITIES)] >= 0.5).any(axis=1).to_numpy()


_IDENTITY_WORD = re.compile(
    r"\b(?:" + "|".join(word for words in IDENTITY_WORDS.values() for word in words) + r")\b", re.IGNORECASE
)


def _mask(text: str) -> str:
    """Replace every word that mentions an identity with the same neutral word."""
    return _IDENTITY_WORD.sub("person", text.lower())


def _words(upto: int = 1, preprocessor: Preprocessor = None) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, upto), sublinear_tf=True, min_df=2, preprocessor=preprocessor)


def _letters(preprocessor: Preprocessor = None) -> TfidfVectorizer:
    return TfidfVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True, min_df=3, preprocessor=preprocessor
    )


def _sample_submission(_train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    return np.zeros(len(texts))


def _base_rate(train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    return np.full(len(texts), positive(train).mean())


def _keyword_count(_train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    words = CountVectorizer(vocabulary=[*INSULTS, *SLIGHTS])
    return np.asarray(words.transform(texts).sum(axis=1), dtype=float).ravel()


def _logistic(features: TfidfVectorizer | FeatureUnion) -> Pipeline:
    return make_pipeline(features, LogisticRegression(C=3.0, max_iter=1000))


def _learn(pipeline: Pipeline) -> Predict:
    """Return a function that fits a pipeline and predicts probabilities or, if it cannot, margins."""

    def predict(train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
        model = clone(pipeline).fit(train["comment_text"], positive(train))
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(texts)[:, 1])
        return np.asarray(model.decision_function(texts))

    return predict


def _only_attacked(train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    """Train on comments that mention identities only in attacks, which maximizes the bias."""
    kept = train[positive(train) | ~mentions(train)]
    return _learn(_logistic(_words()))(kept, texts)


def _balanced(train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    """Weight the rows so that identity and label are independent (Kamiran and Calders, 2012)."""
    toxic, weights = positive(train), np.ones(len(train))
    for name in IDENTITIES:
        mentioned = (train[name] >= 0.5).to_numpy()
        for label in (True, False):
            cell = mentioned & (toxic == label)
            weights[cell] *= mentioned.mean() * (toxic == label).mean() / cell.mean()
    model = _logistic(_words(2))
    model.fit(train["comment_text"], toxic, logisticregression__sample_weight=weights)
    return np.asarray(model.predict_proba(texts)[:, 1])


def _blend(train: pd.DataFrame, texts: Sequence[str]) -> np.ndarray:
    """Average the ranks of a letter model and a model with masked identity words."""
    letters = _learn(_logistic(_letters()))(train, texts)
    masked = _learn(_logistic(_words(2, _mask)))(train, texts)
    return np.asarray((pd.Series(letters).rank() + pd.Series(masked).rank()) / (2 * len(texts)))


MODELS: tuple[Model, ...] = (
    Model("sample", "sample", "The sample submission: all predictions are 0.", _sample_submission),
    Model(
        "base-rate", "base-rate", "The share of toxic training comments as a constant prediction.", _base_rate
    ),
    Model("keywords", "keywords", "The number of unkind words, counted with a list.", _keyword_count),
    Model(
        "bayes-bernoulli",
        "bayes",
        "Bernoulli naive Bayes on words.",
        _learn(make_pipeline(CountVectorizer(min_df=2), BernoulliNB())),
    ),
    Model(
        "bayes-multinomial",
        "bayes",
        "Multinomial naive Bayes on word counts.",
        _learn(make_pipeline(CountVectorizer(min_df=2), MultinomialNB())),
    ),
    Model(
        "complement",
        "complement",
        "Complement naive Bayes on words and word pairs.",
        _learn(make_pipeline(_words(2), ComplementNB())),
    ),
    Model("words", "words", "Logistic regression on words.", _learn(_logistic(_words()))),
    Model(
        "word-pairs",
        "words",
        "Logistic regression on words and word pairs.",
        _learn(_logistic(_words(2))),
    ),
    Model(
        "letters",
        "letters",
        "Logistic regression on sequences of two to four letters.",
        _learn(_logistic(_letters())),
    ),
    Model(
        "svm",
        "svm",
        "Linear support vector machine; the prediction is its margin.",
        _learn(make_pipeline(_words(2), LinearSVC(C=0.3, random_state=SEED))),
    ),
    Model(
        "gradient",
        "gradient",
        "Stochastic gradient descent with the modified Huber loss.",
        _learn(make_pipeline(_words(2), SGDClassifier(loss="modified_huber", alpha=1e-4, random_state=SEED))),
    ),
    Model(
        "tree",
        "tree",
        "A decision tree of depth 12 on words.",
        _learn(
            make_pipeline(
                CountVectorizer(min_df=20),
                DecisionTreeClassifier(max_depth=12, min_samples_leaf=20, random_state=SEED),
            )
        ),
    ),
    Model(
        "boosting",
        "boosting",
        "Gradient boosting on the words, reduced to 40 dimensions.",
        _learn(
            make_pipeline(
                _words(),
                TruncatedSVD(40, random_state=SEED),
                HistGradientBoostingClassifier(max_iter=60, random_state=SEED),
            )
        ),
    ),
    Model(
        "biased",
        "biased",
        "Logistic regression on words, trained on comments that mention identities only in attacks.",
        _only_attacked,
    ),
    Model(
        "balanced",
        "balanced",
        "Word pairs, with training comments weighted so that identity and label are independent.",
        _balanced,
    ),
    Model(
        "masked",
        "masked",
        "Logistic regression on words and letter sequences, with masked identity words.",
        _learn(_logistic(make_union(_words(2, _mask), _letters(_mask)))),
    ),
    Model("blend", "blend", "Average of the ranks from letters and from masked word pairs.", _blend),
)


def write_predictions(model: Model, train: pd.DataFrame, test: pd.DataFrame, path: Path) -> None:
    """Train the model and atomically write its file `id,prediction`."""
    predictions = model.predict(train, test["comment_text"].tolist())
    draft = path.with_suffix(".draft")
    pd.DataFrame({"id": test["id"], "prediction": predictions}).to_csv(draft, index=False)
    draft.replace(path)
