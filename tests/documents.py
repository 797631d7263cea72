"""The documents that are made from models; `python -m tests.documents` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

from grader import described

DOCS = Path(__file__).resolve().parents[1] / "docs"


def documents() -> dict[Path, str]:
    """Return each made document's path and what it should hold."""
    made = {DOCS / "check-kinds.md": described.kinds_page().rstrip() + "\n"}
    for name in described.FILES:
        schema = json.dumps(described.file_schema(name), indent=1, ensure_ascii=False)
        made[DOCS / "schema" / f"{name}.json"] = schema + "\n"
    return made


if __name__ == "__main__":
    for path, text in documents().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(DOCS.parent)}")
