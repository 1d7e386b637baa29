/** What is in the files of a tree: ripgrep's search, with the lines around each match. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, useSession } from "../api";
import { path } from "../command";
import { Button, Check, Choose, Field, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing, Problem } from "../parts/states";
import { NuthatchError } from "../api";
import { hrefOf } from "../route";
import { asOfArguments } from "./trees";

/** Of ripgrep's lines of JSON, what is shown. */
export interface Line {
  path: string;
  number: number;
  isMatch: boolean;
  /** Parts of the line, those that match marked. */
  parts: { text: string; isMatch: boolean }[];
}

export interface Found {
  lines: Line[];
  report: Schemas["GrepReport"];
}

/** What is asked; the server's defaults are left out. */
type Flags = Pick<Schemas["GrepTree"], "patterns"> & Partial<Schemas["GrepTree"]>;

type Text = { text: string } | { bytes: string };

const bytesOf = (text: Text): Uint8Array =>
  "text" in text ? new TextEncoder().encode(text.text) : Uint8Array.from(atob(text.bytes), (one) => one.charCodeAt(0));

/** Ripgrep counts matches in bytes; what is shown is cut there before it is decoded. */
function cut(line: Text, matches: { start: number; end: number }[]): Line["parts"] {
  const content = bytesOf(line);
  const decode = (from: number, to: number) => new TextDecoder().decode(content.subarray(from, to));
  const parts: Line["parts"] = [];
  let at = 0;
  for (const { start, end } of matches) {
    if (start > at) parts.push({ text: decode(at, start), isMatch: false });
    parts.push({ text: decode(start, end), isMatch: true });
    at = end;
  }
  const rest = decode(at, content.length).replace(/\r?\n$/, "");
  if (rest !== "") parts.push({ text: rest, isMatch: false });
  return parts;
}

export function readLines(said: string): Found {
  const lines: Line[] = [];
  let report: Schemas["GrepReport"] | undefined;
  for (const one of said.split("\n").filter((line) => line !== "")) {
    const { type, data } = JSON.parse(one) as { type: string; data: never };
    if (type === "match" || type === "context") {
      const { path, lines: text, line_number, submatches } = data as {
        path: Text;
        lines: Text;
        line_number: number | null;
        submatches: { start: number; end: number }[];
      };
      const name = new TextDecoder().decode(bytesOf(path));
      lines.push({ path: name, number: line_number ?? 0, isMatch: type === "match", parts: cut(text, submatches) });
    } else if (type === "report") {
      report = data as Schemas["GrepReport"];
    } else if (type === "failed") {
      throw new NuthatchError(data as Schemas["Problem"]);
    }
  }
  if (report === undefined) throw new Error("the answer breaks off before its end; ask again");
  return { lines, report };
}

export function Grep({ tree, asOf }: { tree: string; asOf: string }) {
  const { client } = useSession();
  const [pattern, setPattern] = useState("");
  const [glob, setGlob] = useState("");
  const [around, setAround] = useState("2");
  const [isFixed, setFixed] = useState(false);
  const [ignoresCase, setIgnoresCase] = useState(true);
  const [body, setBody] = useState<Flags>();
  const found = useQuery({
    queryKey: ["grep", tree, body],
    enabled: body !== undefined,
    queryFn: async () => {
      const { data: said } = await client.POST("/v1/trees/{tree}/grep", {
        params: { path: { tree } },
        // The types take what has a default for what must be given.
        body: (body ?? { patterns: [] }) as Schemas["GrepTree"],
        parseAs: "text",
      });
      return readLines((said ?? "") as unknown as string);
    },
  });
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setBody({
            patterns: [pattern],
            output: "json",
            pages: true,
            before_context: Number(around),
            after_context: Number(around),
            ...(isFixed ? { fixed_strings: true } : {}),
            ...(ignoresCase ? { ignore_case: true } : {}),
            ...(glob.trim() === "" ? {} : { globs: [glob.trim()] }),
            ...(asOf === "" ? {} : { as_of: asOf }),
          });
        }}
      >
        <div className="line">
          <Field label="Pattern" type="search" value={pattern} onChange={setPattern} isRequired autoFocus />
          <Field label="Only files like" value={glob} onChange={setGlob} placeholder="*.md" />
          <Choose label="Lines around" value={around} choices={["0", "2", "5"]} onChange={setAround} />
        </div>
        <div className="line flat">
          <Check isSelected={isFixed} onChange={setFixed}>Text, not a regular expression</Check>
          <Check isSelected={ignoresCase} onChange={setIgnoresCase}>Any case</Check>
          <Button kind="main" type="submit">Search</Button>
        </div>
      </form>
      {body === undefined ? null : (
        <Panel title="Matches">
          <Answer of={found}>{(found) => <Matches tree={tree} asOf={asOf} found={found} />}</Answer>
        </Panel>
      )}
      {body === undefined ? null : (
        <Recipe
          command={[
            "grep", ...body.patterns, "--tree", tree, ...asOfArguments(asOf),
            ...(body.ignore_case === true ? ["-i"] : []),
            ...(body.fixed_strings === true ? ["-F"] : []),
            ...(body.globs ?? []).flatMap((glob) => ["-g", glob]),
            ...(body.after_context === undefined || body.after_context === 0 ? [] : ["-C", String(body.after_context)]),
            "-n",
          ]}
          request={{ method: "POST", path: `${path("trees", tree)}/grep`, body }}
        />
      )}
    </>
  );
}

function Matches({ tree, asOf, found }: { tree: string; asOf: string; found: Found }) {
  const { lines, report } = found;
  const matches = lines.filter((line) => line.isMatch).length;
  const files = [...new Set(lines.map((line) => line.path))];
  return (
    <>
      <p role="status">
        {count(matches)} lines in {count(files.length)} files match; {count(report.searched)} files were searched
        {typeof report.cursor === "string" ? "; there is more, so narrow the pattern or the files" : ""}
      </p>
      {matches === 0 ? <Nothing>Nothing matches.</Nothing> : null}
      {report.cut.map((cut) => (
        <Problem key={cut.path} error={new Error(`${cut.path}: ${cut.why}`)} />
      ))}
      {files.map((file) => (
        <section key={file} aria-label={file} className="matches">
          <h3><a href={hrefOf(["trees", tree], { as_of: asOf, path: file })}>{file}</a></h3>
          <pre className="lines" tabIndex={0} aria-label={`Lines of ${file}`}>
            {lines.filter((line) => line.path === file).map((line, at, all) => {
              const before = all[at - 1];
              const hasGap = before !== undefined && line.number > before.number + 1;
              return (
                <span key={`${line.number} ${at}`} className={line.isMatch ? "numbered shown" : "numbered"}>
                  {hasGap ? <span className="gap">{"⋯\n"}</span> : null}
                  <span className="at" aria-hidden="true">{line.number}</span>
                  {line.parts.map((part, place) => (part.isMatch ? <mark key={place}>{part.text}</mark> : part.text))}
                  {"\n"}
                </span>
              );
            })}
          </pre>
        </section>
      ))}
    </>
  );
}
