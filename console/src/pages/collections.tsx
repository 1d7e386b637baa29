/** Collections: what there is, their records, fields and settings. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, may, useSession } from "../api";
import { path } from "../command";
import { Button, Choose, DialogButton, Field, Panel, Tabs } from "../parts/controls";
import { Facts, count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Done, Nothing, Problem } from "../parts/states";
import { type Route, go, hrefOf } from "../route";
import { MapOfVectors } from "./map";
import { Records } from "./records";

export function CollectionsPage({ route }: { route: Route }) {
  const [name] = route.parts;
  return name === undefined ? <List /> : <One key={name} name={name} route={route} />;
}

export function useCollections() {
  const { client } = useSession();
  return useQuery({ queryKey: ["collections"], queryFn: () => data(client.GET("/v1/collections")) });
}

export function useCollection(name: string) {
  const { client } = useSession();
  return useQuery({
    queryKey: ["collection", name],
    queryFn: () => data(client.GET("/v1/collections/{collection}", { params: { path: { collection: name } } })),
  });
}

function List() {
  const session = useSession();
  const collections = useCollections();
  return (
    <>
      <h1>Collections</h1>
      <Answer of={collections}>
        {({ collections }) => (
          <Panel title="All collections" actions={may(session, "write") ? <NewCollection /> : null}>
            {collections.length === 0 ? <Nothing>There is no collection yet.</Nothing> : <Table collections={collections} />}
          </Panel>
        )}
      </Answer>
      <Recipe
        command={["ls", "--collections"]}
        request={{ method: "GET", path: path("collections") }}
        python={["print(db.collections())"]}
      />
    </>
  );
}

function Table({ collections }: { collections: Schemas["Collection"][] }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Table of collections">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="number">Records</th>
            <th scope="col" className="number">Vectors</th>
            <th scope="col" className="number">Dimension</th>
            <th scope="col">Metric</th>
            <th scope="col">Embedder</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {collections.map((one) => (
            <tr key={one.name}>
              <th scope="row">
                <a href={hrefOf(["collections", one.name])}>{one.name}</a>
              </th>
              <td className="number">{count(one.rows)}</td>
              <td className="number">{count(one.vectors)}</td>
              <td className="number">{one.dim ?? "–"}</td>
              <td>{one.metric}</td>
              <td>{one.embedder ?? "none"}</td>
              <td>{stateOf(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function stateOf(one: Schemas["Collection"]): string {
  if (one.degraded.length > 0) return "an index is out of use";
  if (one.building !== null && one.building !== undefined) return "building a vector graph";
  if (one.pending > 0) return `${count(one.pending)} vectors to come`;
  return "ready";
}

function NewCollection() {
  const session = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [embedder, setEmbedder] = useState("none");
  const [metric, setMetric] = useState("cosine");
  const [dim, setDim] = useState("");
  const [error, setError] = useState<Error>();
  const body = {
    embedder: embedder as "none" | "builtin" | "static",
    ...(embedder === "none" && dim.trim() !== "" ? { dim: Number(dim) } : {}),
    metric: metric as "cosine" | "dot" | "l2",
  };
  const make = async (close: () => void) => {
    try {
      await session.client.PUT("/v1/collections/{collection}", { params: { path: { collection: name } }, body });
      await queries.invalidateQueries({ queryKey: ["collections"] });
      close();
      go(["collections", name]);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <DialogButton label="New collection…" title="New collection">
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void make(close);
          }}
        >
          <Field label="Name" value={name} onChange={setName} isRequired autoFocus />
          <Choose
            label="Embedder"
            value={embedder}
            choices={[
              { id: "none", name: "none: words alone, or vectors of your own" },
              { id: "builtin", name: "built-in model" },
              { id: "static", name: "static model" },
            ]}
            onChange={setEmbedder}
          />
          {embedder === "none" ? (
            <Field label="Dimension of your vectors (may be left out)" type="number" value={dim} onChange={setDim} />
          ) : null}
          <Choose label="Metric" value={metric} choices={["cosine", "dot", "l2"]} onChange={setMetric} />
          {error === undefined ? null : <Problem error={error} />}
          <Recipe request={{ method: "PUT", path: path("collections", name === "" ? "NAME" : name), body }} />
          <div className="actions">
            <Button kind="main" type="submit">Create</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}

function One({ name, route }: { name: string; route: Route }) {
  const collection = useCollection(name);
  return (
    <>
      <h1>{name}</h1>
      <Answer of={collection}>
        {(collection) => (
          <>
            {collection.degraded.map((why) => (
              <Problem key={why} error={new Error(why)} />
            ))}
            <Tabs
              label="Parts of the collection"
              chosen={route.params.get("tab") ?? "records"}
              onChange={(tab) => go(["collections", name], { tab })}
              tabs={[
                { id: "records", name: "Records", body: () => <Records collection={collection} where={route.params.get("where") ?? ""} /> },
                { id: "schema", name: "Schema", body: () => <Schema collection={collection} /> },
                { id: "map", name: "Map of vectors", body: () => <MapOfVectors collection={collection} /> },
              ]}
            />
          </>
        )}
      </Answer>
    </>
  );
}

function Schema({ collection }: { collection: Schemas["Collection"] }) {
  const session = useSession();
  const fields = Object.entries(collection.fields).sort(([one], [other]) => (one < other ? -1 : 1));
  const named = Object.entries(collection.vector_fields);
  return (
    <>
      <Panel title="Settings and size" actions={<a href={hrefOf(["search"], { collection: collection.name })}>Search it</a>}>
        <Facts
          of={[
            ["Records", collection.rows],
            ["Vectors", collection.vectors],
            ["Dimension", collection.dim ?? undefined],
            ["Elements", collection.elements],
            ["Metric", collection.metric],
            ["Embedder", collection.embedder ?? "none"],
            ["Language of words", collection.language],
            ["Segments", collection.segments],
            ["Vector graphs", collection.vector_graphs],
            ["Rows that no index holds yet", collection.fresh_rows],
            ["Vectors to come", collection.pending],
          ]}
        />
      </Panel>
      <Panel title="Fields">
        {fields.length === 0 ? <Nothing>No record has a field.</Nothing> : (
          <table>
            <thead>
              <tr><th scope="col">Field</th><th scope="col">Types of its values</th></tr>
            </thead>
            <tbody>
              {fields.map(([field, types]) => (
                <tr key={field}><th scope="row">{field}</th><td>{types.join(", ")}</td></tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      {named.length === 0 ? null : (
        <Panel title="Vector fields">
          <table>
            <thead>
              <tr><th scope="col">Field</th><th scope="col" className="number">Dimension</th><th scope="col">Metric</th><th scope="col">Elements</th><th scope="col" className="number">Vectors</th></tr>
            </thead>
            <tbody>
              {named.map(([field, one]) => (
                <tr key={field}>
                  <th scope="row">{field}</th>
                  <td className="number">{one.dim}</td>
                  <td>{one.metric}</td>
                  <td>{one.elements}</td>
                  <td className="number">{count(one.vectors)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      <Recipe
        command={["stats"]}
        request={{ method: "GET", path: path("collections", collection.name) }}
        python={[`print(db.collection(${JSON.stringify(collection.name)}).info())`]}
      />
      {may(session, "write") ? <Care collection={collection} /> : null}
    </>
  );
}

/** Merging, and dropping the whole. */
function Care({ collection }: { collection: Schemas["Collection"] }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const [outcome, setOutcome] = useState<string | Error>();
  const { name } = collection;
  const optimize = async () => {
    try {
      const params = { path: { collection: name } };
      const { done } = await data(client.POST("/v1/collections/{collection}/optimize", { params, body: { wait_ms: 2_000 } }));
      setOutcome(done ? "The segments are merged." : "Merging goes on; the page on memory and work shows its progress.");
    } catch (failed) {
      setOutcome(failed as Error);
    }
  };
  const drop = async (close: () => void) => {
    try {
      await client.DELETE("/v1/collections/{collection}", { params: { path: { collection: name } } });
      close();
      await queries.invalidateQueries({ queryKey: ["collections"] });
      go(["collections"]);
    } catch (failed) {
      setOutcome(failed as Error);
      close();
    }
  };
  return (
    <Panel title="Care">
      <div className="actions">
        <Button onPress={() => void optimize()}>Merge segments</Button>
        <DialogButton label="Drop the collection…" title={`Drop ${name}?`} kind="danger">
          {(close) => (
            <>
              <p>All {count(collection.rows)} records go, and nothing brings them back but a backup.</p>
              <Field label="Type the name of the collection" value={typed} onChange={setTyped} autoFocus />
              <Recipe
                command={["rm", "--collection", name, "--all", "--yes"]}
                request={{ method: "DELETE", path: path("collections", name) }}
              />
              <div className="actions">
                <Button kind="danger" isDisabled={typed !== name} onPress={() => void drop(close)}>Drop it</Button>
                <Button onPress={close}>Cancel</Button>
              </div>
            </>
          )}
        </DialogButton>
      </div>
      {outcome instanceof Error ? <Problem error={outcome} /> : outcome === undefined ? null : <Done>{outcome}</Done>}
      <Recipe
        command={["optimize", "--collection", name]}
        request={{ method: "POST", path: `${path("collections", name)}/optimize`, body: { wait_ms: 2_000 } }}
      />
    </Panel>
  );
}
