/** Memory by part, the disk, and what works in the background, as they are now. */
import { useQuery } from "@tanstack/react-query";

import { type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Panel } from "../parts/controls";
import { History } from "../parts/history";
import { Bar, Facts, bytes, count, seconds } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing } from "../parts/states";
import { hrefOf } from "../route";
import { stateOf } from "./collections";

const EVERY_MS = 2_000;

/** Parts of the budget, in the words of `nuthatch stats`. */
const PARTS: [string, string][] = [
  ["store_cache_bytes", "Cache of the store"],
  ["store_table_reader_bytes", "Its tables’ indexes"],
  ["block_cache_bytes", "Cache of index blocks"],
  ["fresh_bytes", "Records not in an index yet"],
  ["answer_bytes", "Answers in progress"],
  ["text_index_bytes", "Text index"],
  ["segment_bytes", "Row ids of segments"],
];

const OUTSIDE: [string, string][] = [
  ["build_bytes", "Vector graph being built"],
  ["embedder_bytes", "Embedding models"],
  ["heap_other_bytes", "In use otherwise"],
  ["heap_free_bytes", "Freed, kept by the allocator"],
  ["foreign_bytes", "Other allocators"],
  ["stack_bytes", "Stacks of threads"],
  ["program_bytes", "The program and mapped files"],
];

export function MemoryPage() {
  const { client } = useSession();
  const asked = useQuery({ queryKey: ["stats"], refetchInterval: EVERY_MS, queryFn: () => data(client.GET("/v1/stats")) });
  const at = asked.dataUpdatedAt;
  return (
    <>
      <h1>Memory and work</h1>
      <Answer of={asked}>
        {(stats) => {
          const memory = stats.memory as Record<string, number>;
          const disk = stats.disk as Record<string, number>;
          return (
            <>
              <Work collections={stats.collections} />
              <div className="columns even">
                <Budget memory={memory} at={at} />
                <Outside memory={memory} />
              </div>
              <Panel title="On disk">
                <Facts
                  of={[
                    ["Records and vectors (the store)", bytes(disk["store_bytes"] ?? 0)],
                    ["Indexes", bytes(disk["indexes_bytes"] ?? 0)],
                    ["Quarantine", bytes(disk["quarantine_bytes"] ?? 0)],
                    ["Together", bytes(disk["total_bytes"] ?? 0)],
                    ["Open snapshots", stats.snapshots],
                    ["Age of the oldest", stats.snapshots === 0 ? undefined : seconds(stats.snapshot_age_ms / 1000)],
                  ]}
                />
              </Panel>
            </>
          );
        }}
      </Answer>
      <Recipe command={["stats"]} request={{ method: "GET", path: path("stats") }} python={["print(db.stats())"]} />
    </>
  );
}

/** One bar of all parts, as long as the budget, and each part below it. */
function Budget({ memory, at: moment }: { memory: Record<string, number>; at: number }) {
  const budget = memory["budget_bytes"] ?? 0;
  const used = memory["engine_bytes"] ?? 0;
  // A tenant has no budget of its own: its parts are shown among each other.
  const whole = Math.max(budget, used, 1);
  let at = 0;
  const stripes = PARTS.map(([field], tone) => {
    const width = ((memory[field] ?? 0) / whole) * 100;
    const x = at;
    at += width;
    return <rect key={field} className={`stripe colour-${tone % 8}`} x={x} width={width} height="10" />;
  });
  return (
    <Panel title={budget === 0 ? `Memory: ${bytes(used)}` : `Memory: ${bytes(used)} of a budget of ${bytes(budget)}`}>
      <svg className="stripes" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="Memory by part; the list below has the figures">
        <rect className="bar-back" width="100" height="10" />
        {stripes}
      </svg>
      {PARTS.map(([field, name], tone) => (
        <Bar key={field} name={name} value={memory[field] ?? 0} of={whole} said={bytes(memory[field] ?? 0)} tone={tone + 10} />
      ))}
      <History
        label="Memory"
        at={moment}
        series={[
          { name: "of the budget", value: used, tone: 0 },
          { name: "of the process", value: (memory["process_anonymous_bytes"] ?? 0) + (memory["process_file_bytes"] ?? 0), tone: 3 },
        ]}
        said={bytes}
      />
    </Panel>
  );
}

function Outside({ memory }: { memory: Record<string, number> }) {
  const most = Math.max(1, ...OUTSIDE.map(([field]) => memory[field] ?? 0));
  return (
    <Panel title="Outside the budget">
      {OUTSIDE.map(([field, name]) => (
        <Bar key={field} name={name} value={memory[field] ?? 0} of={most} said={bytes(memory[field] ?? 0)} tone={3} />
      ))}
      <Facts
        of={[
          ["All parts together", bytes(memory["accounted_bytes"] ?? 0)],
          [
            "As the system measures the process",
            bytes((memory["process_anonymous_bytes"] ?? 0) + (memory["process_file_bytes"] ?? 0)),
          ],
        ]}
      />
    </Panel>
  );
}

function Work({ collections }: { collections: Schemas["Collection"][] }) {
  const busy = collections.filter((one) => stateOf(one) !== "ready" || one.fresh_rows > 0);
  return (
    <Panel title="Work in the background">
      {busy.length === 0 ? <Nothing>Everything is indexed.</Nothing> : null}
      {busy.map((one) => (
        <section key={one.name} aria-label={one.name} className="work">
          <h3><a href={hrefOf(["collections", one.name])}>{one.name}</a></h3>
          {one.building === null || one.building === undefined ? null : (
            <Bar
              name="Vector graph"
              value={one.building.done}
              of={one.building.total}
              said={`${count(one.building.done)} of ${count(one.building.total)} rows, ${count(Math.round(one.building.rows_per_second))} a second${
                typeof one.building.seconds_left === "number" ? `, ${seconds(one.building.seconds_left)} left` : ""
              }`}
              tone={2}
            />
          )}
          {one.pending === 0 ? null : (
            <Bar name="Vectors" value={one.vectors} of={one.vectors + one.pending} said={`${count(one.pending)} to come`} tone={1} />
          )}
          {one.fresh_rows === 0 ? null : (
            <Bar name="Indexed rows" value={one.rows - one.fresh_rows} of={one.rows} said={`${count(one.fresh_rows)} not in an index yet`} tone={0} />
          )}
          {one.degraded.map((why) => <p key={why} className="said">{why}</p>)}
        </section>
      ))}
    </Panel>
  );
}
