"""Keys for these tests: made once, of this test session alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey

from tests.trust.signed import pair


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[CryptoSigner, SSlibKey]:
    return pair(_folder(tmp_path_factory, "ours"))


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> tuple[CryptoSigner, SSlibKey]:
    return pair(_folder(tmp_path_factory, "theirs"))


def _folder(factory: pytest.TempPathFactory, name: str) -> Path:
    return factory.mktemp(name)
