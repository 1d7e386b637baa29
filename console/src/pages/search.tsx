/** The search playground: words, vectors and both side by side, and how each answer came about. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { type Schemas, data, useSession } from "../api";
import { path, pythonArguments } from "../command";
import { Condition } from "../parts/condition";
import { Button, Check, Choose, Field, Panel } from "../parts/controls";
import { Bar, count } from "../parts/figures";
import { LongText } from "../parts/long";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing, Problem } from "../parts/states";
import { type Route, hrefOf } from "../route";
import { useCollection, useCollections } from "./collections";
import { FieldsOf } from "./records";

type Mode = Schemas["ModeName"];

const NAMES: Record<Mode, string> = { text: "By words", vector: "By vectors", hybrid: "Both, fused" };

export function SearchPage({ route }: { route: Route }) {
  const collections = useCollections();
  return (
    <>
      <h1>Search</h1>
      <Answer of={collections}>
        {({ collections }) => {
          const [first] = collections;
          if (first === undefined) return <Nothing>There is no collection to search yet.</Nothing>;
          const chosen = route.params.get("collection") ?? first.name;
          return <Chosen key={chosen} name={chosen} names={collections.map((one) => one.name)} like={route.params.get("like") ?? ""} />;
        }}
      </Answer>
    </>
  );
}

function Chosen({ name, names, like }: { name: string; names: string[]; like: string }) {
  const collection = useCollection(name);
  return (
    <>
      <Choose
        label="Collection"
        value={name}
        choices={names.includes(name) ? names : [name, ...names]}
        onChange={(id) => (location.hash = hrefOf(["search"], { collection: id }))}
      />
      <Answer of={collection}>{(collection) => <Playground collection={collection} like={like} />}</Answer>
    </>
  );
}

interface Asked {
  searches: Schemas["Search"][];
  modes: Mode[];
  snapshot: string | undefined;
}

function Playground({ collection, like: firstLike }: { collection: Schemas["Collection"]; like: string }) {
  const { client } = useSession();
  const { name } = collection;
  const named = Object.keys(collection.vector_fields).sort();
  const hasVectors = collection.vectors > 0 || named.length > 0;
  const [text, setText] = useState("");
  const [like, setLike] = useState(firstLike);
  const [vector, setVector] = useState("");
  const [using, setUsing] = useState(collection.vectors > 0 ? "" : (named[0] ?? ""));
  const [where, setWhere] = useState("");
  const [limit, setLimit] = useState("10");
  const [fusion, setFusion] = useState<Schemas["FusionName"]>("rrf");
  const [fuzzy, setFuzzy] = useState(false);
  const [exact, setExact] = useState(false);
  const [snapshot, setSnapshot] = useState<Schemas["Snapshot"]>();
  const [wrong, setWrong] = useState<Error>();
  const [asked, setAsked] = useState<Asked>();
  const answers = useQuery({
    queryKey: ["search", name, asked],
    enabled: asked !== undefined,
    // An answer belongs to the moment of the question.
    staleTime: Infinity,
    queryFn: () =>
      data(
        client.POST("/v1/collections/{collection}/search-many", {
          params: {
            path: { collection: name },
            header: asked?.snapshot === undefined ? {} : { "x-nuthatch-snapshot": asked.snapshot },
          },
          body: { searches: asked?.searches ?? [] },
        }),
      ),
  });
  const queries = useQueryClient();
  const ask = () => {
    try {
      const one: Schemas["Search"] = {
        ...(text.trim() === "" ? {} : { text: text.trim() }),
        ...(like.trim() === "" ? {} : { like: like.trim() }),
        ...(vector.trim() === "" ? {} : { vector: JSON.parse(vector) as number[] }),
        ...(where.trim() === "" ? {} : { where: where.trim() }),
        ...(using === "" || (like.trim() === "" && vector.trim() === "") ? {} : { using }),
        ...(exact ? { exact } : {}),
        limit: Number(limit),
        explain: true,
      };
      const words: Schemas["Search"] = { ...one, ...(fuzzy ? { fuzzy } : {}) };
      const near = one.like !== undefined || one.vector !== undefined || typeof collection.embedder === "string";
      if (one.text === undefined && one.like === undefined && one.vector === undefined) {
        throw new Error("write some words, name a record to search like, or give a vector");
      }
      const modes: Mode[] = [
        ...(one.text === undefined ? [] : ["text" as const]),
        ...(hasVectors && near ? ["vector" as const] : []),
        ...(one.text !== undefined && hasVectors && near ? ["hybrid" as const] : []),
      ];
      const searches = modes.map((mode): Schemas["Search"] => {
        const { like: _like, vector: _vector, using: _using, exact: _exact, ...onlyWords } = words;
        const { text: words_, ...onlyNear } = one;
        if (mode === "text") return { ...onlyWords, mode };
        // Words that are given beside a vector are embedded only where nothing else says what to look near.
        if (mode === "vector") {
          return onlyNear.like === undefined && onlyNear.vector === undefined && words_ !== undefined
            ? { ...onlyNear, text: words_, mode }
            : { ...onlyNear, mode };
        }
        return { ...words, mode, fusion };
      });
      setWrong(undefined);
      setAsked({ searches, modes, snapshot: snapshot?.id });
      void queries.invalidateQueries({ queryKey: ["search", name] });
    } catch (failed) {
      setWrong(failed as Error);
    }
  };
  const shown = asked?.searches.at(-1);
  return (
    <>
      <form
        className="playground"
        onSubmit={(event) => {
          event.preventDefault();
          ask();
        }}
      >
        <Field label="Words" type="search" value={text} onChange={setText} autoFocus placeholder="what happens after a kill" />
        {hasVectors ? (
          <>
            <Field label="Like the record with this id" value={like} onChange={setLike} />
            <Field label="Near this vector (a JSON array)" value={vector} onChange={setVector} placeholder="[0.1, 0.2, …]" />
          </>
        ) : null}
        {named.length === 0 ? null : (
          <Choose
            label="Vectors of the field"
            value={using}
            choices={[{ id: "", name: "the unnamed one" }, ...named.map((id) => ({ id, name: id }))]}
            onChange={setUsing}
          />
        )}
        <Condition collection={collection} value={where} onChange={setWhere} />
        <div className="line">
          <Choose label="Hits" value={limit} choices={["5", "10", "20", "50"]} onChange={setLimit} />
          <Choose
            label="Fusion of both legs"
            value={fusion}
            choices={[
              { id: "rrf", name: "reciprocal rank" },
              { id: "weighted", name: "weighted scores" },
              { id: "normalised", name: "normalised scores" },
            ]}
            onChange={(id) => setFusion(id as Schemas["FusionName"])}
          />
          <AsOf snapshot={snapshot} onChange={setSnapshot} />
        </div>
        <div className="line flat">
          <Check isSelected={fuzzy} onChange={setFuzzy}>Forgive typos</Check>
          <Check isSelected={exact} onChange={setExact}>Compare every vector</Check>
          <Button kind="main" type="submit">Search</Button>
        </div>
      </form>
      {wrong === undefined ? null : <Problem error={wrong} />}
      {asked === undefined ? null : (
        <Answer of={answers}>
          {({ answers }) => (
            <div className="legs">
              <p className="unseen" role="status">
                {answers.map((answer, at) => `${NAMES[asked.modes[at] ?? "text"]}: ${count(answer.hits.length)} hits`).join("; ")}
              </p>
              {answers.map((answer, at) => {
                const mode = asked.modes[at];
                return mode === undefined ? null : <Leg key={mode} mode={mode} answer={answer} collection={name} />;
              })}
            </div>
          )}
        </Answer>
      )}
      {shown === undefined ? null : (
        <Recipe
          command={commandOf(name, shown)}
          request={{ method: "POST", path: `${path("collections", name)}/search`, body: shown, snapshot: asked?.snapshot }}
          python={pythonOf(name, shown)}
        />
      )}
    </>
  );
}

/** None where the command cannot say it: it takes no vector. */
function commandOf(collection: string, search: Schemas["Search"]): (string | undefined)[] | undefined {
  if (search.vector !== undefined) return undefined;
  return [
    "search",
    search.text ?? undefined,
    "--collection", collection,
    ...(typeof search.like === "string" ? ["--like", search.like] : []),
    ...(typeof search.using === "string" ? ["--using", search.using] : []),
    ...(typeof search.where === "string" ? ["--where", search.where] : []),
    ...(typeof search.mode === "string" ? ["--mode", search.mode] : []),
    ...(search.fusion !== undefined && search.fusion !== "rrf" ? ["--fusion", search.fusion] : []),
    ...(search.fuzzy === true ? ["--fuzzy"] : []),
    ...(search.exact === true ? ["--exact"] : []),
    "--limit", String(search.limit),
    "--explain",
  ];
}

