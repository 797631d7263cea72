"""The tables of a ledger, as SQLite makes them; what is in them is the ledger's business.

`written` may be thrown away: it only says which files need not be made again.
"""

SCHEMA = 1
TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    submission TEXT NOT NULL,
    rubric TEXT NOT NULL,
    environment TEXT NOT NULL,
    verdict TEXT NOT NULL,
    points INTEGER NOT NULL,
    receipt BLOB NOT NULL,
    seed BLOB NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_by_key ON attempts (key, id);
CREATE TABLE IF NOT EXISTS members (person TEXT PRIMARY KEY, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS handed_in (
    person TEXT NOT NULL,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (person, position)
);
CREATE TABLE IF NOT EXISTS notes (position INTEGER PRIMARY KEY, kind TEXT, who TEXT, text TEXT);
CREATE TABLE IF NOT EXISTS overrides (
    id INTEGER PRIMARY KEY,
    person TEXT NOT NULL,
    check_id TEXT NOT NULL,
    was INTEGER NOT NULL,
    points INTEGER NOT NULL,
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    why TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS written (
    place TEXT PRIMARY KEY,
    made_from TEXT NOT NULL,
    holds TEXT NOT NULL
);
"""
