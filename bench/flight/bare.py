"""A bare Flight server: keeps batches in memory, acknowledges each, and gives them back. What the protocol alone costs."""

import json

import pyarrow as pa
import pyarrow.flight as flight


class Bare(flight.FlightServerBase):
    def __init__(self) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self.kept: dict[bytes, pa.Table] = {}

    def do_put(self, context, descriptor, reader, writer):
        batches = []
        for chunk in reader:
            batches.append(chunk.data)
            writer.write(json.dumps({"rows": chunk.data.num_rows}).encode())
        self.kept[descriptor.path[0]] = pa.Table.from_batches(batches, reader.schema)

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.kept[ticket.ticket])


if __name__ == "__main__":
    server = Bare()
    print(server.port, flush=True)
    server.serve()
