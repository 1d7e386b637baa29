/** Caches of answers: what they saved, what their promise stands on, why a prompt is answered, and verdicts. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, may, useSession } from "../api";
import { path } from "../command";
import { Button, DialogButton, Field, Panel } from "../parts/controls";
import { History } from "../parts/history";
import { Bar, Facts, bytes, count, time } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Done, Nothing, Problem } from "../parts/states";
import { type Route, hrefOf } from "../route";

export function CachesPage({ route }: { route: Route }) {
  const [name] = route.parts;
  return name === undefined ? <List /> : <One key={name} name={name} />;
}

function List() {
  const { client } = useSession();
  const caches = useQuery({ queryKey: ["caches"], queryFn: () => data(client.GET("/v1/caches")) });
  return (
    <>
      <h1>Caches</h1>
      <Panel title="All caches">
        <Answer of={caches}>
          {({ caches }) =>
            caches.length === 0 ? <Nothing>There is no cache yet.</Nothing> : (
              <ul>{caches.map((cache) => <li key={cache}><a href={hrefOf(["caches", cache])}>{cache}</a></li>)}</ul>
            )
          }
        </Answer>
      </Panel>
      <Recipe command={["cache", "ls"]} request={{ method: "GET", path: path("caches") }} />
    </>
  );
}

function One({ name }: { name: string }) {
  const session = useSession();
  const { client } = session;
  const params = { path: { cache: name } };
  const asked = useQuery({
    queryKey: ["cache", name],
    refetchInterval: 5_000,
    queryFn: () => data(client.GET("/v1/caches/{cache}/stats", { params })),
  });
  return (
    <>
      <h1>{name}</h1>
      <Answer of={asked}>{(stats) => <Stats name={name} stats={stats} at={asked.dataUpdatedAt} />}</Answer>
      <Explain name={name} />
      {may(session, "write") ? (
        <>
          <Audits name={name} />
          <ReportWrong name={name} />
        </>
      ) : null}
    </>
  );
}

function Stats({ name, stats, at }: { name: string; stats: Schemas["CacheStats"]; at: number }) {
  const { counts, ledger, settings } = stats;
  const hits = counts.exact + counts.canonical + counts.alias + counts.semantic;
  const asked = hits + counts.misses;
  const share = (value: number) => (asked === 0 ? "" : `, ${((value / asked) * 100).toFixed(1)} %`);
  const row = (label: string, value: number, tone: number) => (
    <Bar name={label} value={value} of={asked} said={`${count(value)}${share(value)}`} tone={tone} />
  );
  return (
    <>
      <div className="columns even">
        <Panel title="Questions">
          {row("The same prompt", counts.exact, 1)}
          {row("The same form", counts.canonical, 1)}
          {row("Known to mean the same", counts.alias, 1)}
          {row("By meaning", counts.semantic, 2)}
          {row("Not answered", counts.misses, 3)}
          <Facts
            of={[
              ["Answered from the cache", `${count(hits)} of ${count(asked)}`],
              ["Would have been, while it only watched", counts.shadow_hits],
              ["Answers stored", stats.entries],
              ["Their size", bytes(stats.bytes)],
              ["Removed for room", counts.evicted],
              ["Too old", counts.expired],
              ["Out of date with their sources", counts.stale],
            ]}
          />
        </Panel>
        <Panel title="How many answers by meaning may be wrong">
          <Bound ledger={ledger} />
          <History
            label="Answers by meaning"
            at={at}
            series={[
              { name: "known wrong", value: ledger.known_wrong, tone: 5 },
              { name: "at most wrong", value: ledger.bound, tone: 2 },
              { name: "may be wrong", value: ledger.allowed, tone: 3 },
            ]}
            said={(value) => value.toFixed(1)}
          />
          <Facts
            of={[
              ["Answers by meaning given", ledger.hits],
              ["Chosen for a verdict", ledger.audited],
              ["Without one yet, counted as wrong", ledger.pending],
              ["Known to be wrong", ledger.known_wrong],
              ["At most wrong", ledger.bound.toFixed(1)],
              ["May be wrong", ledger.allowed.toFixed(1)],
              ["Share that may be wrong", settings.budget],
              ["Probability that the bound fails", settings.failure],
              ["Mode", settings.mode],
              ["Reported wrong, right", `${count(counts.reported_wrong)}, ${count(counts.reported_right)}`],
            ]}
          />
        </Panel>
      </div>
      <Recipe command={["cache", "stats", "--cache", name]} request={{ method: "GET", path: `${path("caches", name)}/stats` }} />
    </>
  );
}

/** Known wrong, the bound, and what is allowed, on one line. */
function Bound({ ledger }: { ledger: Schemas["CacheLedger"] }) {
  const most = Math.max(1, ledger.allowed, ledger.bound) * 1.1;
  const x = (value: number) => (value / most) * 100;
  return (
    <svg
      className="bound"
      viewBox="0 0 100 22"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Known wrong ${ledger.known_wrong}, at most wrong ${ledger.bound.toFixed(1)}, allowed ${ledger.allowed.toFixed(1)}`}
    >
      <rect className="bar-back" y="6" width="100" height="10" />
      <rect className="bound-most" y="6" width={x(ledger.bound)} height="10" />
      <rect className="bound-known" y="6" width={x(ledger.known_wrong)} height="10" />
      <rect className="bound-allowed" x={x(ledger.allowed)} y="1" width="0.6" height="20" />
    </svg>
  );
}

function Explain({ name }: { name: string }) {
  const { client } = useSession();
  const [prompt, setPrompt] = useState("");
  const [scope, setScope] = useState("{}");
  const [body, setBody] = useState<Schemas["CacheQuestion"]>();
  const [wrong, setWrong] = useState<Error>();
  const explained = useQuery({
    queryKey: ["cache explain", name, body],
    enabled: body !== undefined,
    queryFn: () => data(client.POST("/v1/caches/{cache}/explain", { params: { path: { cache: name } }, body: body ?? { prompt: "" } })),
  });
  return (
    <Panel title="Would this prompt be answered, and why?">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          try {
            const parts = JSON.parse(scope) as Record<string, string>;
            setBody({ prompt, ...(Object.keys(parts).length === 0 ? {} : { scope: parts }) });
            setWrong(undefined);
          } catch (failed) {
            setWrong(new Error(`the scope is not JSON: ${(failed as Error).message}`));
          }
        }}
      >
        <Field label="Prompt" value={prompt} onChange={setPrompt} lines={2} isRequired />
        <Field label="Scope, as a JSON object" value={scope} onChange={setScope} />
        <Button kind="main" type="submit">Explain</Button>
      </form>
      {wrong === undefined ? null : <Problem error={wrong} />}
      {body === undefined ? null : (
        <>
          <Answer of={explained}>
            {(explained) => (
              <>
                <p role="status">
                  {typeof explained.entry === "number"
                    ? `Answered by entry ${explained.entry}, ${explained.tier ?? ""}${explained.stale ? "; it is out of date" : ""}.`
                    : "Not answered from the cache."}
                </p>
                <p className="help">Its form: <code>{explained.canonical}</code></p>
                {explained.candidates.length === 0 ? null : (
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">Entry</th><th scope="col">Prompt</th><th scope="col" className="number">Similarity</th>
                        <th scope="col" className="number">Risk</th><th scope="col">Ruled out by</th>
                      </tr>
                    </thead>
                    <tbody>
                      {explained.candidates.map((one) => (
                        <tr key={one.entry}>
                          <th scope="row">{one.entry}</th>
                          <td>{one.prompt}</td>
                          <td className="number">{one.similarity.toFixed(3)}</td>
                          <td className="number">{one.risk.toFixed(3)}</td>
                          <td>{one.veto ?? (one.stale ? "its source changed" : one.worth ? "nothing" : "its risk")}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                )}
              </>
            )}
          </Answer>
          <Recipe
            command={[
              "cache", "explain", body.prompt, "--cache", name,
              ...Object.entries(body.scope ?? {}).flatMap(([part, value]) => ["--scope", `${part}=${value}`]),
            ]}
            request={{ method: "POST", path: `${path("caches", name)}/explain`, body }}
          />
        </>
      )}
    </Panel>
  );
}

function useVerdict(name: string) {
  const { client } = useSession();
  const queries = useQueryClient();
  const [outcome, setOutcome] = useState<string | Error>();
  const report = async (verdict: Schemas["CacheVerdict"]) => {
    try {
      await client.POST("/v1/caches/{cache}/report", { params: { path: { cache: name } }, body: verdict });
      setOutcome(`Entry ${verdict.entry} is reported as ${verdict.wrong ? "wrong" : "right"}.`);
      await queries.invalidateQueries({ queryKey: ["cache", name] });
      await queries.invalidateQueries({ queryKey: ["cache audits", name] });
    } catch (failed) {
      setOutcome(failed as Error);
    }
  };
  const said = outcome instanceof Error ? <Problem error={outcome} /> : outcome === undefined ? null : <Done>{outcome}</Done>;
  return { report, said };
}

function Audits({ name }: { name: string }) {
  const { client } = useSession();
  const verdict = useVerdict(name);
  const body = { limit: 20 };
  const audits = useQuery({
    queryKey: ["cache audits", name],
    queryFn: () => data(client.POST("/v1/caches/{cache}/audits", { params: { path: { cache: name } }, body })),
  });
  return (
    <Panel title="Answers that wait for a verdict">
      {verdict.said}
      <Answer of={audits}>
        {({ waiting }) =>
          waiting.length === 0 ? <Nothing>None waits.</Nothing> : (
            <ul className="records">
              {waiting.map((one) => (
                <li key={one.hit} className="record">
                  <p><strong>Asked:</strong> {one.asked}</p>
                  <p><strong>Answered as:</strong> {one.prompt ?? "(gone)"}</p>
                  <pre tabIndex={0} aria-label={`Answer of entry ${one.entry}`}><code>{JSON.stringify(one.response, null, 1)}</code></pre>
                  <p className="help">{time(one.at_ms)}, risk {one.risk.toFixed(3)}, {one.served ? "given" : "not given"}</p>
                  <div className="actions">
                    <Button aria-label={`Right: ${one.asked}`} onPress={() => void verdict.report({ entry: one.entry, hit: one.hit, wrong: false, served: one.served })}>Right</Button>
                    <Button kind="danger" aria-label={`Wrong: ${one.asked}`} onPress={() => void verdict.report({ entry: one.entry, hit: one.hit, wrong: true, served: one.served })}>Wrong</Button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      <Recipe command={["cache", "audits", "--cache", name]} request={{ method: "POST", path: `${path("caches", name)}/audits`, body }} />
    </Panel>
  );
}

function ReportWrong({ name }: { name: string }) {
  const verdict = useVerdict(name);
  const [entry, setEntry] = useState("");
  const [hit, setHit] = useState("");
  const body = { entry: Number(entry), ...(hit === "" ? {} : { hit: Number(hit) }), wrong: true };
  return (
    <>
      {verdict.said}
      <DialogButton label="Report an answer as wrong…" title="Report an answer as wrong">
        {(close) => (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void verdict.report(body).then(close);
            }}
          >
            <Field label="Entry" type="number" value={entry} onChange={setEntry} isRequired autoFocus />
            <Field label="Hit (if the answer came with one)" type="number" value={hit} onChange={setHit} />
            <Recipe
              command={hit === "" ? undefined : ["cache", "report", hit, entry, "--wrong", "--cache", name]}
              request={{ method: "POST", path: `${path("caches", name)}/report`, body }}
            />
            <div className="actions">
              <Button kind="danger" type="submit">Report it</Button>
              <Button onPress={close}>Cancel</Button>
            </div>
          </form>
        )}
      </DialogButton>
    </>
  );
}
