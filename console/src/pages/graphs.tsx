/** Graphs: nodes, and the neighbourhood of some of them as a picture. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Button, Choose, Field, Panel } from "../parts/controls";
import { Facts, count } from "../parts/figures";
import { Network, type NetworkEdge } from "../parts/network";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing, Problem } from "../parts/states";
import { type Route, hrefOf } from "../route";
import { FieldsOf } from "./records";

const NODES = 50;
const NEIGHBOURS = 30;

export function GraphsPage({ route }: { route: Route }) {
  const [name] = route.parts;
  return name === undefined ? <List /> : <One key={name} name={name} start={route.params.get("node") ?? undefined} />;
}

function List() {
  const { client } = useSession();
  const graphs = useQuery({ queryKey: ["graphs"], queryFn: () => data(client.GET("/v1/graphs")) });
  return (
    <>
      <h1>Graphs</h1>
      <Panel title="All graphs">
        <Answer of={graphs}>
          {({ graphs }) =>
            graphs.length === 0 ? <Nothing>There is no graph yet.</Nothing> : (
              <ul>
                {graphs.map((graph) => <li key={graph}><a href={hrefOf(["graphs", graph])}>{graph}</a></li>)}
              </ul>
            )
          }
        </Answer>
      </Panel>
      <Recipe command={["graph", "ls"]} request={{ method: "GET", path: path("graphs") }} />
    </>
  );
}

function One({ name, start }: { name: string; start: string | undefined }) {
  const { client } = useSession();
  const [prefix, setPrefix] = useState("");
  const [asked, setAsked] = useState("");
  const params = { path: { graph: name } };
  const counts = useQuery({ queryKey: ["graph", name], queryFn: () => data(client.GET("/v1/graphs/{graph}/counts", { params })) });
  const body = { limit: NODES, ...(asked === "" ? {} : { prefix: asked }) };
  const nodes = useQuery({
    queryKey: ["nodes", name, asked],
    queryFn: () => data(client.POST("/v1/graphs/{graph}/nodes/list", { params, body })),
  });
  return (
    <>
      <h1>{name}</h1>
      <Answer of={counts}>
        {({ nodes, edges, exact }) => (
          <Facts of={[["Nodes", `${exact ? "" : "about "}${count(nodes)}`], ["Edges", `${exact ? "" : "about "}${count(edges)}`]]} />
        )}
      </Answer>
      <div className="columns narrow-first">
        <Panel title="Nodes">
          <form
            className="line"
            onSubmit={(event) => {
              event.preventDefault();
              setAsked(prefix);
            }}
          >
            <Field label="Ids that begin with" value={prefix} onChange={setPrefix} />
            <Button type="submit">List</Button>
          </form>
          <Answer of={nodes}>
            {({ nodes, cursor }) => (
              <>
                {nodes.length === 0 ? <Nothing>There is no such node.</Nothing> : null}
                <ul className="ids">
                  {nodes.map((node) => (
                    <li key={node.id}>
                      <a href={hrefOf(["graphs", name], { node: node.id })} aria-current={node.id === start ? "true" : undefined}>
                        {node.id}
                      </a>{" "}
                      <span className="help">{node.type}</span>
                    </li>
                  ))}
                </ul>
                {cursor === null || cursor === undefined ? null : <p className="help">There are more; write how their ids begin.</p>}
              </>
            )}
          </Answer>
          <Recipe
            command={["graph", "list", "--graph", name, ...(asked === "" ? [] : ["--prefix", asked])]}
            request={{ method: "POST", path: `${path("graphs", name)}/nodes/list`, body }}
          />
        </Panel>
        <div>{start === undefined ? <Nothing>Choose a node to see its neighbourhood.</Nothing> : <Neighbourhood key={start} graph={name} start={start} />}</div>
      </div>
      <Paths graph={name} start={start ?? ""} />
    </>
  );
}

/** Both directions of every node that was opened. */
function Neighbourhood({ graph, start }: { graph: string; start: string }) {
  const { client } = useSession();
  const [opened, setOpened] = useState([start]);
  const [shown, setShown] = useState(start);
  const params = { path: { graph } };
  const pages = useQueries({
    queries: opened.map((id) => ({
      queryKey: ["neighbours", graph, id],
      queryFn: () =>
        data(client.POST("/v1/graphs/{graph}/neighbors", { params, body: { id, direction: "both" as const, limit: NEIGHBOURS } })),
    })),
  });
  const found = pages.flatMap((page) => page.data?.neighbors ?? []);
  const edges = new Map(found.map(({ edge }) => [JSON.stringify([edge.source, edge.type, edge.target]), edge]));
  const ids = [...new Set([...opened, ...[...edges.values()].flatMap((edge) => [edge.source, edge.target])])];
  const nodes = useQuery({
    queryKey: ["nodes of", graph, ids],
    queryFn: () => data(client.POST("/v1/graphs/{graph}/nodes/get", { params, body: { ids } })),
    placeholderData: (before) => before,
  });
  const known = new Map((nodes.data?.nodes ?? []).flatMap((node) => (node === null ? [] : [[node.id, node] as const])));
  const failed = pages.find((page) => page.error !== null)?.error;
  const drawn: NetworkEdge[] = [...edges.values()].map(({ source, target, type }) => ({ source, target, name: type }));
  const more = pages.some((page) => typeof page.data?.cursor === "string");
  const node = known.get(shown);
  return (
    <>
      <Panel title={`Around ${start}`}>
        {failed === undefined || failed === null ? null : <Problem error={failed} />}
        <Network
          label={`${count(ids.length)} nodes and ${count(drawn.length)} edges around ${start}; choose a node to open it`}
          nodes={ids.map((id) => ({ id, name: id, kind: known.get(id)?.type ?? "" }))}
          edges={drawn}
          chosen={opened}
          onChoose={(id) => {
            setShown(id);
            if (!opened.includes(id)) setOpened([...opened, id]);
          }}
        />
        {more ? <p className="help">Of a node with more than {NEIGHBOURS} edges, {NEIGHBOURS} are shown.</p> : null}
        {node === undefined ? null : (
          <div role="status">
            <h3>{node.id}</h3>
            <p className="help">{node.type}</p>
            <FieldsOf payload={node.properties} />
          </div>
        )}
        <details>
          <summary>The edges as a table</summary>
          <EdgeTable edges={[...edges.values()]} />
        </details>
      </Panel>
      <Recipe
        command={["graph", "neighbors", start, "--graph", graph, "--direction", "both", "--limit", String(NEIGHBOURS)]}
        request={{ method: "POST", path: `${path("graphs", graph)}/neighbors`, body: { id: start, direction: "both", limit: NEIGHBOURS } }}
      />
    </>
  );
}

