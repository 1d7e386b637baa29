/** Nodes and edges as a picture: laid out by forces, with the same steps each time, so that the same graph looks the same. */
import { type SimulationLinkDatum, type SimulationNodeDatum, forceCenter, forceCollide, forceLink, forceManyBody, forceSimulation } from "d3-force";
import { useId, useMemo } from "react";

export interface NetworkNode {
  id: string;
  name: string;
  kind: string;
}

export interface NetworkEdge {
  source: string;
  target: string;
  name: string;
}

interface Placed extends SimulationNodeDatum, NetworkNode {}

const STEPS = 240;
const LONG = 28;
const [WIDTH_MIN, HEIGHT_MIN] = [640, 260];

export function Network(props: {
  label: string;
  nodes: NetworkNode[];
  edges: NetworkEdge[];
  chosen: string[];
  onChoose: (id: string) => void;
}) {
  const { nodes, edges, chosen } = props;
  const arrow = useId();
  const key = JSON.stringify([nodes.map((node) => node.id), edges]);
  const { places, box } = useMemo(() => layout(nodes, edges), [key]);
  const kinds = [...new Set(nodes.map((node) => node.kind))].sort();
  return (
    <svg className="network" viewBox={box.join(" ")} role="group" aria-label={props.label}>
      <defs>
        <marker id={arrow} viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0 0 10 5 0 10z" className="arrow" />
        </marker>
      </defs>
      {edges.map((edge, at) => {
        const from = places.get(edge.source);
        const to = places.get(edge.target);
        if (from === undefined || to === undefined) return null;
        const [dx, dy] = [to.x - from.x, to.y - from.y];
        const length = Math.max(1, Math.hypot(dx, dy));
        // The arrow ends at the circle, not in it.
        const [x2, y2] = [to.x - (dx / length) * 11, to.y - (dy / length) * 11];
        return (
          <g key={at} aria-hidden="true">
            <line className="edge" x1={from.x} y1={from.y} x2={x2} y2={y2} markerEnd={`url(#${arrow})`} />
            {nodes.length > 25 ? null : (
              <text className="edge-name" x={(from.x + to.x) / 2} y={(from.y + to.y) / 2 - 3}>{edge.name}</text>
            )}
          </g>
        );
      })}
      {nodes.map((node) => {
        const place = places.get(node.id);
        if (place === undefined) return null;
        const short = node.name.length > LONG ? `${node.name.slice(0, LONG - 1)}…` : node.name;
        return (
          <g
            key={node.id}
            className={`node colour-${Math.max(0, kinds.indexOf(node.kind)) % 8}${chosen.includes(node.id) ? " chosen" : ""}`}
            transform={`translate(${place.x} ${place.y})`}
            role="button"
            tabIndex={0}
            aria-label={node.kind === "" ? node.name : `${node.name}, ${node.kind}`}
            aria-pressed={chosen.includes(node.id)}
            onClick={() => props.onChoose(node.id)}
            onKeyDown={(event) => {
              if (event.key === "Enter" || event.key === " ") {
                event.preventDefault();
                props.onChoose(node.id);
              }
            }}
          >
            <circle r="9" />
            <text x="12" y="4" aria-hidden="true">{short}</text>
          </g>
        );
      })}
    </svg>
  );
}

function layout(nodes: NetworkNode[], edges: NetworkEdge[]) {
  const placed: Placed[] = nodes.map((node) => ({ ...node }));
  const known = new Set(nodes.map((node) => node.id));
  const links: SimulationLinkDatum<Placed>[] = edges
    .filter((edge) => known.has(edge.source) && known.has(edge.target))
    .map(({ source, target }) => ({ source, target }));
  forceSimulation(placed)
    .force("links", forceLink<Placed, SimulationLinkDatum<Placed>>(links).id((node) => node.id).distance(90))
    .force("apart", forceManyBody().strength(-260))
    .force("room", forceCollide(26))
    .force("middle", forceCenter(0, 0))
    .stop()
    .tick(STEPS);
  const places = new Map(placed.map((node) => [node.id, { x: Math.round(node.x ?? 0), y: Math.round(node.y ?? 0) }]));
  const xs = [...places.values()].map((place) => place.x);
  const ys = [...places.values()].map((place) => place.y);
  const [left, top] = [Math.min(0, ...xs) - 30, Math.min(0, ...ys) - 30];
  // Names stand on the right.
  const [width, height] = [Math.max(0, ...xs) - left + 190, Math.max(0, ...ys) - top + 30];
  // A small graph is not blown up: it stands in the middle of a picture of the usual size.
  const [wide, high] = [Math.max(width, WIDTH_MIN), Math.max(height, HEIGHT_MIN)];
  return { places, box: [left - (wide - width) / 2, top - (high - height) / 2, wide, high] };
}
