"""Records with your own vectors: write, search by words and by vector at once, filter, read the scores of each leg.

Needs nothing but the package: ``python examples/first_search.py``
"""

import nuthatch

RECIPES = [
    # The vectors say: how sweet, how warm.
    {"id": "soup", "text": "Pumpkin soup with ginger", "vector": [0.2, 0.9], "payload": {"minutes": 40, "vegan": True}},
    {"id": "sorbet", "text": "Lemon sorbet", "vector": [0.9, 0.0], "payload": {"minutes": 240, "vegan": True}},
    {"id": "pudding", "text": "Warm ginger pudding", "vector": [0.9, 0.8], "payload": {"minutes": 60, "vegan": False}},
    {
        "id": "salad",
        "text": "Cold noodle salad with ginger",
        "vector": [0.3, 0.1],
        "payload": {"minutes": 20, "vegan": True},
    },
]

with nuthatch.connect(":memory:") as db:
    recipes = db.collection("recipes", dim=2, metric="cosine", embedder="none")
    recipes.upsert(RECIPES)

    sweet_and_warm = [1.0, 1.0]
    for hit in recipes.search("ginger", vector=sweet_and_warm, where="minutes <= 60", limit=3):
        text, vector = hit.legs.text, hit.legs.vector
        print(
            f"{hit.score:.4f}  {hit.id:8} words #{text.rank if text else '-'}  taste #{vector.rank if vector else '-'}"
        )

    print("vegan:", [record.id for record in recipes.scan(where="vegan = true")])
