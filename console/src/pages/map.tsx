/** A map of a collection's vectors: a sample, projected onto its two principal components, computed in the browser. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";

import { type Client, type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Choose, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing } from "../parts/states";
import { hrefOf } from "../route";
import { principalAxes, project } from "../principal";

const SAMPLE = 500;
const COLOURS = 8;

export function MapOfVectors({ collection }: { collection: Schemas["Collection"] }) {
  const { client } = useSession();
  const { name } = collection;
  const [field, setField] = useState("");
  const records = useQuery({
    queryKey: ["records", name, "with vectors"],
    enabled: collection.vectors > 0,
    staleTime: 60_000,
    queryFn: () => sample(client, name),
  });
  if (collection.vectors === 0) return <Nothing>The records have no vectors.</Nothing>;
  const fields = Object.keys(collection.fields).sort();
  return (
    <>
      <Panel title="Map of vectors">
        {fields.length === 0 ? null : (
          <Choose
            label="Colour by"
            value={field}
            choices={[{ id: "", name: "nothing" }, ...fields.map((one) => ({ id: one, name: one }))]}
            onChange={setField}
          />
        )}
        <Answer of={records}>{(records) => <Picture collection={name} records={records} field={field} />}</Answer>
      </Panel>
      <Recipe
        request={{
          method: "GET",
          path: `${path("collections", name)}/records`,
          query: { limit: SAMPLE, vectors: "true" },
        }}
      />
    </>
  );
}

async function sample(client: Client, collection: string): Promise<Schemas["StoredRecord"][]> {
  const query = { limit: SAMPLE, vectors: true, vector_format: "numbers" as const };
  const page = await data(client.GET("/v1/collections/{collection}/records", { params: { path: { collection }, query } }));
  return page.records.filter((record) => Array.isArray(record.vector));
}

interface Point {
  id: string;
  text: string;
  x: number;
  y: number;
  value: string;
}

function Picture(props: { collection: string; records: Schemas["StoredRecord"][]; field: string }) {
  const { collection, records, field } = props;
  const places = useMemo(() => {
    const rows = records.map((record) => record.vector as number[]);
    const axes = principalAxes(rows);
    return { points: project(rows, axes), share: axes.share };
  }, [records]);
  const points: Point[] = records.map((record, at) => ({
    id: record.id,
    text: record.text ?? "",
    x: places.points[at]?.[0] ?? 0,
    y: places.points[at]?.[1] ?? 0,
    value: field === "" ? "" : valueAt(record.payload, field),
  }));
  const [shown, setShown] = useState<Point>();
  const values = field === "" ? [] : [...new Set(points.map((point) => point.value))].sort();
  if (points.length < 3) return <Nothing>A map needs three vectors or more.</Nothing>;
  const colourOf = (value: string) => (field === "" ? 0 : values.indexOf(value) % COLOURS);
  return (
    <figure className="map">
      <svg viewBox="-1.05 -1.05 2.1 2.1" role="img" aria-label={`Map of ${count(points.length)} vectors; the list below names them`}>
        {points.map((point) => (
          <circle
            key={point.id}
            className={`point colour-${colourOf(point.value)}${point.id === shown?.id ? " shown" : ""}`}
            cx={point.x}
            cy={-point.y}
            r={point.id === shown?.id ? 0.025 : 0.013}
            onMouseEnter={() => setShown(point)}
          />
        ))}
      </svg>
      <figcaption>
        {count(points.length)} records, the first that the server lists; the two axes show {(places.share * 100).toFixed(0)} % of their variance.
        {values.length === 0 ? null : (
          <ul className="legend">
            {values.slice(0, COLOURS).map((value) => (
              <li key={value}>
                <svg className={`point colour-${colourOf(value)}`} viewBox="-1 -1 2 2" aria-hidden="true"><circle r="1" /></svg>
                {value === "" ? "(none)" : value}
              </li>
            ))}
            {values.length > COLOURS ? <li>and {values.length - COLOURS} more, in the same colours</li> : null}
          </ul>
        )}
        <p className="map-shown" role="status">
          {shown === undefined ? "" : <><strong>{shown.id}</strong> {shown.text.slice(0, 200)}</>}
        </p>
        <details>
          <summary>The records of the map</summary>
          <ul className="ids">
            {points.map((point) => (
              <li key={point.id}>
                <a href={hrefOf(["search"], { collection, like: point.id })} onFocus={() => setShown(point)}>{point.id}</a>
              </li>
            ))}
          </ul>
        </details>
      </figcaption>
    </figure>
  );
}

function valueAt(payload: unknown, field: string): string {
  const value = field.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], payload);
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}
