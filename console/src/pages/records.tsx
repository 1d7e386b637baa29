/** The records of a collection: page by page, filtered, counted by value, changed. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";

import { type Schemas, data, may, useSession } from "../api";
import { path, pythonArguments } from "../command";
import { Condition, literal, written } from "../parts/condition";
import { Button, Check, DialogButton, Field, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { LongText } from "../parts/long";
import { Recipe } from "../parts/recipe";
import { Answer, Done, Nothing, Problem } from "../parts/states";
import { hrefOf } from "../route";

const PAGE = 25;

export function Records({ collection, where: asked }: { collection: Schemas["Collection"]; where: string }) {
  const session = useSession();
  const { client } = session;
  const { name } = collection;
  const [typed, setTyped] = useState(asked);
  const [where, setWhere] = useState(asked);
  /** The cursors of the pages before this one, and its own. */
  const [cursors, setCursors] = useState<string[]>([]);
  const [outcome, setOutcome] = useState<string>();
  const cursor = cursors.at(-1);
  const params = { path: { collection: name } };
  const page = useQuery({
    queryKey: ["records", name, where, cursor],
    queryFn: () =>
      data(
        client.GET("/v1/collections/{collection}/records", {
          params: { ...params, query: { limit: PAGE, ...(where === "" ? {} : { where }), ...(cursor === undefined ? {} : { cursor }) } },
        }),
      ),
  });
  const total = useQuery({
    queryKey: ["count", name, where],
    queryFn: () => data(client.POST("/v1/collections/{collection}/count", { params, body: where === "" ? {} : { where } })),
  });
  const apply = (condition: string) => {
    setTyped(condition);
    setWhere(condition.trim());
    setCursors([]);
    history.replaceState(null, "", hrefOf(["collections", name], { where: condition.trim() }));
  };
  const narrow = (field: string, value: unknown) => {
    const test = `${written(field)} = ${literal(value)}`;
    apply(where === "" ? test : `(${where}) and ${test}`);
  };
  return (
    <div className="columns">
      <div>
        <form
          className="line"
          onSubmit={(event) => {
            event.preventDefault();
            apply(typed);
          }}
        >
          <Condition collection={collection} value={typed} onChange={setTyped} />
          <Button kind="main" type="submit">Apply</Button>
          {where === "" ? null : <Button onPress={() => apply("")}>Clear</Button>}
        </form>
        <Panel
          title="Records"
          actions={
            <>
              <span role="status">{total.data === undefined ? "" : `${count(total.data.count)} of ${count(collection.rows)}`}</span>
              {may(session, "write") ? <AddRecord collection={collection} said={setOutcome} /> : null}
            </>
          }
        >
          {outcome === undefined ? null : <Done>{outcome}</Done>}
          <Answer of={page}>
            {({ records, cursor: next }) => (
              <>
                {records.length === 0 ? <Nothing>No record passes.</Nothing> : null}
                <ol className="records">
                  {records.map((record) => (
                    <RecordItem key={record.id} collection={collection} record={record} said={setOutcome} />
                  ))}
                </ol>
                <div className="actions">
                  <Button isDisabled={cursors.length === 0} onPress={() => setCursors(cursors.slice(0, -1))}>Previous page</Button>
                  <span>Page {cursors.length + 1}</span>
                  <Button
                    isDisabled={next === null || next === undefined}
                    onPress={() => {
                      if (next !== null && next !== undefined) setCursors([...cursors, next]);
                    }}
                  >
                    Next page
                  </Button>
                </div>
              </>
            )}
          </Answer>
        </Panel>
        <Recipe
          command={["count", "--collection", name, ...(where === "" ? [] : [where])]}
          request={{ method: "GET", path: `${path("collections", name)}/records`, query: { limit: PAGE, where, cursor } }}
          python={[
            `for record in db.collection(${JSON.stringify(name)}).scan(${pythonArguments([], { where: where === "" ? undefined : where })}):`,
            "    print(record)",
          ]}
        />
      </div>
      <Facets collection={collection} where={where} narrow={narrow} />
    </div>
  );
}

