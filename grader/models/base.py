"""Base class of the models: column types and constraint names."""

import enum
from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Enum, MetaData, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from grader.db import UTCDateTime

STORED_JSON = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class Base(DeclarativeBase):
    """The base class of the models, with predictable constraint names for migrations."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        datetime: UTCDateTime(),
        enum.StrEnum: Enum(
            enum.StrEnum,
            native_enum=False,
            length=16,
            values_callable=lambda members: [member.value for member in members],
        ),
        dict[str, Any]: STORED_JSON,
        list[dict[str, Any]]: STORED_JSON,
        list[list[str]]: STORED_JSON,
        list[str]: STORED_JSON,
    }

    id: Mapped[int] = mapped_column(primary_key=True, sort_order=-1)
