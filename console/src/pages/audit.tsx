/** The audit log: who administered what, and how it ended. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { data, useSession } from "../api";
import { path } from "../command";
import { Button, Choose, Field, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing } from "../parts/states";

/** A line of the log as the server writes it. */
interface Entry {
  time: string;
  face: string;
  who: { name: string; key?: string; tenant?: string; address?: string };
  action: string;
  target?: string;
  details?: Record<string, unknown>;
  outcome: string;
  kind?: string;
}

export function AuditPage() {
  const { whole } = useSession();
  const [action, setAction] = useState("");
  const [limit, setLimit] = useState("50");
  const [asked, setAsked] = useState("");
  const query = { limit: Number(limit), ...(asked === "" ? {} : { action: asked }) };
  // Reading the log is noted in it: it is asked again only when somebody says so.
  const log = useQuery({ queryKey: ["audit", query], staleTime: Infinity, queryFn: () => data(whole.GET("/v1/audit", { params: { query } })) });
  return (
    <>
      <h1>Audit log</h1>
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          if (asked === action.trim()) void log.refetch();
          setAsked(action.trim());
        }}
      >
        <Field label="Only this action" value={action} onChange={setAction} placeholder="tenant or tenant.drop" />
        <Choose label="At most" value={limit} choices={["50", "200", "1000"]} onChange={setLimit} />
        <Button kind="main" type="submit">Read</Button>
      </form>
      <Panel title="Entries">
        <Answer of={log}>
          {({ entries, damaged }) => (
            <>
              {damaged > 0 ? <p className="said">{count(damaged)} lines are incomplete, cut off by a crash.</p> : null}
              {entries.length === 0 ? <Nothing>There is none.</Nothing> : (
                <div className="scroll" tabIndex={0} role="region" aria-label="Table of entries">
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">Time</th><th scope="col">Who</th><th scope="col">Action</th><th scope="col">On</th>
                        <th scope="col">Outcome</th><th scope="col">Details</th>
                      </tr>
                    </thead>
                    <tbody>
                      {[...(entries as unknown as Entry[])].reverse().map((entry, at) => (
                        <tr key={at}>
                          <th scope="row">{entry.time}</th>
                          <td>{entry.who.name}{entry.who.key === undefined ? "" : ` (${entry.who.key})`} by {entry.face}</td>
                          <td>{entry.action}</td>
                          <td>{entry.target ?? ""}</td>
                          <td>{entry.outcome}{entry.kind === undefined ? "" : `: ${entry.kind}`}</td>
                          <td>{entry.details === undefined ? "" : JSON.stringify(entry.details)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </>
          )}
        </Answer>
      </Panel>
      <Recipe
        isWhole
        command={["audit", "--limit", limit, ...(asked === "" ? [] : ["--action", asked])]}
        request={{ method: "GET", path: path("audit"), query }}
      />
    </>
  );
}
