"""Writes the model's graph: BERT from safetensors to ONNX, in int8. Run as a program, with numpy and onnx on its path.

    python graph.py model.safetensors model.onnx weights.bin

    input_ids [1, tokens] i64  ->  embedding [1, 384] f32, the mean of the token vectors, not normalised

Only standard operators (opset 20), one text at a time, so without masks. Weights are int8 per output channel with a
range of +-64, not +-127: a pair of products then fits 16 bits, so that processors without VNNI (AVX2) compute the same
sums instead of saturating. Activations are quantised at run time. The graph's pattern (MatMulInteger, Cast, Mul, Add)
is the one that ONNX Runtime fuses into its int8 kernels. Large constants go into a file of their own next to the graph:
the runtime maps it, so that of the vocabulary's 11 MiB only the rows in use are in memory.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, helper, numpy_helper

HIDDEN = 384
HEADS = 12
LAYERS = 6
TOKENS_MAX = 256
LAYER_NORM_EPSILON = 1e-12
WEIGHT_MAX = 64
OPSET = 20
IR_VERSION = 9
CONSTANT_BYTES_INSIDE = 4096  # larger ones go into the file of weights


def read_safetensors(path: Path) -> dict[str, Any]:
    """Header length (u64), JSON header, then the tensors, little-endian."""
    data = path.read_bytes()
    (header_bytes,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + header_bytes])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(entry["shape"])
    return tensors


def quantise(weights: Any, axis: int, largest: int) -> tuple[Any, Any]:
    """Symmetric int8 with one scale for each slice along ``axis``."""
    scale = (np.abs(weights).max(axis=axis, keepdims=True) / np.float32(largest)).astype(np.float32)
    scale[scale == 0] = 1
    return np.clip(np.rint(weights / scale), -largest, largest).astype(np.int8), scale


class Graph:
    """Nodes and constants; every value is named after the node that makes it."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(
        self, operator: str, inputs: list[str], name: str, outputs: list[str] | None = None, **attributes: Any
    ) -> str:
        self.nodes.append(helper.make_node(operator, inputs, outputs or [name], name=name, **attributes))
        return name

    def layer_norm(self, x: str, key: str, name: str) -> str:
        gamma = self.constant(f"{name}.gamma", self.weights[f"{key}.weight"])
        beta = self.constant(f"{name}.beta", self.weights[f"{key}.bias"])
        return self.node("LayerNormalization", [x, gamma, beta], name, axis=-1, epsilon=LAYER_NORM_EPSILON)

    def quantised(self, x: str) -> str:
        return self.node("DynamicQuantizeLinear", [x], f"{x}.u8", [f"{x}.u8", f"{x}.scale", f"{x}.zero"])

    def linear(self, x: str, key: str, name: str) -> str:
        """A dense layer on ``x``, which :meth:`quantised` has seen."""
        values, scale = quantise(self.weights[f"{key}.weight"].T, axis=0, largest=WEIGHT_MAX)
        product = self.node(
            "MatMulInteger", [f"{x}.u8", self.constant(f"{name}.weight", values), f"{x}.zero"], f"{name}.i32"
        )
        product = self.node("Cast", [product], f"{name}.cast", to=TensorProto.FLOAT)
        scales = self.node("Mul", [f"{x}.scale", self.constant(f"{name}.scale", scale[0])], f"{name}.scales")
        product = self.node("Mul", [product, scales], f"{name}.product")
        return self.node("Add", [product, self.constant(f"{name}.bias", self.weights[f"{key}.bias"])], name)

    def embeddings(self) -> str:
        words, scale = quantise(self.weights["embeddings.word_embeddings.weight"], axis=1, largest=127)
        rows = self.node("Gather", [self.constant("words", words), "input_ids"], "words.row")
        rows = self.node("Cast", [rows], "words.cast", to=TensorProto.FLOAT)
        scales = self.node("Gather", [self.constant("words.scale", scale), "input_ids"], "words.row_scale")
        rows = self.node("Mul", [rows, scales], "words.value")
        # There is one segment, so its vector joins the positions'.
        places = self.weights["embeddings.position_embeddings.weight"][:TOKENS_MAX]
        places = self.constant("positions", places + self.weights["embeddings.token_type_embeddings.weight"][0])
        tokens = self.node("Shape", ["input_ids"], "tokens", start=1, end=2)
        zero = self.constant("zero", np.array([0], np.int64))
        places = self.node("Slice", [places, zero, tokens, zero], "positions.used")
        return self.layer_norm(self.node("Add", [rows, places], "embedded"), "embeddings.LayerNorm", "embedded.norm")

    def attention(self, x: str, key: str, name: str) -> str:
        self.quantised(x)
        heads = {}
        for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            y = self.linear(x, f"{key}.attention.self.{part}", f"{name}.{part}")
            y = self.node("Reshape", [y, "heads"], f"{y}.heads")
            heads[part] = self.node("Transpose", [y], f"{y}.turned", perm=order)
        scores = self.node("MatMul", [heads["query"], heads["key"]], f"{name}.scores")
        scores = self.node("Mul", [scores, "head_scale"], f"{name}.scaled")
        shares = self.node("Softmax", [scores], f"{name}.shares", axis=-1)
        mixed = self.node("MatMul", [shares, heads["value"]], f"{name}.mixed")
        mixed = self.node("Transpose", [mixed], f"{name}.turned", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, "flat"], f"{name}.flat")
        self.quantised(mixed)
        return self.linear(mixed, f"{key}.attention.output.dense", f"{name}.attended")

    def layer(self, x: str, number: int) -> str:
        key, name = f"encoder.layer.{number}", f"layer{number}"
        y = self.node("Add", [self.attention(x, key, name), x], f"{name}.first")
        x = self.layer_norm(y, f"{key}.attention.output.LayerNorm", f"{name}.first.norm")
        self.quantised(x)
        y = self.node("Gelu", [self.linear(x, f"{key}.intermediate.dense", f"{name}.wide")], f"{name}.gelu")
        self.quantised(y)
        y = self.linear(y, f"{key}.output.dense", f"{name}.narrow")
        y = self.node("Add", [y, x], f"{name}.second")
        return self.layer_norm(y, f"{key}.output.LayerNorm", f"{name}.second.norm")

    def model(self) -> Any:
        head = HIDDEN // HEADS
        self.constant("heads", np.array([0, 0, HEADS, head], np.int64))
        self.constant("flat", np.array([0, 0, HIDDEN], np.int64))
        self.constant("head_scale", np.array(1 / np.sqrt(np.float32(head)), np.float32))
        x = self.embeddings()
        for number in range(LAYERS):
            x = self.layer(x, number)
        axis = self.constant("token_axis", np.array([1], np.int64))
        self.node("ReduceMean", [x, axis], "embedding", keepdims=0)
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])]
        outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, HIDDEN])]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs, self.constants)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="nuthatch"
        )


def main(source: str, target: str, weights: str) -> None:
    model = Graph(read_safetensors(Path(source))).model()
    onnx.checker.check_model(model)
    folder, location = Path(target).parent, Path(weights).name
    external_data_helper.convert_model_to_external_data(model, location=location, size_threshold=CONSTANT_BYTES_INSIDE)
    model = external_data_helper.write_external_data_tensors(model, str(folder))
    Path(target).write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