function pythonOf(collection: string, search: Schemas["Search"]): string[] {
  const { text, ...named } = search;
  const call = pythonArguments(text === undefined ? [] : [text], named);
  return [
    `for hit in db.collection(${JSON.stringify(collection)}).search(${call}):`,
    "    print(hit.id, hit.score, hit.text, hit.legs)",
  ];
}

/** Now, or the moment of a snapshot, which ends with the page. */
function AsOf(props: { snapshot: Schemas["Snapshot"] | undefined; onChange: (snapshot: Schemas["Snapshot"] | undefined) => void }) {
  const { client } = useSession();
  const { snapshot, onChange } = props;
  const [error, setError] = useState<Error>();
  const [taken, setTaken] = useState<string>();
  useEffect(() => {
    if (snapshot === undefined) return;
    const { id } = snapshot;
    // Nobody waits for it: what is not ended here ends by its age.
    return () => void client.DELETE("/v1/snapshots/{snapshot}", { params: { path: { snapshot: id } } }).catch(() => undefined);
  }, [client, snapshot]);
  const take = async () => {
    try {
      onChange(await data(client.POST("/v1/snapshots")));
      setTaken(new Date().toLocaleTimeString());
      setError(undefined);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <div className="as-of">
      {snapshot === undefined ? (
        <Button onPress={() => void take()}>Hold this moment</Button>
      ) : (
        <Button onPress={() => onChange(undefined)}>As of {taken}; back to now</Button>
      )}
      {error === undefined ? null : <Problem error={error} />}
    </div>
  );
}

function Leg({ mode, answer, collection }: { mode: Mode; answer: Schemas["SearchAnswer"]; collection: string }) {
  return (
    <Panel title={NAMES[mode]}>
      {answer.degraded.map((why) => (
        <Problem key={why} error={new Error(why)} />
      ))}
      {answer.hits.length === 0 ? <Nothing>Nothing was found.</Nothing> : null}
      <ol className="hits">
        {answer.hits.map((hit, at) => (
          <li key={hit.id}>
            <div className="hit-head">
              <span className="rank">{at + 1}</span>
              <h3>{hit.id}</h3>
              <span className="score">{hit.score.toPrecision(4)}</span>
            </div>
            <p className="places">
              {hit.legs.text === null || hit.legs.text === undefined ? null : (
                <span className="place words">words #{hit.legs.text.rank} ({hit.legs.text.score.toPrecision(3)})</span>
              )}
              {hit.legs.vector === null || hit.legs.vector === undefined ? null : (
                <span className="place near">vectors #{hit.legs.vector.rank} ({hit.legs.vector.score.toPrecision(3)})</span>
              )}
            </p>
            {typeof hit.text === "string" ? <LongText text={hit.text} of={hit.id} /> : null}
            <FieldsOf payload={hit.payload} />
            <a href={hrefOf(["search"], { collection, like: hit.id })} aria-label={`Like this: ${hit.id}`}>Like this</a>
          </li>
        ))}
      </ol>
      <Explained explain={answer.explain as Explain | null | undefined} hits={answer.hits.length} />
    </Panel>
  );
}

/** What the server says of a search; see the engine's `Explain`. */
interface Explain {
  filter_matches: number | null;
  vector: {
    plan: string;
    segments: number;
    segment_rows: number;
    fresh_rows: number;
    records_read: number;
    candidates: number;
    reranked: number;
    ef: number;
    exact: boolean;
    embedded: boolean;
  } | null;
  text: { plan: string; index_rows: number; fresh_rows: number; candidates: number } | null;
  fusion: string | null;
  retries: number;
}

/** The way from all rows to the hits, as bars that grow shorter. */
function Explained({ explain, hits }: { explain: Explain | null | undefined; hits: number }) {
  if (explain === null || explain === undefined) return null;
  const { text, vector } = explain;
  const rows = Math.max(1, text === null ? 0 : text.index_rows + text.fresh_rows, vector === null ? 0 : vector.segment_rows + vector.fresh_rows);
  const step = (name: string, value: number, tone: number) => (
    <Bar name={name} value={value} of={rows} said={count(value)} tone={tone} />
  );
  return (
    <div className="explain" role="group" aria-label="How it was found">
      <h3>How it was found</h3>
      {explain.filter_matches === null ? null : step("Pass the filter", explain.filter_matches, 3)}
      {text === null ? null : (
        <>
          <h4>Words: {text.plan}</h4>
          {step("Texts", text.index_rows + text.fresh_rows, 1)}
          {step("Candidates", text.candidates, 1)}
        </>
      )}
      {vector === null ? null : (
        <>
          <h4>Vectors: {vector.plan}{vector.exact ? ", exact" : ""}{vector.embedded ? ", of the embedded words" : ""}</h4>
          {step("Vectors", vector.segment_rows + vector.fresh_rows, 2)}
          {vector.records_read > 0 ? step("Read in the graph", vector.records_read, 2) : null}
          {step("Not told apart by codes", vector.candidates, 2)}
          {step("Compared exactly", vector.reranked, 2)}
        </>
      )}
      {explain.fusion === null ? null : <h4>Fused: {explain.fusion}</h4>}
      {step("Hits", hits, 0)}
    </div>
  );
}
