/** The doctor: every checksum, each damage with its remedy. */
import { useState } from "react";

import { type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Button, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Done, Problem } from "../parts/states";

export function HealthPage() {
  const { whole } = useSession();
  const [state, setState] = useState<"asked" | Schemas["Doctor"] | Error>();
  const check = async () => {
    setState("asked");
    try {
      setState(await data(whole.POST("/v1/doctor")));
    } catch (failed) {
      setState(failed as Error);
    }
  };
  return (
    <>
      <h1>Doctor</h1>
      <Panel title="Check every checksum">
        <p>This reads every file of the folder, which takes as long as that. It changes nothing.</p>
        <Button kind="main" isDisabled={state === "asked"} onPress={() => void check()}>Check</Button>
        {state === "asked" ? <p role="status">Reading…</p> : null}
        {state instanceof Error ? <Problem error={state} /> : null}
        {typeof state === "object" && !(state instanceof Error) ? <Told doctor={state} /> : null}
      </Panel>
      <Recipe isWhole command={["doctor"]} request={{ method: "POST", path: path("doctor") }} />
      <p className="help">Repairs need the folder alone: stop the server, then run `nuthatch doctor --repair`.</p>
    </>
  );
}

function Told({ doctor }: { doctor: Schemas["Doctor"] }) {
  return (
    <>
      {doctor.well ? (
        <Done>All is well: {count(doctor.records)} records in {count(doctor.collections)} collections, every checksum right.</Done>
      ) : null}
      {doctor.findings.length === 0 ? null : (
        <table>
          <thead><tr><th scope="col">File</th><th scope="col">Damage</th><th scope="col">Remedy</th></tr></thead>
          <tbody>
            {doctor.findings.map((finding, at) => (
              <tr key={at}><th scope="row">{finding.path}</th><td>{finding.what}</td><td>{finding.remedy}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      {doctor.degraded.map((why) => <p key={why} className="said">{why}</p>)}
      {doctor.notes.map((note) => <p key={note} className="help">{note}</p>)}
    </>
  );
}
