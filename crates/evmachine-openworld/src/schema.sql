-- What never changes: dimensions of the vectors. What is kept up: the version that groups were made under, and the rule of enrolment.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Model versions, each a file models/HASH.safetensors; the parent is the one that it was made of by an update.
CREATE TABLE models (
    number INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    parent TEXT REFERENCES models (hash),
    made INTEGER NOT NULL
) STRICT;

-- 'live' and 'previous'.
CREATE TABLE names (name TEXT PRIMARY KEY, hash TEXT NOT NULL REFERENCES models (hash)) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
    number INTEGER PRIMARY KEY,
    exemplar INTEGER NOT NULL,
    radius REAL NOT NULL,
    -- Members that wait, and those of them that the version they were decided by does not know.
    waiting INTEGER NOT NULL,
    unknown INTEGER NOT NULL,
    -- When a person got it, and the nearest known classes as JSON, as they were then.
    handed INTEGER,
    neighbors TEXT,
    -- Where it stands among those that were handed out, and among those that were put off.
    place INTEGER,
    skipped INTEGER,
    -- Who has it before them, and until when, in seconds since 1970.
    holder TEXT,
    held_until INTEGER
) STRICT;
CREATE INDEX groups_to_hand_out ON groups (unknown DESC, waiting DESC, number) WHERE handed IS NULL AND waiting > 0;
CREATE INDEX groups_handed_out ON groups (handed, number) WHERE handed IS NOT NULL AND waiting > 0;

CREATE TABLE samples (
    number INTEGER PRIMARY KEY,
    client_id TEXT UNIQUE,
    added INTEGER NOT NULL,
    -- The decision, and the version that made it.
    class TEXT NOT NULL,
    ln_probability REAL NOT NULL,
    score REAL NOT NULL,
    known INTEGER NOT NULL,
    model TEXT NOT NULL REFERENCES models (hash),
    group_number INTEGER NOT NULL,
    distance REAL NOT NULL,
    -- What follows from the events.
    state TEXT NOT NULL DEFAULT 'waiting',
    label TEXT,
    -- How far the score lies above the threshold of that version; null where it was decided before this was kept.
    support REAL,
    -- Whether nobody but the system gave the label, as it follows from the events.
    proposed INTEGER NOT NULL DEFAULT 0,
    -- How it was captured, as far as that was said.
    quality REAL,
    occasion TEXT,
    time REAL
) STRICT;
CREATE INDEX samples_by_group ON samples (group_number, state);
CREATE INDEX samples_by_state ON samples (state);

CREATE TABLE contents (
    number INTEGER PRIMARY KEY REFERENCES samples (number),
    features BLOB NOT NULL,
    text TEXT,
    link TEXT,
    media_type TEXT,
    picture BLOB,
    picture_hash TEXT
) STRICT;

CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time INTEGER NOT NULL,
    person TEXT,
    label TEXT,
    -- The event that is undone.
    target INTEGER REFERENCES events (number),
    -- The version that became live, and what was live and previous before.
    model TEXT REFERENCES models (hash),
    live_before TEXT,
    previous_before TEXT
) STRICT;
CREATE TABLE event_samples (
    event INTEGER NOT NULL REFERENCES events (number),
    sample INTEGER NOT NULL REFERENCES samples (number),
    PRIMARY KEY (event, sample)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_samples_by_sample ON event_samples (sample, event);
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE (ABORT, 'events are appended, never changed'); END;
CREATE TRIGGER events_are_not_removed BEFORE DELETE ON events
    BEGIN SELECT RAISE (ABORT, 'events are appended, never removed'); END;

-- Events that are not in force, as it follows from the events of the kind 'undone'.
CREATE TABLE undone (event INTEGER PRIMARY KEY REFERENCES events (number)) STRICT;

-- How samples lay in groups before and after an event that changed it, as JSON.
CREATE TABLE arrangements (event INTEGER PRIMARY KEY REFERENCES events (number), content TEXT NOT NULL) STRICT;

-- What people wrote beside samples.
CREATE TABLE notes (
    number INTEGER PRIMARY KEY,
    sample INTEGER NOT NULL REFERENCES samples (number),
    time INTEGER NOT NULL,
    person TEXT,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_sample ON notes (sample);

-- Decisions of each minute, by its start in seconds since 1970.
CREATE TABLE minutes (time INTEGER PRIMARY KEY, decided INTEGER NOT NULL, unknown INTEGER NOT NULL) STRICT;
