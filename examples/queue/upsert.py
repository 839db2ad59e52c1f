"""Results in a PostgreSQL table of your own: one UPSERT, in one transaction, which an older worker cannot undo.

    CREATE TABLE labels (image text PRIMARY KEY, label text NOT NULL, generation integer NOT NULL, token integer NOT NULL);

Needs a driver (pip install psycopg) and HOLDFAST_QUEUE_URL.
"""

import os

import holdfast
import psycopg

UPSERT = """
    INSERT INTO labels (image, label, generation, token) VALUES (%s, %s, %s, %s)
    ON CONFLICT (image) DO UPDATE SET label = excluded.label, generation = excluded.generation, token = excluded.token
    WHERE (labels.generation, labels.token) < (excluded.generation, excluded.token)
"""


def classify(value: dict) -> str:
    return "cat" if len(value["path"]) % 2 else "dog"  # your model


with psycopg.connect(os.environ["DATABASE_URL"]) as database:
    for item in holdfast.work("images"):
        label = classify(item.value)
        with database.transaction():
            database.execute(UPSERT, (item.key, label, item.generation, item.token))
        # After the commit: a worker that dies in between leaves a row that the next one replaces
        # with its newer token.
        item.done(label)
