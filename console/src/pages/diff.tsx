/** What differs between two states of a tree, and between two contents of a file. */
import { useQuery } from "@tanstack/react-query";
import { structuredPatch } from "diff";
import { useState } from "react";

import { type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Button, Field, Panel } from "../parts/controls";
import { bytes, count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing } from "../parts/states";
import { useSnapshots, useText } from "./trees";

interface Asked {
  from: string;
  to: string;
  below: string;
}

export function Diff({ tree }: { tree: string }) {
  const { client } = useSession();
  const snapshots = useSnapshots(tree);
  const first = snapshots.data?.snapshots[0]?.name ?? "";
  const [from, setFrom] = useState<string>();
  const [to, setTo] = useState("");
  const [below, setBelow] = useState("");
  const [asked, setAsked] = useState<Asked>();
  const [shown, setShown] = useState<string>();
  const start = from ?? first;
  const body = {
    ...(asked?.from ? { from: asked.from } : {}),
    ...(asked?.to ? { to: asked.to } : {}),
    ...(asked?.below ? { below: asked.below } : {}),
  };
  const changes = useQuery({
    queryKey: ["diff", tree, asked],
    enabled: asked !== undefined,
    queryFn: () => data(client.POST("/v1/trees/{tree}/diff", { params: { path: { tree } }, body })),
  });
  const side = (asOf: string | undefined) => (asOf === undefined || asOf === "" ? tree : `${tree}@${asOf}`);
  return (
    <>
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          setShown(undefined);
          setAsked({ from: start, to, below });
        }}
      >
        <Field label="From" value={start} onChange={setFrom} help="A snapshot, a sequence or a time; empty: now" />
        <Field label="To" value={to} onChange={setTo} help="The same" />
        <Field label="Below the path" value={below} onChange={setBelow} help="Empty: everywhere" />
        <Button kind="main" type="submit">Compare</Button>
      </form>
      {asked === undefined ? null : (
        <Panel title="Changes">
          <Answer of={changes}>
            {({ changes }) => (
              <>
                <p role="status">{count(changes.length)} paths differ</p>
                {changes.length === 0 ? <Nothing>Both states are the same.</Nothing> : null}
                <ul className="changes">
                  {changes.map((change) => (
                    <li key={change.path}>
                      <span className={`change ${change.kind}`}>{change.kind}</span>{" "}
                      <Button
                        kind="quiet"
                        aria-expanded={shown === change.path}
                        onPress={() => setShown(shown === change.path ? undefined : change.path)}
                      >
                        {change.kind === "renamed" ? `${change.before?.path ?? ""} → ${change.path}` : change.path}
                      </Button>{" "}
                      <span className="help">{sizes(change)}</span>
                      {shown === change.path ? (
                        <TextDiff
                          tree={tree}
                          file={change.path}
                          {...(change.before === null || change.before === undefined ? {} : { fromFile: change.before.path })}
                          from={change.before === null || change.before === undefined ? undefined : asked.from}
                          to={change.after === null || change.after === undefined ? undefined : asked.to}
                        />
                      ) : null}
                    </li>
                  ))}
                </ul>
              </>
            )}
          </Answer>
        </Panel>
      )}
      <Recipe
        command={["diff", side(asked?.from ?? start), side(asked?.to ?? to), ...(below === "" ? [] : [below])]}
        request={{ method: "POST", path: `${path("trees", tree)}/diff`, body }}
      />
    </>
  );
}

function sizes(change: Schemas["TreeChange"]): string {
  const size = (entry: Schemas["TreeEntry"] | null | undefined) => (entry === null || entry === undefined ? undefined : bytes(entry.bytes));
  return [size(change.before), size(change.after)].filter((one) => one !== undefined).join(" → ");
}

/** A file in two states, line by line; a side that is undefined has no such file. */
export function TextDiff(props: {
  tree: string;
  file: string;
  fromFile?: string;
  from: string | undefined;
  to: string | undefined;
}) {
  const { tree, file, from, to } = props;
  const before = useText(tree, props.fromFile ?? file, from ?? "");
  const after = useText(tree, file, to ?? "");
  const left = from === undefined ? { text: "" } : before.data;
  const right = to === undefined ? { text: "" } : after.data;
  if (from !== undefined && before.data === undefined) return <Answer of={before}>{() => null}</Answer>;
  if (to !== undefined && after.data === undefined) return <Answer of={after}>{() => null}</Answer>;
  if (left?.text === undefined || right?.text === undefined) return <Nothing>These bytes are no text.</Nothing>;
  const { hunks } = structuredPatch(file, file, left.text, right.text, "", "", { context: 3 });
  if (hunks.length === 0) return <Nothing>The contents are the same.</Nothing>;
  return (
    <pre className="patch" tabIndex={0} aria-label={`What differs in ${file}`}>
      {hunks.map((hunk, at) => (
        <span key={at}>
          <span className="hunk">{`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@\n`}</span>
          {hunk.lines.map((line, row) => (
            <span key={row} className={line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "same"}>{`${line}\n`}</span>
          ))}
        </span>
      ))}
    </pre>
  );
}
