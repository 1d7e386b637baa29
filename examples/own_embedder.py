"""Your own embedder, and the awaited API: a function makes the vectors, many searches run at once.

Needs nothing but the package: ``python examples/own_embedder.py``
"""

import asyncio
import zlib

import nuthatch


def letter_triples(texts: list[str]) -> list[list[float]]:
    """Texts that share triples of letters are near each other: forgiving of typing errors. A toy; put your model here."""
    vectors = []
    for text in texts:
        vector = [1e-3] * 256
        padded = f"  {text.lower()} "
        for at in range(len(padded) - 2):
            vector[zlib.crc32(padded[at : at + 3].encode()) % 256] += 1.0
        vectors.append(vector)
    return vectors


async def main() -> None:
    embedder = nuthatch.embedders.function(letter_triples, name="letter-triples", dim=256)
    async with nuthatch.connect_async(":memory:") as db:
        birds = await db.collection("birds", embedder=embedder)
        await birds.upsert(ids=["1", "2", "3"], texts=["Eurasian nuthatch", "Goldcrest", "Great spotted woodpecker"])
        typos = ["nutthach", "goldcerst", "spoted woodpeker"]
        answers = await asyncio.gather(*(birds.search(typo, mode="vector", limit=1) for typo in typos))
        for typo, answer in zip(typos, answers, strict=True):
            print(f"{typo} -> {answer[0].text}")


asyncio.run(main())