function EdgeTable({ edges }: { edges: Schemas["Edge"][] }) {
  return (
    <table>
      <thead>
        <tr><th scope="col">Source</th><th scope="col">Type</th><th scope="col">Target</th><th scope="col" className="number">Weight</th></tr>
      </thead>
      <tbody>
        {edges.map((edge) => (
          <tr key={JSON.stringify([edge.source, edge.type, edge.target])}>
            <th scope="row">{edge.source}</th>
            <td>{edge.type}</td>
            <td>{edge.target}</td>
            <td className="number">{edge.weight ?? 1}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a node reaches, step by step. */
function Paths({ graph, start }: { graph: string; start: string }) {
  const { client } = useSession();
  const [from, setFrom] = useState(start);
  const [depth, setDepth] = useState("2");
  const [direction, setDirection] = useState<Schemas["EdgeDirection"]>("out");
  const [body, setBody] = useState<Schemas["Traverse"]>();
  const reached = useQuery({
    queryKey: ["traverse", graph, body],
    enabled: body !== undefined,
    queryFn: () => data(client.POST("/v1/graphs/{graph}/traverse", { params: { path: { graph } }, body: body ?? { start: [] } })),
  });
  return (
    <Panel title="Paths from a node">
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          setBody({ start: [from], max_depth: Number(depth), direction, limit: 200 });
        }}
      >
        <Field label="From the node" value={from} onChange={setFrom} isRequired />
        <Choose label="Steps" value={depth} choices={["1", "2", "3", "4"]} onChange={setDepth} />
        <Choose label="Direction" value={direction} choices={["out", "in", "both"]} onChange={(id) => setDirection(id as Schemas["EdgeDirection"])} />
        <Button type="submit">Follow</Button>
      </form>
      {body === undefined ? null : (
        <>
          <Answer of={reached}>
            {({ nodes, truncated }) => (
              <>
                <p role="status">{count(nodes.length)} nodes{truncated ? ", and more" : ""}</p>
                <ol className="paths">
                  {nodes.map((node) => (
                    <li key={node.id}>
                      {pathTo(node, nodes).map((step, at) => (
                        <span key={at}>
                          {at === 0 ? "" : " → "}
                          {step === node.id ? <a href={hrefOf(["graphs", graph], { node: step })}>{step}</a> : step}
                        </span>
                      ))}
                    </li>
                  ))}
                </ol>
              </>
            )}
          </Answer>
          <Recipe
            command={["graph", "traverse", ...body.start, "--graph", graph, "--depth", String(body.max_depth), "--direction", body.direction ?? "out", "--limit", "200"]}
            request={{ method: "POST", path: `${path("graphs", graph)}/traverse`, body }}
          />
        </>
      )}
    </Panel>
  );
}

/** The steps by which the traversal came to a node. */
export function pathTo(node: Schemas["Visited"], all: Schemas["Visited"][]): string[] {
  const steps = [node.id];
  let at: Schemas["Visited"] | undefined = node;
  while (at?.via !== null && at?.via !== undefined && steps.length <= all.length) {
    const before: string = at.via.target === at.id ? at.via.source : at.via.target;
    steps.unshift(before);
    at = all.find((one) => one.id === before);
  }
  return steps;
}

