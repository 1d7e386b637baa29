"""The static model, to the last byte: where it comes from, and what the folder must hold."""

NAME = "wordllama-256"
DIM = 256
ROWS = 32_000
MAX_TOKENS = 1024
EMPTY_TOKEN = 0  # <unk>

# One wheel for every platform: only its data is used, which is the same in all of them.
REQUIREMENT = "wordllama==0.3.9"
HASHES = ["d3b3959e0f2852d517ddf9463274d807d1b93f1d976a63f02b2d9efa4a4654bf"]
PIP_OPTIONS = [
    "--platform",
    "manylinux2014_x86_64",
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--abi",
    "cp311",
]
TABLE_MEMBER = "wordllama/weights/l2_supercat_256.safetensors"
TENSOR = "embedding.weight"
TOKENIZER_MEMBER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"

RESULT_SHA256 = {
    "table": "21ac5fc44ec359347ac30b81c799a32ff33e379ae732dedfe2f8f37b29a50061",
    "tokenizer": "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
