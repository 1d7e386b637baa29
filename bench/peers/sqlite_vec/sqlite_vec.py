"""sqlite-vec: an exhaustive scan of float32 rows in SQLite pages. Its only effort is all of it."""

import apsw
import sqlite_vec

VERSION_OF = "sqlite-vec"
CONFIGS = {"flat_f32": {}}
METRIC = {"cosine": "cosine", "l2": "l2"}


def efforts(config):
    return [{}]


def connect(folder):
    connection = apsw.Connection(str(folder / "rows.db"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    return connection


def build(base, metric, folder):
    connection = connect(folder)
    connection.execute(
        f"create virtual table rows using vec0(vector float[{base.shape[1]}] distance_metric={METRIC[metric]})"
    )
    with connection:
        rows = ((number, row.tobytes()) for number, row in enumerate(base))
        connection.executemany("insert into rows(rowid, vector) values (?, ?)", rows)
    connection.close()


class Searcher:
    def __init__(self, folder, metric, dim):
        self.connection = connect(folder)

    def set(self):
        pass

    def search(self, vector, k):
        query = "select rowid from rows where vector match ? and k = ?"
        return [row for (row,) in self.connection.execute(query, (vector.tobytes(), k))]
