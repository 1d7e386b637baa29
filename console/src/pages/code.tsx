/** The source code of a tree: who defines, uses and calls a name, with how sure that is; calls as a picture. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { type Schemas, data, useSession } from "../api";
import { path } from "../command";
import { Button, Choose, Field, Panel } from "../parts/controls";
import { count } from "../parts/figures";
import { Network } from "../parts/network";
import { Recipe } from "../parts/recipe";
import { Answer, Nothing } from "../parts/states";
import { hrefOf } from "../route";
import { asOfArguments } from "./trees";

type Question = "definitions" | "references" | "callers" | "callees" | "impact" | "tests" | "outline" | "imports" | "map";

const QUESTIONS: { id: Question; name: string; command: string; about: "name" | "path" | "nothing" }[] = [
  { id: "definitions", name: "What defines it", command: "def", about: "name" },
  { id: "references", name: "Who uses it", command: "refs", about: "name" },
  { id: "callers", name: "Who calls it", command: "callers", about: "name" },
  { id: "callees", name: "What it calls", command: "callees", about: "name" },
  { id: "impact", name: "What a change of it touches", command: "impact", about: "name" },
  { id: "tests", name: "Which tests reach it", command: "tests", about: "name" },
  { id: "outline", name: "The definitions of a file", command: "outline", about: "path" },
  { id: "imports", name: "What a file imports", command: "imports", about: "path" },
  { id: "map", name: "The definitions that matter most", command: "map", about: "nothing" },
];

interface Asked {
  question: Question;
  subject: string;
}

export function Code({ tree, asOf, question: first }: { tree: string; asOf: string; question: string }) {
  const { client } = useSession();
  const [question, setQuestion] = useState<Question>(first === "" ? "map" : "callers");
  const [subject, setSubject] = useState(first);
  const [asked, setAsked] = useState<Asked | undefined>(first === "" ? undefined : { question: "callers", subject: first });
  const chosen = QUESTIONS.find((one) => one.id === question);
  const of = QUESTIONS.find((one) => one.id === asked?.question);
  const query = {
    ...(of?.about === "name" ? { name: asked?.subject ?? "" } : {}),
    ...(of?.about === "path" ? { path: asked?.subject ?? "" } : {}),
    ...(asOf === "" ? {} : { as_of: asOf }),
  };
  const answer = useQuery({
    queryKey: ["code", tree, asked, asOf],
    enabled: asked !== undefined,
    queryFn: () =>
      data(
        client.GET("/v1/trees/{tree}/code/{question}", {
          params: { path: { tree, question: asked?.question ?? "map" }, query },
        }),
      ),
  });
  const ask = (question: Question, subject: string) => {
    setQuestion(question);
    setSubject(subject);
    setAsked({ question, subject });
  };
  return (
    <>
      <form
        className="line"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked({ question, subject: subject.trim() });
        }}
      >
        <Choose label="Question" value={question} choices={QUESTIONS} onChange={(id) => setQuestion(id as Question)} />
        {chosen?.about === "nothing" ? null : (
          <Field
            label={chosen?.about === "path" ? "Path of the file" : "Name of the definition"}
            value={subject}
            onChange={setSubject}
            isRequired
            help={chosen?.about === "path" ? "As the tree names it" : "search, Index.search or src/index.rs#search"}
          />
        )}
        <Button kind="main" type="submit">Ask</Button>
      </form>
      {asked === undefined ? null : (
        <Answer of={answer}>{(answer) => <Told tree={tree} asOf={asOf} asked={asked} answer={answer} ask={ask} />}</Answer>
      )}
      <Recipe
        command={["code", of?.command ?? chosen?.command, (of ?? chosen)?.about === "nothing" ? undefined : (asked?.subject ?? subject), "--tree", tree, ...asOfArguments(asOf)]}
        request={{ method: "GET", path: `${path("trees", tree)}/code/${asked?.question ?? question}`, query }}
      />
    </>
  );
}

interface ToldProps {
  tree: string;
  asOf: string;
  asked: Asked;
  answer: Schemas["CodeAnswer"];
  ask: (question: Question, subject: string) => void;
}

function Told({ tree, asOf, asked, answer, ask }: ToldProps) {
  const { definitions, sites, reached, imports, counts, files } = answer;
  const isEmpty = definitions.length + sites.length + reached.length + imports.length === 0;
  const place = (file: string, line: number) => (
    <a href={hrefOf(["trees", tree], { as_of: asOf, path: file, line: String(line) })}>{file}:{line}</a>
  );
  const places = counts.certain + counts.unique + counts.ambiguous + counts.elsewhere + counts.outside;
  return (
    <>
      {isEmpty ? <Nothing>Nothing is known of it here.</Nothing> : null}
      {files.pending > 0 ? <p className="help">{count(files.pending)} files are still to be read; ask again in a moment.</p> : null}
      {answer.truncated ? <p className="help">There is more than is shown.</p> : null}
      {asked.question === "callers" || asked.question === "callees" ? (
        <Calls asked={asked} sites={sites} ask={ask} />
      ) : null}
      {definitions.length === 0 ? null : (
        <Panel title="Definitions">
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Signature</th><th scope="col">Place</th></tr></thead>
            <tbody>
              {definitions.map((one) => (
                <tr key={`${one.path} ${one.line} ${one.name}`}>
                  <th scope="row">
                    <Button kind="quiet" aria-label={`Who calls ${one.name}`} onPress={() => ask("callers", `${one.path}#${one.name}`)}>{one.name}</Button>
                  </th>
                  <td>{one.kind}</td>
                  <td><code>{one.signature}</code></td>
                  <td>{place(one.path, one.line)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      {sites.length === 0 ? null : (
        <Panel title="Places">
          <p className="help">
            {count(places)} places: {count(counts.certain)} certain, {count(counts.unique)} by a name that one definition has,{" "}
            {count(counts.ambiguous)} of several, {count(counts.elsewhere)} of another definition, {count(counts.outside)} outside the tree
          </p>
          <table>
            <thead><tr><th scope="col">Place</th><th scope="col">Within</th><th scope="col">How</th><th scope="col">Name</th><th scope="col">Sure</th></tr></thead>
            <tbody>
              {sites.map((one, at) => (
                <tr key={at}>
                  <th scope="row">{place(one.path, one.line)}</th>
                  <td>{one.within ?? ""}</td>
                  <td>{one.how}</td>
                  <td>{one.name}</td>
                  <td>{one.class}{one.targets_count > 1 ? ` (${one.targets_count})` : ""}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      {reached.length === 0 ? null : (
        <Panel title="Reached">
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col" className="number">Steps</th><th scope="col">Calls</th><th scope="col">Place</th><th scope="col">Sure</th></tr></thead>
            <tbody>
              {reached.map((one, at) => (
                <tr key={at}>
                  <th scope="row">{one.definition.name}{one.is_test ? " (a test)" : ""}</th>
                  <td className="number">{one.depth}</td>
                  <td>{one.calls}</td>
                  <td>{place(one.definition.path, one.definition.line)}</td>
                  <td>{one.class}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      {imports.length === 0 ? null : (
        <Panel title="Imports">
          <ul>
            {imports.map((one, at) => (
              <li key={at}>
                line {one.line}: <code>{one.module}{typeof one.name === "string" ? ` ${one.name}` : ""}{one.is_wildcard ? " *" : ""}</code>
                {one.files.map((file) => <span key={file}> {place(file, 1)}</span>)}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

const SHOWN = 40;

/** The name in the middle, with who calls it or what it calls. */
function Calls({ asked, sites, ask }: Pick<ToldProps, "asked" | "ask"> & { sites: Schemas["CodeSite"][] }) {
  const isCallers = asked.question === "callers";
  const names = [...new Set(sites.map((site) => (isCallers ? (site.within ?? site.path) : site.name)))].slice(0, SHOWN);
  if (names.length === 0) return null;
  const middle = asked.subject;
  const others = names.filter((name) => name !== middle);
  return (
    <Panel title={isCallers ? "Callers, drawn" : "Calls, drawn"}>
      <Network
        label={`${middle} and ${count(others.length)} ${isCallers ? "callers" : "names that it calls"}; choose one to look at it`}
        nodes={[{ id: middle, name: middle, kind: "" }, ...others.map((name) => ({ id: name, name, kind: "" }))]}
        edges={others.map((name) => (isCallers ? { source: name, target: middle, name: "calls" } : { source: middle, target: name, name: "calls" }))}
        chosen={[middle]}
        onChoose={(name) => ask(asked.question, name)}
      />
    </Panel>
  );
}