function Facets(props: {
  collection: Schemas["Collection"];
  where: string;
  narrow: (field: string, value: unknown) => void;
}) {
  const { client } = useSession();
  const { collection, where } = props;
  const fields = Object.keys(collection.fields).sort();
  const [chosen, setChosen] = useState<string[]>([]);
  const asked = useDeferredValue(chosen);
  const body = { fields: asked, limit: 10, ...(where === "" ? {} : { where }) };
  const facets = useQuery({
    queryKey: ["facets", collection.name, asked, where],
    enabled: asked.length > 0,
    queryFn: () =>
      data(client.POST("/v1/collections/{collection}/facets", { params: { path: { collection: collection.name } }, body })),
  });
  return (
    <aside aria-label="Counts by value">
      <Panel title="Count by value">
        {fields.length === 0 ? <Nothing>The records have no fields.</Nothing> : null}
        <div className="checks">
          {fields.map((field) => (
            <Check
              key={field}
              isSelected={chosen.includes(field)}
              onChange={(is) => setChosen(is ? [...chosen, field] : chosen.filter((one) => one !== field))}
            >
              {field}
            </Check>
          ))}
        </div>
        {chosen.length === 0 ? null : (
          <Answer of={facets}>
            {({ facets }) => (
              <>
                {facets.map((facet) => (
                  <FacetOf key={facet.field} facet={facet} narrow={props.narrow} />
                ))}
                <Recipe
                  command={["facets", ...asked, "--collection", collection.name, ...(where === "" ? [] : ["--where", where])]}
                  request={{ method: "POST", path: `${path("collections", collection.name)}/facets`, body }}
                  python={[
                    `print(db.collection(${JSON.stringify(collection.name)}).facets(${pythonArguments([asked], { where: where === "" ? undefined : where })}))`,
                  ]}
                />
              </>
            )}
          </Answer>
        )}
      </Panel>
    </aside>
  );
}

function FacetOf({ facet, narrow }: { facet: Schemas["Facet"]; narrow: (field: string, value: unknown) => void }) {
  const most = Math.max(1, ...facet.values.map((one) => one.count));
  return (
    <div className="facet">
      <h3>{facet.field}</h3>
      <ul>
        {facet.values.map((one) => (
          <li key={JSON.stringify(one.value)}>
            <Button
              kind="quiet"
              onPress={() => narrow(facet.field, one.value)}
            >
              <span className="facet-value">
                <span className="unseen">Only {facet.field} = </span>
                {String(one.value)}
              </span>
              <svg className="bar tone-0" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect className="bar-front" width={(one.count / most) * 100} height="10" />
              </svg>
              <span>
                {count(one.count)}
                <span className="unseen"> records</span>
              </span>
            </Button>
          </li>
        ))}
      </ul>
      <p className="help">
        {count(facet.distinct)} values; {count(facet.missing)} records without one
      </p>
    </div>
  );
}

function useChanged(collection: string) {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      ["records", "count", "facets", "collection"].map((kind) => queries.invalidateQueries({ queryKey: [kind, collection] })),
    );
}

function RecordItem(props: {
  collection: Schemas["Collection"];
  record: Schemas["StoredRecord"];
  said: (outcome: string) => void;
}) {
  const { collection, record } = props;
  const session = useSession();
  return (
    <li className="record">
      <div className="record-head">
        <h3>{record.id}</h3>
        <div className="actions">
          {collection.vectors > 0 ? (
            <a href={hrefOf(["search"], { collection: collection.name, like: record.id })} aria-label={`Like this: ${record.id}`}>
              Like this
            </a>
          ) : null}
          {may(session, "write") ? (
            <>
              <EditFields {...props} />
              <DeleteRecord {...props} />
            </>
          ) : null}
        </div>
      </div>
      {record.text === null || record.text === undefined ? null : <LongText text={record.text} of={record.id} />}
      <FieldsOf payload={record.payload} />
    </li>
  );
}

export function FieldsOf({ payload }: { payload: unknown }) {
  const fields = Object.entries((payload ?? {}) as Record<string, unknown>);
  if (fields.length === 0) return null;
  return (
    <dl className="payload">
      {fields.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function EditFields({ collection, record, said }: Parameters<typeof RecordItem>[0]) {
  const { client } = useSession();
  const changed = useChanged(collection.name);
  const before = record.payload as Record<string, unknown>;
  const [text, setText] = useState(() => JSON.stringify(before, null, 2));
  const [error, setError] = useState<Error>();
  const change = changeBetween(before, text, record.datetimes ?? []);
  const body = change instanceof Error ? undefined : { changes: [{ ids: [record.id], change }] };
  const save = async (close: () => void) => {
    if (body === undefined) return;
    try {
      const params = { path: { collection: collection.name } };
      await client.PATCH("/v1/collections/{collection}/records", { params, body });
      close();
      await changed();
      said(`The fields of ${record.id} are changed.`);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  const metas = change instanceof Error ? [] : Object.entries(change.set).flatMap(([name, value]) => ["--meta", `${name}=${JSON.stringify(value)}`]);
  const unsets = change instanceof Error ? [] : change.unset.flatMap((name) => ["--unset", name]);
  return (
    <DialogButton label="Edit fields…" title={`Fields of ${record.id}`} isWide>
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void save(close);
          }}
        >
          <Field label="Fields, as a JSON object" value={text} onChange={setText} lines={12} help="The text and the vectors stay as they are." />
          {change instanceof Error ? <Problem error={change} /> : null}
          {error === undefined ? null : <Problem error={error} />}
          {body === undefined ? null : (
            <Recipe
              command={["tag", record.id, "--collection", collection.name, ...metas, ...unsets]}
              request={{ method: "PATCH", path: `${path("collections", collection.name)}/records`, body }}
            />
          )}
          <div className="actions">
            <Button kind="main" type="submit" isDisabled={body === undefined}>Save</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}

/** What has to change so that the fields become those of the text: others are left alone, whatever their kinds. */
export function changeBetween(before: Record<string, unknown>, text: string, datetimes: string[]) {
  let after: unknown;
  try {
    after = JSON.parse(text);
  } catch (error) {
    return new Error(`this is not JSON: ${(error as Error).message}`);
  }
  if (typeof after !== "object" || after === null || Array.isArray(after)) return new Error("write a JSON object");
  const fields = after as Record<string, unknown>;
  const isNew = ([name, value]: [string, unknown]) => JSON.stringify(before[name]) !== JSON.stringify(value);
  const set = Object.fromEntries(Object.entries(fields).filter(isNew));
  const unset = Object.keys(before).filter((name) => !(name in fields));
  // A datetime is a text that the list names; a field that is set anew keeps its kind.
  const times = datetimes.filter((at) => typeof set[at.split(".", 1)[0] ?? at] === "string");
  return { set, unset, datetimes: times };
}

function DeleteRecord({ collection, record, said }: Parameters<typeof RecordItem>[0]) {
  const { client } = useSession();
  const changed = useChanged(collection.name);
  const [error, setError] = useState<Error>();
  const remove = async (close: () => void) => {
    try {
      const params = { path: { collection: collection.name, id: record.id } };
      await client.DELETE("/v1/collections/{collection}/records/{id}", { params });
      close();
      await changed();
      said(`The record ${record.id} is deleted.`);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <DialogButton label="Delete…" title={`Delete ${record.id}?`} kind="danger">
      {(close) => (
        <>
          <p>No search finds the record again. Its bytes stay on the disk until they are reclaimed.</p>
          {error === undefined ? null : <Problem error={error} />}
          <Recipe
            command={["rm", record.id, "--collection", collection.name]}
            request={{ method: "DELETE", path: path("collections", collection.name, "records", record.id) }}
            python={[`db.collection(${JSON.stringify(collection.name)}).delete([${JSON.stringify(record.id)}])`]}
          />
          <div className="actions">
            <Button kind="danger" onPress={() => void remove(close)}>Delete</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </>
      )}
    </DialogButton>
  );
}

function AddRecord({ collection, said }: { collection: Schemas["Collection"]; said: (outcome: string) => void }) {
  const { client } = useSession();
  const changed = useChanged(collection.name);
  const [id, setId] = useState("");
  const [text, setText] = useState("");
  const [fields, setFields] = useState("{}");
  const [vector, setVector] = useState("");
  const [error, setError] = useState<Error>();
  const read = (): Schemas["Record"] | Error => {
    try {
      return {
        id,
        ...(text === "" ? {} : { text }),
        payload: JSON.parse(fields) as Record<string, never>,
        ...(vector.trim() === "" ? {} : { vector: JSON.parse(vector) as number[] }),
      };
    } catch (failed) {
      return new Error(`this is not JSON: ${(failed as Error).message}`);
    }
  };
  const record = read();
  const save = async (close: () => void) => {
    if (record instanceof Error) return;
    try {
      const params = { path: { collection: collection.name } };
      const { replaced } = await data(client.POST("/v1/collections/{collection}/records", { params, body: { records: [record] } }));
      close();
      await changed();
      said(replaced > 0 ? `The record ${id} is replaced.` : `The record ${id} is added.`);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  const takesVector = collection.embedder === null || collection.embedder === undefined;
  return (
    <DialogButton label="Add a record…" title="Add or replace a record" isWide>
      {(close) => (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void save(close);
          }}
        >
          <Field label="Id" value={id} onChange={setId} isRequired autoFocus help="A record with this id is replaced." />
          <Field label="Text" value={text} onChange={setText} lines={4} />
          <Field label="Fields, as a JSON object" value={fields} onChange={setFields} lines={4} />
          {takesVector ? (
            <Field
              label="Vector, as a JSON array (may be left out)"
              value={vector}
              onChange={setVector}
              lines={2}
              {...(typeof collection.dim === "number" ? { help: `${collection.dim} numbers` } : {})}
            />
          ) : null}
          {record instanceof Error ? <Problem error={record} /> : null}
          {error === undefined ? null : <Problem error={error} />}
          {record instanceof Error ? null : (
            <Recipe
              request={{ method: "POST", path: `${path("collections", collection.name)}/records`, body: { records: [record] } }}
              python={[`db.collection(${JSON.stringify(collection.name)}).upsert(${pythonArguments([[record]], {})})`]}
            />
          )}
          <div className="actions">
            <Button kind="main" type="submit" isDisabled={record instanceof Error}>Save</Button>
            <Button onPress={close}>Cancel</Button>
          </div>
        </form>
      )}
    </DialogButton>
  );
}

